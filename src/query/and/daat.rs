//! A document at a time, all lists at once; ranked, a block of the rarest term at a time, with bounds per block.
//!
//! Bounds per block as in Ding and Suel, *Faster top-k document retrieval using block-max indexes*, SIGIR 2011,
//! doi:10.1145/2009916.2010048. Of a block's postings only those are scored, sixteen at a time, whose frequency gives
//! them a chance in the block's shortest document. Those that have one by their scores and by the bounds of the other
//! lists' blocks are looked up in those lists.

use super::{AndMethod, CpuAnd, Matches};
use crate::Result;
use crate::postings::{Cursor, END, List, Postings};
use crate::query::cpu::simd::Hope;
use crate::query::cpu::survivors::Survivors;
use crate::query::cpu::{self, Scored, Scorer};
use crate::query::topk::TopK;

/// `daat`.
pub static DAAT: AndMethod = AndMethod {
    name: "daat",
    short: "daat",
    about: "asks all lists for the next document of the shortest; a query scores on the way and skips documents that cannot be among the best",
    paper: "Turtle, Flood: Query evaluation: strategies and optimizations (IP&M 31(6), 1995, doi:10.1016/0306-4573(95)00020-H); Ding, Suel: Faster top-k document retrieval using block-max indexes (SIGIR 2011, doi:10.1145/2009916.2010048)",
    cpu: Some(CpuAnd { intersect, rank: cpu::rank!(rank), filter: None }),
    gpu: None,
};

pub(super) fn intersect(lists: &[List<'_>], matches: &mut Matches) -> Result<()> {
    matches.open(lists.len());
    let mut cursors: Vec<(usize, Cursor<'_>)> = lists.iter().cloned().map(Cursor::new).enumerate().collect();
    cursors.sort_by_key(|(_, cursor)| cursor.list().df());
    walk(&mut cursors, matches);
    for (list, cursor) in &mut cursors {
        if let Some(damage) = cursor.damage() {
            return Err(damage);
        }
        matches.decoded[*list] = u64::from(cursor.decoded());
    }
    Ok(())
}

/// Lists with their numbers, the shortest first.
fn walk(cursors: &mut [(usize, impl Postings)], matches: &mut Matches) {
    let Some(((first, shortest), others)) = cursors.split_first_mut() else { return };
    let mut doc = shortest.doc();
    'candidates: while doc != END {
        for (_, other) in others.iter_mut() {
            let found = other.seek(doc);
            if found > doc {
                doc = shortest.seek(found);
                continue 'candidates;
            }
        }
        matches.docs.push(doc);
        if matches.with_positions {
            matches.positions[*first].push(shortest.position() as u32);
            for (list, position) in others.iter().map(|(list, cursor)| (*list, cursor.position())) {
                matches.positions[list].push(position as u32);
            }
        }
        doc = shortest.advance();
    }
}

/// Documents that have all terms.
pub(super) fn rank(terms: &mut [Scored<'_>], scorer: &impl Scorer, top: &mut TopK<'_>) {
    cpu::wide!(rank_any(terms, scorer, top));
}

/// DocIDs that the blocks of the rarest term span which are taken together.
const SPAN: usize = 8192;

#[inline(always)]
fn rank_any(terms: &mut [Scored<'_>], scorer: &impl Scorer, top: &mut TopK<'_>) {
    terms.sort_by_key(|term| term.cursor.list().df());
    let mut survivors = Survivors::default();
    let mut bounds: Vec<f32> = terms.iter().map(|term| term.bound).collect();
    // Whether there are bounds of ranges.
    let near = terms.iter().any(|term| term.reach.is_some());
    // above[i]: the most that the terms from i on can add up to.
    let mut above = vec![0.0; terms.len() + 1];
    let blocks = terms[0].cursor.list().blocks();
    let step = (blocks * SPAN / scorer.documents().max(1)).max(1);
    let mut next = 0;
    while next < blocks {
        // as long as there is no threshold, each block may bring one
        let (block, last) = (next, if top.threshold() >= 0.0 { (next + step).min(blocks) } else { next + 1 });
        next = last;
        let list = terms[0].cursor.list();
        let (from, end) = (list.first(block), list.first(last));
        if top.threshold() >= 0.0 {
            for (bound, term) in bounds.iter_mut().zip(terms.iter_mut()) {
                *bound = term.bound_in(from, end, scorer);
            }
        }
        for i in (0..terms.len()).rev() {
            above[i] = above[i + 1] + bounds[i];
        }
        let hope = |i: usize, top: &TopK<'_>| Hope { more: above[i], threshold: top.threshold() };
        if !hope(0, top).has(0.0) {
            continue;
        }
        for block in block..last {
            let here = scorer.bound(&terms[0].weight, terms[0].cursor.list().bound(block)).min(bounds[0]);
            if hope(1, top).has(here) {
                terms[0].sift(block, hope(1, top), scorer, &mut survivors);
            }
        }
        for i in 1..terms.len() {
            if near {
                survivors.drop_unreachable(terms[i..].iter().zip(bounds[i..].iter().copied()), true, top.threshold());
            }
            survivors.look_up(&mut terms[i], bounds[i], true, hope(i + 1, top), scorer);
        }
        survivors.finish(top);
    }
}
