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
pub use block_max_maxscore::BLOCK_MAX_MAXSCORE;
pub use exhaustive::EXHAUSTIVE;
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

/// In batches that ask for so many documents a query and more, a GPU evaluates all ranges: bounds leave hardly any out.
const ALL_RANGES_FROM: usize = 16_000;
/// So many documents for a query alone, and more, a GPU finds sooner by accumulators.
const ACCUMULATORS_FROM: usize = 500_000;

/// The fastest method on a GPU for so many queries at once that ask for the best `k` documents each. On an H200 and 25
/// million documents pruning won in batches up to k = 8,000, and lost at 16,000 and at most of the greater k that were
/// tried. Since then queries with very many hits take less time, and that was not measured again. A query alone takes
/// as long by any method from there on, and at a million accumulators have the shortest median
/// (`docs/measurements/queries-on-a-gpu.md`, "Where pruning ends").
pub fn planned(k: usize, queries: usize) -> &'static OrMethod {
    match queries {
        0 | 1 if k >= ACCUMULATORS_FROM => &ACCUMULATORS,
        0 | 1 => &RANGES,
        _ if k >= ALL_RANGES_FROM => &RANGES_EXHAUSTIVE,
        _ => &RANGES,
    }
}

/// below[i]: the most that the first i terms can add up to.
fn bounds_below<P>(terms: &[Scored<'_, P>]) -> Vec<f32> {
    let mut below = vec![0.0];
    for term in terms {
        below.push(below[below.len() - 1] + term.bound);
    }
    below
}
