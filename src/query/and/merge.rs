//! Two lists side by side.

use super::{AndMethod, pairwise};
use crate::Result;
use crate::postings::Blocks;
use crate::query::cpu::pairwise::Found;

/// `merge`.
pub static MERGE: AndMethod = AndMethod {
    name: "merge",
    short: "merge",
    about: "walks two lists side by side, every docID of both; best for lists of similar length",
    paper: "Hwang, Lin: A simple algorithm for merging two disjoint linearly ordered sets (SIAM J. Comput. 1(1), 1972, doi:10.1137/0201004); Liu et al.: Griffin (PPoPP 2018), section 2.2",
    cpu: pairwise!(filter),
    gpu: None,
};

/// Also for [`super::svs`].
pub(super) fn filter(candidates: &[u32], list: &mut Blocks<'_>, found: &mut Found) -> Result<()> {
    let mut i = 0;
    for block in 0..list.list().blocks() {
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
            // A branch would be a coin toss, so there is none.
            i += usize::from(a <= b);
            j += usize::from(b <= a);
        }
    }
    Ok(())
}
