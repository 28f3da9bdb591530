//! Documents that have all terms: one registry, one file per method.
//!
//! On the CPU all methods but `daat`, `ranked-and` and `ranges` go pair by pair ([`super::cpu`]). On a GPU a method is
//! a recipe of kernels ([`crate::query::gpu::recipe`]):
//!
//! | methods | shape |
//! |---|---|
//! | `gpu-binary` and what starts from a narrower range | a thread a candidate, which goes through all lists |
//! | `merge-path` | a workgroup a part of the candidates and the next list |
//! | `pmf`, `pmf-elements` | segment heads level by level, then a thread a candidate |
//! | `wu` | a workgroup a query |

mod binary;
mod daat;
mod gallop;
mod gpu_binary;
mod hs;
mod hs_lrc;
mod interpolation;
mod local_range;
mod lr;
mod lrc;
mod merge;
mod merge_path;
mod pmf;
mod ranges;
mod ranked_and;
mod skip_list;
mod stride;
mod svs;
mod wu;

#[cfg(test)]
mod tests;

use super::cpu::Rank;
use super::cpu::pairwise::{Filter, Matches};
use super::gpu::recipe::GpuIntersect;
use super::method::{Method, Registry};
use crate::Result;
use crate::postings::List;

pub use daat::DAAT;
pub use ranges::RANGES;
pub use ranked_and::RANKED_AND;
pub use svs::SVS;

/// A way to find the documents that have all terms.
pub type AndMethod = Method<CpuAnd, GpuAnd>;

/// A method on the CPU.
#[derive(Clone, Copy)]
pub struct CpuAnd {
    /// Intersects at least one list; the columns of positions are in the order of the lists.
    pub(in crate::query) intersect: fn(&[List<'_>], &mut Matches) -> Result<()>,
    /// Finds the best.
    pub(in crate::query) rank: Rank,
    /// Looks documents up in one more list, if the method goes pair by pair.
    pub(in crate::query) filter: Option<Filter>,
}

impl CpuAnd {
    /// Whether the method takes list after list, so that a query can move between two lists.
    pub fn is_pairwise(&self) -> bool {
        self.filter.is_some()
    }
}

/// A method on a GPU.
#[derive(Clone, Copy)]
pub enum GpuAnd {
    /// Ranges of docIDs, for which [`crate::query::gpu`] has kernels of its own.
    Ranges,
    /// Candidates, looked up in one list after the other.
    Candidates(GpuIntersect),
}

/// All methods.
pub static AND: Registry<CpuAnd, GpuAnd> = Registry {
    kind: "intersector",
    option: "intersect",
    rows: &[
        &merge::MERGE,
        &binary::BINARY,
        &gallop::GALLOP,
        &skip_list::SKIP_LIST,
        &stride::STRIDE,
        &svs::SVS,
        &daat::DAAT,
        &ranked_and::RANKED_AND,
        &ranges::RANGES,
        &merge_path::MERGE_PATH,
        &pmf::PMF,
        &pmf::PMF_ELEMENTS,
        &wu::WU,
        &gpu_binary::GPU_BINARY,
        &interpolation::INTERPOLATION,
        &lr::LR,
        &local_range::LOCAL_RANGE,
        &hs::HS,
        &lrc::LRC,
        &hs_lrc::HS_LRC,
    ],
};

/// The row of the CPU for a method that goes pair by pair.
macro_rules! pairwise {
    ($filter:ident) => {
        Some($crate::query::and::CpuAnd {
            intersect: |lists, matches| $crate::query::cpu::pairwise::pairwise(lists, matches, $filter),
            rank: $crate::query::cpu::Rank {
                bm25: |terms, scorer, top| $crate::query::cpu::pairwise::rank(terms, scorer, top, $filter),
                impacts: |terms, scorer, top| $crate::query::cpu::pairwise::rank(terms, scorer, top, $filter),
                tables: false,
                negative: true,
            },
            filter: Some($filter),
        })
    };
}
use pairwise;

/// Intersects lists on the CPU and replaces `out` by the docIDs that all of them have, in increasing order. No lists
/// have none.
///
/// # Errors
/// [`crate::Error::Damaged`].
pub fn cpu(method: &CpuAnd, lists: &[List<'_>], out: &mut Vec<u32>) -> Result<()> {
    out.clear();
    if lists.is_empty() {
        return Ok(());
    }
    let mut matches = Matches { docs: std::mem::take(out), ..Matches::default() };
    let done = (method.intersect)(lists, &mut matches);
    *out = matches.docs;
    done
}
