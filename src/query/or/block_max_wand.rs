//! WAND with bounds per block.

use super::wand::Heads;
use super::*;

/// `block-max-wand`.
pub static BLOCK_MAX_WAND: OrMethod = OrMethod {
    name: "block-max-wand",
    short: "bmw",
    about: "as wand, and jumps over blocks whose bounds do not pass the threshold before it decodes them",
    paper: "Ding, Suel: Faster top-k document retrieval using block-max indexes (SIGIR 2011, doi:10.1145/2009916.2010048)",
    cpu: Some(rank!(run)),
    gpu: None,
};

pub(super) fn run(terms: &mut [Scored<'_, impl Postings>], scorer: &impl Scorer, top: &mut TopK<'_>) {
    let mut heads = Heads::new(terms);
    while let Some(pivot) = heads.pivot(terms, top.threshold()) {
        let doc = heads.0[pivot].doc;
        // Where the sum of the blocks' bounds may change next, or another list begins.
        let mut until = heads.0.get(pivot + 1).map_or(END, |head| head.doc);
        let mut sum = 0.0;
        for head in &heads.0[..=pivot] {
            let (bound, end) = terms[head.term].bound_at(doc, scorer);
            sum += bound;
            until = until.min(end);
        }
        if sum > top.threshold() {
            if !heads.align(pivot, terms) {
                heads.push(pivot, terms, scorer, top);
            }
        } else {
            // All of them have to move; a move pays most for the one with the greatest bound.
            let bound_of = |i: &usize| terms[heads.0[*i].term].bound;
            let highest = (0..=pivot).max_by(|a, b| bound_of(a).total_cmp(&bound_of(b))).unwrap_or(pivot);
            heads.skip(highest, until, terms);
        }
    }
}
