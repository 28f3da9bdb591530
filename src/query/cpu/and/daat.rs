//! A document at a time by the rarest term, with bounds per list and per block.
//!
//! Bounds per block as in Ding and Suel, *Faster top-k document retrieval using block-max indexes*, SIGIR 2011,
//! doi:10.1145/2009916.2010048.

use super::super::{Scored, Scorer, Sum, blocks_bound};
use crate::index::END;
use crate::query::topk::{Hit, TopK};

/// Documents that have all terms.
pub(in super::super) fn daat(terms: &mut [Scored<'_>], scorer: &impl Scorer, top: &mut TopK) {
    let slack = scorer.slack(terms.len());
    let mut sums = Sum::new(terms.len());
    terms.sort_by_key(|term| term.cursor.df());
    // above[i]: what the terms from i on can add up to.
    let mut above = vec![0.0; terms.len() + 1];
    for i in (0..terms.len()).rev() {
        above[i] = above[i + 1] + terms[i].bound;
    }
    let mut doc = terms[0].cursor.doc();
    // Up to here the bounds of the blocks have been found wanting or are known to suffice.
    let mut checked_until = 0;
    'candidates: while doc != END {
        if doc >= checked_until && top.threshold() >= 0.0 {
            let (bound, until) = blocks_bound(terms, doc, scorer);
            checked_until = until;
            if bound * slack <= top.threshold() {
                doc = terms[0].cursor.next_geq(until);
                continue;
            }
        }
        let mut sum = terms[0].score(scorer);
        for i in 1..terms.len() {
            if (sum + above[i]) * slack <= top.threshold() {
                doc = terms[0].cursor.advance();
                continue 'candidates;
            }
            let found = terms[i].cursor.next_geq(doc);
            if found > doc {
                doc = terms[0].cursor.next_geq(found);
                continue 'candidates;
            }
            sum += terms[i].score(scorer);
        }
        top.push(Hit { doc, score: sums.of(terms) });
        doc = terms[0].cursor.advance();
    }
}
