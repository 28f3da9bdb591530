//! Small versus small: merge or search, as the lengths are.

use super::blocks::Blocks;
use super::{CpuIntersect, Found, Intersector, On, Ranking, merge, pairwise};
use crate::Result;
use crate::index::find;

/// `svs`.
pub static SVS: Intersector = Intersector {
    name: "svs",
    about: "keeps what is left of the shorter lists and merges it with lists of like length, searches it in longer ones",
    paper: "Demaine, Lopez-Ortiz, Munro: Experiments on adaptive set intersections for text retrieval systems (ALENEX 2001, doi:10.1007/3-540-44808-X_7); Culpepper, Moffat: Efficient set intersection for inverted indexing (TOIS 29(1), 2010, doi:10.1145/1877766.1877767)",
    on: On::Cpu(CpuIntersect { run: |lists, matches| pairwise(lists, matches, filter), ranking: Ranking::Afterwards }),
};

/// From this many times as many postings as there are candidates on, a list is searched.
const SEARCH_FROM: usize = 4;

fn filter(candidates: &[u32], list: &mut Blocks<'_>, found: &mut Found) -> Result<()> {
    if (list.df() as usize) < SEARCH_FROM * candidates.len() {
        return merge::filter(candidates, list, found);
    }
    let (mut block, mut from) = (0, 0);
    for (i, &doc) in candidates.iter().enumerate() {
        if list.starts_by(block + 1, doc) {
            block = list.gallop(block + 1, doc);
            from = 0;
        }
        let (docs, start) = list.load(block)?;
        from = find(docs, from, doc);
        if docs.get(from) == Some(&doc) {
            found.push(doc, i, start + from);
        }
    }
    Ok(())
}
