//! Whole segments of the longer list at a time, then backwards in one.

use super::blocks::Blocks;
use super::{CpuIntersect, Found, Intersector, On, Ranking, pairwise};
use crate::Result;

/// `stride`.
pub static STRIDE: Intersector = Intersector {
    name: "stride",
    about: "steps over the longer list block by block until one ends behind the docID, and searches that one backwards",
    paper: "Wu et al.: A batched GPU algorithm for set intersection (I-SPAN 2009), section II",
    on: On::Cpu(CpuIntersect { run: |lists, matches| pairwise(lists, matches, filter), ranking: Ranking::Afterwards }),
};

fn filter(candidates: &[u32], list: &mut Blocks<'_>, found: &mut Found) -> Result<()> {
    let mut block = 0;
    for (i, &doc) in candidates.iter().enumerate() {
        while list.starts_by(block + 1, doc) {
            block += 1;
        }
        let (docs, start) = list.load(block)?;
        let at = docs.iter().rposition(|&other| other <= doc);
        if let Some(at) = at.filter(|&at| docs[at] == doc) {
            found.push(doc, i, start + at);
        }
    }
    Ok(())
}
