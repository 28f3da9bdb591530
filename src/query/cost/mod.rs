//! What a query is expected to cost on the CPU and on a GPU, before it runs (Ding et al., section 9).
//!
//! Costs decide where a query runs, and never what is found.
//!
//! | file | its one job |
//! |---|---|
//! | `rule` | costs where nobody has measured |
//! | `trees` | boosted regression trees: numbers → the logarithm of a time |
//! | `learned` | a model for each processor, by measurement, and how far it is off |
//! | `steps` | the same for single intersections of queries that move |
//! | [`file`](mod@file) | calibrations in the user's cache |
//! | `choose` | which processor pays |

mod choose;
pub mod file;
mod learned;
mod rule;
pub(super) mod steps;
#[cfg(test)]
mod tests;
mod trees;

pub use choose::{Forecast, Knowledge, pays_from, server_pays};
pub use learned::{FEWEST, Learned, Measured, OnGpu, PARTS};
pub use rule::Rule;
pub use steps::{MeasuredSteps, StepFeatures, StepModels};

use super::{Mode, Plan};

/// What a cost is estimated from, known once a query's terms are looked up: Ding's four features, and two that their
/// system did not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Features {
    /// Documents in the shortest list; 0 without terms.
    pub shortest: u32,
    /// Documents in the second shortest list; 0 if there is none.
    pub second: u32,
    /// Documents in all lists together.
    pub sum: u64,
    /// Terms that the index has.
    pub terms: u32,
    /// How many documents are wanted.
    pub k: u32,
    /// Which documents match.
    pub mode: Mode,
}

impl Features {
    /// Those of a plan.
    pub fn of(plan: &Plan, mode: Mode, k: usize) -> Self {
        let (mut shortest, mut second, mut sum) = (u32::MAX, u32::MAX, 0);
        for term in &plan.terms {
            let length = term.info.df;
            sum += u64::from(length);
            (shortest, second) = (shortest.min(length), second.min(length.max(shortest)));
        }
        let some = |length: u32| if length == u32::MAX { 0 } else { length };
        let terms = u32::try_from(plan.terms.len()).unwrap_or(u32::MAX);
        let k = u32::try_from(k).unwrap_or(u32::MAX);
        Self { shortest: some(shortest), second: some(second), sum, terms, k, mode }
    }
}

/// Seconds that a query is expected to take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Costs {
    /// On one thread of the CPU.
    pub cpu: f64,
    /// On the GPU, alone in its batch, its lists being there.
    pub gpu: f64,
    /// On the GPU, what it adds to a batch of many.
    pub gpu_batched: f64,
}

impl Costs {
    /// Those of two queries, one after the other.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let Self { cpu, gpu, gpu_batched } = other;
        Self { cpu: self.cpu + cpu, gpu: self.gpu + gpu, gpu_batched: self.gpu_batched + gpu_batched }
    }
}

/// Estimates costs.
pub trait CostModel: Send + Sync + std::fmt::Debug {
    /// The costs of a query. All are above 0.
    fn costs(&self, features: &Features) -> Costs;
}
