//! Which processor answers a query, and when (Ding et al., section 9), as an executor and not as a simulation.
//!
//! Each arriving query has two expected costs ([`super::cost`]), and goes into one of three queues: of those that are
//! much better on the GPU, of those that are much better on the CPU, and of the rest. A processor that is free takes
//!
//! 1. a query that it would answer sooner than the other one, and that has used half of its time to the deadline;
//! 2. the first of its own queue, by a mix of arrival, deadline, cost and affinity ([`Rules`]);
//! 3. the oldest of the third queue;
//! 4. one of the other processor's, if it answers it sooner than the other one would come to it, or if the deadline is
//!    near and it can still keep it.
//!
//! A GPU takes a batch of what has come, as large as allowed. It waits for more until the shortest lists of its queries
//! have enough postings together (Ao et al., section 4.1), or until its oldest query has waited long enough. Batches
//! are sorted into the buckets of Wu et al. (section IV), and cut so that the next one is packed while the first one
//! runs. If a whole batch waits by then, it is taken ahead while the device works.
//!
//! | file | its one job |
//! |---|---|
//! | `dispatcher` | queries in, work out; time is passed in, and there are no threads |
//! | `queues` | the three queues, and who is due |
//! | `rules` | what decides: thresholds, order, limits of a batch |
//! | `workers` | who is free when, and how far expected costs are off |
//! | `shared` | the dispatcher between threads |

mod dispatcher;
mod queues;
mod rules;
mod shared;
mod workers;

#[cfg(test)]
mod tests;

pub use dispatcher::{Dispatcher, Next, Taken, Work};
pub use rules::{Batches, Rules};
pub use shared::{Awake, Shared};
pub use workers::Scale;

use super::cost::Costs;
use std::time::Duration;

/// What answers queries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Processor {
    /// A thread of the CPU.
    Cpu,
    /// A GPU.
    Gpu,
}

impl Processor {
    /// Both, in the order of all figures by processor.
    pub const BOTH: [Self; 2] = [Self::Cpu, Self::Gpu];

    /// The other one.
    pub fn other(self) -> Self {
        match self {
            Self::Cpu => Self::Gpu,
            Self::Gpu => Self::Cpu,
        }
    }
}

/// A query that arrives. Times are since the dispatcher's start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arrival {
    /// When it came.
    pub arrived: Duration,
    /// When its answer is due.
    pub deadline: Duration,
    /// What it is expected to cost.
    pub costs: Costs,
    /// The length of its shortest list.
    pub shortest: u32,
}

/// What has happened, for reports. Figures of two are of the CPU and the GPU.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counts {
    /// Queries that each took.
    pub taken: [usize; 2],
    /// Of these, queries of the third queue.
    pub either: [usize; 2],
    /// Of these, queries that were much better on the other one.
    pub stolen: [usize; 2],
    /// Queries that went first because their deadline was near.
    pub urgent: usize,
    /// Calls of the GPU.
    pub batches: usize,
    /// By how much a query had to be better on a processor to be its own; a ratio less 1.
    pub thresholds: [f64; 2],
    /// The highest of each.
    pub highest: [f64; 2],
    /// Seconds that queries took, divided by what was expected, lately.
    pub scale: [f64; 2],
}

impl Counts {
    /// Adds those of a later run, whose thresholds and scales stay.
    pub fn add(&mut self, later: &Self) {
        for (own, more) in
            [(&mut self.taken, later.taken), (&mut self.either, later.either), (&mut self.stolen, later.stolen)]
        {
            own.iter_mut().zip(more).for_each(|(own, more)| *own += more);
        }
        self.urgent += later.urgent;
        self.batches += later.batches;
        (self.thresholds, self.scale) = (later.thresholds, later.scale);
        self.highest.iter_mut().zip(later.highest).for_each(|(own, more)| *own = own.max(more));
    }
}
