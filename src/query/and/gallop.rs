//! Steps that double from where the last search ended, then halves.

use super::{AndMethod, pairwise};
use crate::Result;
use crate::postings::{Blocks, skip};
use crate::query::cpu::pairwise::Found;

/// `gallop`.
pub static GALLOP: AndMethod = AndMethod {
    name: "gallop",
    short: "gallop",
    about: "as binary, but from where the last search ended, by steps that double; cheap where the next hit is near",
    paper: "Bentley, Yao: An almost optimal algorithm for unbounded searching (IPL 5(3), 1976, doi:10.1016/0020-0190(76)90071-5); Demaine, Lopez-Ortiz, Munro: Adaptive set intersections, unions, and differences (SODA 2000)",
    cpu: pairwise!(filter),
    gpu: None,
};

fn filter(candidates: &[u32], list: &mut Blocks<'_>, found: &mut Found) -> Result<()> {
    let (mut block, mut from) = (0, 0);
    for (i, &doc) in candidates.iter().enumerate() {
        let next = skip::gallop(list.list().skips(), block, doc);
        if next != block {
            (block, from) = (next, 0);
        }
        let (docs, start) = list.load(block)?;
        from = gallop(docs, from, doc);
        if docs.get(from) == Some(&doc) {
            found.push(doc, i, start + from);
        }
    }
    Ok(())
}

/// The first position from `from` on whose docID is at least `doc`, or the length.
fn gallop(docs: &[u32], from: usize, doc: u32) -> usize {
    let (mut low, mut step) = (from, 1);
    while docs.get(low + step - 1).is_some_and(|&other| other < doc) {
        low += step;
        step *= 2;
    }
    let high = (low + step - 1).min(docs.len());
    low + docs[low..high].partition_point(|&other| other < doc)
}
