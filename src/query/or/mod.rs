//! Documents that have any term: one registry, one file per method.

mod accumulators;
mod block_max_maxscore;
mod block_max_wand;
mod exhaustive;
mod maxscore;
mod ranges;
mod ranges_exhaustive;
mod wand;

#[cfg(test)]
mod tests;

use super::cpu::{Rank, Scored, Scorer, rank};
use super::method::{Method, Registry};
use super::topk::{Hit, TopK};
use crate::postings::{END, Postings};

pub use accumulators::ACCUMULATORS;
pub use ranges::RANGES;
pub use ranges_exhaustive::RANGES_EXHAUSTIVE;

/// A way to rank the documents that have any term.
pub type OrMethod = Method<Rank, GpuOr>;

/// A method on a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GpuOr {
    /// An accumulator for each document of the collection.
    Accumulators,
    /// Ranges of docIDs; with `prune`, only those that may have one of the best documents.
    Ranges {
        /// Whether ranges are skipped.
        prune: bool,
    },
}

/// All methods.
pub static OR: Registry<Rank, GpuOr> = Registry {
    kind: "method for OR",
    option: "or",
    rows: &[
        &exhaustive::EXHAUSTIVE,
        &maxscore::MAXSCORE,
        &wand::WAND,
        &block_max_wand::BLOCK_MAX_WAND,
        &block_max_maxscore::BLOCK_MAX_MAXSCORE,
        &accumulators::ACCUMULATORS,
        &ranges_exhaustive::RANGES_EXHAUSTIVE,
        &ranges::RANGES,
    ],
};

/// below[i]: the most that the first i terms can add up to.
fn bounds_below<P>(terms: &[Scored<'_, P>]) -> Vec<f32> {
    let mut below = vec![0.0];
    for term in terms {
        below.push(below[below.len() - 1] + term.bound);
    }
    below
}
