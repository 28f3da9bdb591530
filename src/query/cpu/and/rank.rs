//! Ranks an intersection that is there in full.

use super::super::{Scored, Scorer};
use crate::query::intersect::Matches;
use crate::query::topk::{Hit, TopK};

/// Scores every match. Terms and the columns of positions are in the order of the query.
pub(in super::super) fn rank(terms: &mut [Scored<'_>], matches: &Matches, scorer: &impl Scorer, top: &mut TopK) {
    let mut scores = vec![0.0f32; matches.docs().len()];
    // List by list, so that each block of frequencies is decoded once; a document's parts are still added in order.
    for (term, positions) in terms.iter_mut().zip(matches.positions()) {
        for ((score, &doc), &position) in scores.iter_mut().zip(matches.docs()).zip(positions) {
            *score += term.score_at(doc, position as usize, scorer);
        }
    }
    for (&doc, &score) in matches.docs().iter().zip(&scores) {
        top.push(Hit { doc, score });
    }
}
