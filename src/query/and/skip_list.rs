//! A skip list over the blocks.
//!
//! The skip entries are the nodes. Entry `i` has a pointer to entry `i + 4^l` for every `l` for which `4^l` divides
//! `i`. This is Pugh's list with p = 1/4 in its average shape, so no pointer has to be stored. A search starts where
//! the last one ended, climbs while the highest pointer does not lead past the docID, and then descends. In the last
//! block docIDs are walked one by one, as nodes of the lowest level.

use super::{AndMethod, pairwise};
use crate::Result;
use crate::codec::Skip;
use crate::postings::{Blocks, skip::starts_by};
use crate::query::cpu::pairwise::Found;

/// `skip-list`.
pub static SKIP_LIST: AndMethod = AndMethod {
    name: "skip-list",
    short: "skip-list",
    about: "climbs and descends a skip list over the blocks from where the last search ended, then walks the block",
    paper: "Pugh: Skip lists: a probabilistic alternative to balanced trees (CACM 33(6), 1990, doi:10.1145/78973.78977); Moffat, Zobel: Self-indexing inverted files (TOIS 14(4), 1996, doi:10.1145/237496.237497)",
    cpu: pairwise!(filter),
    gpu: None,
};

/// Bits of the distance that one level's pointers span more than those of the level below.
const LEVEL_BITS: u32 = 2;

/// The last block from `from` on that starts at or before `doc`; `from` itself must, unless no block does.
fn search(skips: &[Skip], from: usize, doc: u32) -> usize {
    let top = |at: usize| if at == 0 { usize::BITS / LEVEL_BITS - 1 } else { at.trailing_zeros() / LEVEL_BITS };
    let (mut at, mut level) = (from, top(from));
    loop {
        // Pointers longer than the list lead nowhere; [`starts_by`] is false there.
        let next = at.saturating_add(1 << (LEVEL_BITS * level));
        if starts_by(skips, next, doc) {
            at = next;
            level = top(at);
        } else if level == 0 {
            return at;
        } else {
            level -= 1;
        }
    }
}

fn filter(candidates: &[u32], list: &mut Blocks<'_>, found: &mut Found) -> Result<()> {
    let (mut block, mut from) = (0, 0);
    for (i, &doc) in candidates.iter().enumerate() {
        let next = search(list.list().skips(), block, doc);
        if next != block {
            (block, from) = (next, 0);
        }
        let (docs, start) = list.load(block)?;
        while docs.get(from).is_some_and(|&other| other < doc) {
            from += 1;
        }
        if docs.get(from) == Some(&doc) {
            found.push(doc, i, start + from);
        }
    }
    Ok(())
}
