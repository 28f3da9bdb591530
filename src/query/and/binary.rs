//! Binary search, over the skip entries and then in one block.

use super::{AndMethod, pairwise};
use crate::Result;
use crate::postings::{Blocks, skip::halve};
use crate::query::cpu::pairwise::Found;

/// `binary`.
pub static BINARY: AndMethod = AndMethod {
    name: "binary",
    short: "binary",
    about: "halves the rest of the skip entries for every docID of the shorter list, then the one block that may have it",
    paper: "Liu et al.: Griffin (PPoPP 2018), sections 2.2 and 3.1.2; Ao et al.: Efficient parallel lists intersection (PVLDB 4(8), 2011), section 4.2",
    cpu: pairwise!(filter),
    gpu: None,
};

fn filter(candidates: &[u32], list: &mut Blocks<'_>, found: &mut Found) -> Result<()> {
    let mut block = 0;
    for (i, &doc) in candidates.iter().enumerate() {
        block = halve(list.list().skips(), block, usize::MAX, doc);
        let (docs, start) = list.load(block)?;
        if let Ok(at) = docs.binary_search(&doc) {
            found.push(doc, i, start + at);
        }
    }
    Ok(())
}
