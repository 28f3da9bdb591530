//! What decides: thresholds, order, limits of a batch.

use std::time::Duration;

/// What a GPU takes at once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Batches {
    /// Queries at most; 1 or more.
    pub most: usize,
    /// A batch waits for no more queries once their shortest lists have so many postings together.
    pub postings: u64,
    /// How long a query may wait for others; nothing waits with `most` 1.
    pub wait: Duration,
}

impl Batches {
    /// One query at a time.
    pub const ALONE: Self = Self { most: 1, postings: u64::MAX, wait: Duration::ZERO };

    /// How many of `threads` search beside a GPU that takes such batches; at least one. One of them drives the GPU.
    /// Batches are packed and ranked on all cores: with 15 of 16 cores searching, an H200 answered half to a third of
    /// what it answers alone, with 3 of them as much.
    pub fn threads_beside(&self, threads: usize) -> usize {
        let left = threads.saturating_sub(1);
        if self.most > 1 { left.min(threads / 4).max(1) } else { left.max(1) }
    }
}

/// The numbers of a dispatcher.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rules {
    /// A query belongs to a processor if the other one takes so much longer, at the least: 0.2 for 20 %.
    pub threshold: f64,
    /// The same while that processor has far more work waiting than the other one: more queries can then go to either.
    pub highest_threshold: f64,
    /// The share of a query's time to its deadline after which it goes first.
    pub urgent: f64,
    /// In the order of a queue a query stands as if it had come later, by its cost times this.
    pub cost: f64,
    /// And as if it had come earlier, by this times what the other processor would take longer.
    pub affinity: f64,
    /// And as if it had come later, by its time to the deadline times this. Cost and affinity together move it by no
    /// more, so no query is overtaken for ever.
    pub slack: f64,
    /// What a GPU takes at once.
    pub batches: Batches,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            threshold: 0.2,
            highest_threshold: 1.0,
            urgent: 0.5,
            cost: 4.0,
            affinity: 1.0,
            slack: 0.25,
            batches: Batches::ALONE,
        }
    }
}

/// Nanoseconds; all sums of times are in whole numbers, so that none drifts.
pub(super) type Nanos = u64;

/// More than any time, and far from the end of the numbers.
pub(super) const NEVER: Nanos = u64::MAX / 4;

pub(super) fn nanos(time: Duration) -> Nanos {
    u64::try_from(time.as_nanos()).unwrap_or(NEVER).min(NEVER)
}

/// Of seconds, at least 1; what is no number is 1, too.
pub(super) fn cost(seconds: f64) -> Nanos {
    ((1e9 * seconds) as u64).clamp(1, NEVER / 1024)
}

/// Waiting work below this does not change a threshold.
const LITTLE: Nanos = 1_000_000;

/// A threshold follows what waits slowly: by one part in so many a query.
const INERTIA: f64 = 32.0;

impl Rules {
    /// The place of a query in its processor's queue: it stands as if it had come at that time.
    pub(super) fn order(&self, arrived: Nanos, deadline: Nanos, own: Nanos, other: Nanos) -> Nanos {
        let left = deadline.saturating_sub(arrived) as f64;
        let most = self.slack * left;
        let moved = self.cost * own as f64 - self.affinity * (other as f64 - own as f64);
        arrived.saturating_add((most + moved.clamp(-most, most)) as u64)
    }

    /// When a query goes first.
    pub(super) fn urgent_at(&self, arrived: Nanos, deadline: Nanos) -> Nanos {
        let left = deadline.saturating_sub(arrived) as f64;
        arrived.saturating_add((self.urgent * left) as u64).min(NEVER)
    }

    /// A threshold after another query came: `own` is the time until the processor has done all that waits for it, and
    /// `other` that of the other one.
    pub(super) fn adapted(&self, threshold: f64, own: Nanos, other: Nanos) -> f64 {
        let ratio = (own.min(NEVER) + LITTLE) as f64 / (other.min(NEVER) + LITTLE) as f64;
        let wanted = (self.threshold * ratio).clamp(self.threshold, self.highest_threshold.max(self.threshold));
        threshold + (wanted - threshold) / INERTIA
    }
}
