//! Small versus small: merge or search, as the lengths are.

use super::{AndMethod, merge, pairwise};
use crate::Result;
use crate::postings::{Blocks, find, skip::gallop};
use crate::query::cpu::pairwise::Found;

/// `svs`.
pub static SVS: AndMethod = AndMethod {
    name: "svs",
    short: "svs",
    about: "merges the docIDs left of the shorter lists with lists of similar length, and searches longer lists for them",
    paper: "Demaine, Lopez-Ortiz, Munro: Experiments on adaptive set intersections for text retrieval systems (ALENEX 2001, doi:10.1007/3-540-44808-X_7); Culpepper, Moffat: Efficient set intersection for inverted indexing (TOIS 29(1), 2010, doi:10.1145/1877766.1877767)",
    cpu: pairwise!(filter),
    gpu: None,
};

/// A list with at least this many times as many postings as candidates is searched.
const SEARCH_FROM: usize = 4;

fn filter(candidates: &[u32], list: &mut Blocks<'_>, found: &mut Found) -> Result<()> {
    if (list.list().df() as usize) < SEARCH_FROM * candidates.len() {
        return merge::filter(candidates, list, found);
    }
    let (mut block, mut from) = (0, 0);
    for (i, &doc) in candidates.iter().enumerate() {
        let next = gallop(list.list().skips(), block, doc);
        if next != block {
            (block, from) = (next, 0);
        }
        let (docs, start) = list.load(block)?;
        from = find(docs, from, doc);
        if docs.get(from) == Some(&doc) {
            found.push(doc, i, start + from);
        }
    }
    Ok(())
}
