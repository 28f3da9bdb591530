//! Two lists side by side.

use super::blocks::Blocks;
use super::{CpuIntersect, Found, Intersector, On, Ranking, pairwise};
use crate::Result;

/// `merge`.
pub static MERGE: Intersector = Intersector {
    name: "merge",
    about: "walks two lists side by side, every docID of both; best where they are of like length",
    paper: "Hwang, Lin: A simple algorithm for merging two disjoint linearly ordered sets (SIAM J. Comput. 1(1), 1972, doi:10.1137/0201004); Liu et al.: Griffin (PPoPP 2018), section 2.2",
    on: On::Cpu(CpuIntersect { run: |lists, matches| pairwise(lists, matches, filter), ranking: Ranking::Afterwards }),
};

/// Also for [`super::svs`].
pub(super) fn filter(candidates: &[u32], list: &mut Blocks<'_>, found: &mut Found) -> Result<()> {
    let mut i = 0;
    for block in 0..list.count() {
        if i == candidates.len() {
            break;
        }
        let (docs, start) = list.load(block)?;
        let mut j = 0;
        while i < candidates.len() && j < docs.len() {
            let (a, b) = (candidates[i], docs[j]);
            if a == b {
                found.push(a, i, start + j);
            }
            // Which side moves is a coin toss, so it is no branch.
            i += usize::from(a <= b);
            j += usize::from(b <= a);
        }
    }
    Ok(())
}
