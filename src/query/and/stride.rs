//! Whole segments of the longer list at a time, then backwards in one.

use super::{AndMethod, pairwise};
use crate::Result;
use crate::postings::{Blocks, skip::linear};
use crate::query::cpu::pairwise::Found;

/// `stride`.
pub static STRIDE: AndMethod = AndMethod {
    name: "stride",
    short: "stride",
    about: "steps over the longer list block by block until one ends behind the docID, and searches that one backwards",
    paper: "Wu et al.: A batched GPU algorithm for set intersection (I-SPAN 2009), section II",
    cpu: pairwise!(filter),
    gpu: None,
};

fn filter(candidates: &[u32], list: &mut Blocks<'_>, found: &mut Found) -> Result<()> {
    let mut block = 0;
    for (i, &doc) in candidates.iter().enumerate() {
        block = linear(list.list().skips(), block, doc);
        let (docs, start) = list.load(block)?;
        let at = docs.iter().rposition(|&other| other <= doc);
        if let Some(at) = at.filter(|&at| docs[at] == doc) {
            found.push(doc, i, start + at);
        }
    }
    Ok(())
}
