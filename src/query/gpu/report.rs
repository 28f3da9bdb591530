//! What was done on the device.

use super::slot::Work;

/// What was done for the queries of a call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// Batches.
    pub batches: usize,
    /// Queries that the CPU had to answer: more documents of equal score than there is room for, or too many terms.
    pub by_cpu: usize,
    /// What the device did.
    pub work: Work,
    /// Seconds of each pass, over all batches, in the order of their first run; if they were timed.
    pub passes: Vec<(&'static str, f64)>,
}

impl Report {
    /// Adds what was done for a batch.
    pub(super) fn add(&mut self, work: Work, times: &[(&'static str, f64)]) {
        self.batches += 1;
        for (sum, queued) in self.work.queued.iter_mut().zip(work.queued) {
            *sum += queued;
        }
        self.work.evaluated += work.evaluated;
        self.work.blocks += work.blocks;
        for &(name, seconds) in times {
            match self.passes.iter_mut().find(|(known, _)| *known == name) {
                Some((_, sum)) => *sum += seconds,
                None => self.passes.push((name, seconds)),
            }
        }
    }
}
