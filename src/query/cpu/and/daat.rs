//! A block of the rarest term at a time, with bounds per block.
//!
//! Bounds per block as in Ding and Suel, *Faster top-k document retrieval using block-max indexes*, SIGIR 2011,
//! doi:10.1145/2009916.2010048. A block's postings are scored sixteen at a time, and only those that the bounds of the other
//! lists' blocks leave a chance are looked up there.

use super::super::simd::Hope;
use super::super::survivors::Survivors;
use super::super::{Scored, Scorer, Sum};
use crate::query::topk::TopK;

/// Documents that have all terms.
pub(in super::super) fn daat(terms: &mut [Scored<'_>], scorer: &impl Scorer, top: &mut TopK) {
    let slack = scorer.slack(terms.len());
    let mut sums = Sum::new(terms.len());
    terms.sort_by_key(|term| term.cursor.df());
    let mut survivors = Survivors::default();
    let mut bounds: Vec<f32> = terms.iter().map(|term| term.bound).collect();
    // above[i]: what the terms from i on can add up to.
    let mut above = vec![0.0; terms.len() + 1];
    for block in 0..terms[0].feed.blocks() {
        let (from, end) = (terms[0].feed.first(block), terms[0].feed.first(block + 1));
        if top.threshold() >= 0.0 {
            for (bound, term) in bounds.iter_mut().zip(terms.iter_mut()) {
                *bound = term.feed.bound(from, end, scorer).min(term.bound);
            }
        }
        for i in (0..terms.len()).rev() {
            above[i] = above[i + 1] + bounds[i];
        }
        let hope = |i: usize, top: &TopK| Hope { more: above[i], slack, threshold: top.threshold() };
        if !hope(0, top).has(0.0) {
            continue;
        }
        terms[0].feed.window(from, end, scorer);
        survivors.clear();
        survivors.push_all(&terms[0].feed, hope(1, top));
        for i in 1..terms.len() {
            survivors.look_up(i, &mut terms[i], bounds[i], true, hope(i + 1, top), scorer);
        }
        survivors.finish(terms, &[0], slack, &mut sums, top);
    }
}
