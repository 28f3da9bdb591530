//! Many queries at once: how many a second, and how long each waits for its answer, by the size of a batch (Wu et al., figures
//! 10 and 11) or by the postings that are collected before a batch goes (Ao et al., section 4.1 and figures 5 and 6).

use std::ops::Range;
use std::time::Instant;

use crate::bench::statistics::{Summary, pick};

/// Where a batch ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cut {
    /// After so many queries.
    Size(u64),
    /// Once the sum of the queries' shortest lists reaches this: Ao et al.'s computational threshold.
    Threshold(u64),
}

impl Cut {
    /// What tables and files call the way to cut, and the value.
    pub(super) fn name(self) -> (&'static str, String) {
        match self {
            Self::Size(queries) => ("batch", queries.to_string()),
            Self::Threshold(postings) => ("threshold", postings.to_string()),
        }
    }

    /// The batches that queries with shortest lists of these lengths fall into, in order. Each has a query at least.
    pub(super) fn batches(self, shortest: &[u32]) -> Vec<Range<usize>> {
        let (mut batches, mut start, mut weight) = (Vec::new(), 0, 0u64);
        for (query, &postings) in shortest.iter().enumerate() {
            weight += match self {
                Self::Size(_) => 1,
                Self::Threshold(_) => u64::from(postings),
            };
            let (Self::Size(limit) | Self::Threshold(limit)) = self;
            if weight >= limit {
                batches.push(start..query + 1);
                (start, weight) = (query + 1, 0);
            }
        }
        if start < shortest.len() {
            batches.push(start..shortest.len());
        }
        batches
    }
}

/// Runs batches one after the other, `rounds` times after one that does not count: the time that each query waits from when its
/// batch starts, and queries a second. `None` without a query.
///
/// # Errors
/// Those of `run`.
pub(super) fn measure(
    batches: &[Range<usize>],
    rounds: u32,
    fastest: bool,
    mut run: impl FnMut(Range<usize>) -> anyhow::Result<()>,
) -> anyhow::Result<Option<(Summary, f64)>> {
    let mut seconds = vec![Vec::new(); batches.len()];
    for round in 0..=rounds {
        for (batch, seconds) in batches.iter().zip(&mut seconds) {
            let start = Instant::now();
            run(batch.clone())?;
            if round > 0 {
                seconds.push(start.elapsed().as_secs_f64());
            }
        }
    }
    let picked: Vec<f64> = seconds.iter().map(|seconds| pick(seconds, fastest)).collect();
    let waits: Vec<f64> =
        batches.iter().zip(&picked).flat_map(|(batch, &seconds)| batch.clone().map(move |_| seconds)).collect();
    Ok(Summary::of(&waits).map(|summary| (summary, waits.len() as f64 / picked.iter().sum::<f64>())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_batches_end_where_they_should() {
        let shortest = [5, 0, 10, 1, 1, 100, 3];
        assert_eq!(Cut::Size(3).batches(&shortest), [0..3, 3..6, 6..7]);
        assert_eq!(Cut::Size(7).batches(&shortest), vec![0..7; 1]);
        assert_eq!(Cut::Size(1).batches(&shortest).len(), 7);
        assert_eq!(Cut::Threshold(10).batches(&shortest), [0..3, 3..6, 6..7]);
        assert_eq!(Cut::Threshold(1).batches(&shortest), [0..1, 1..3, 3..4, 4..5, 5..6, 6..7]);
        assert_eq!(Cut::Threshold(1000).batches(&shortest), vec![0..7; 1]);
        assert!(Cut::Threshold(1).batches(&[]).is_empty());
    }

    #[test]
    fn test_every_query_waits_for_its_batch() {
        let mut ran = Vec::new();
        let batches = [0..3, 3..4];
        let (summary, per_second) = measure(&batches, 2, false, |batch| {
            ran.push(batch);
            Ok(())
        })
        .unwrap()
        .unwrap();
        assert_eq!(ran.len(), 6, "two rounds after one that does not count");
        assert_eq!(summary.count, 4);
        assert!(per_second > 0.0);
        assert!(measure(&[], 1, true, |_| Ok(())).unwrap().is_none());
    }
}
