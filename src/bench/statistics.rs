//! Figures of a set of times: the mean, and the percentiles that papers on queries report.

/// Times of queries, in seconds.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Summary {
    /// How many times there are, 1 or more.
    pub(super) count: usize,
    pub(super) mean: f64,
    /// Of each of [`PERCENTILES`].
    pub(super) percentiles: [f64; PERCENTILES.len()],
    pub(super) max: f64,
}

/// Shares of the times up to the figure, and their names.
pub(super) const PERCENTILES: [(f64, &str); 6] =
    [(0.5, "p50"), (0.8, "p80"), (0.9, "p90"), (0.95, "p95"), (0.99, "p99"), (0.999, "p99.9")];

impl Summary {
    /// Of some times; `None` without any.
    pub(super) fn of(times: &[f64]) -> Option<Self> {
        let mut sorted = times.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        Some(Self {
            count: sorted.len(),
            mean: sorted.iter().sum::<f64>() / sorted.len() as f64,
            percentiles: PERCENTILES.map(|(share, _)| percentile(&sorted, share)),
            max: *sorted.last()?,
        })
    }

    /// Queries a second, one after the other.
    pub(super) fn per_second(&self) -> f64 {
        1.0 / self.mean
    }
}

/// By nearest rank: the least of the times such that at least this share of them is not greater. `sorted` is not empty.
fn percentile(sorted: &[f64], share: f64) -> f64 {
    // the product of a share like 0.99 may be a little over its whole number
    let rank = (share * sorted.len() as f64 - 1e-9).ceil() as usize;
    sorted.get(rank.max(1) - 1).copied().unwrap_or(f64::NAN)
}

/// Which time stands for several of the same thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Take {
    /// What lasts: beside an engine that gives means
    Mean,
    /// What is usual
    Median,
    /// What the machine can: where it has other work to do
    Fastest,
}

impl Take {
    /// The one of these times, of which there are some.
    pub(super) fn of(self, times: &[f64]) -> f64 {
        match self {
            Self::Mean => times.iter().sum::<f64>() / times.len() as f64,
            Self::Median => super::median(times),
            Self::Fastest => times.iter().copied().fold(f64::INFINITY, f64::min),
        }
    }

    /// In a title.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Mean => "mean",
            Self::Median => "median",
            Self::Fastest => "fastest",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_percentiles_are_by_nearest_rank() {
        let times: Vec<f64> = (1..=1000).rev().map(f64::from).collect();
        let summary = Summary::of(&times).unwrap();
        assert_eq!((summary.count, summary.mean, summary.max), (1000, 500.5, 1000.0));
        assert_eq!(summary.percentiles, [500.0, 800.0, 900.0, 950.0, 990.0, 999.0]);
        assert_eq!(Summary::of(&[3.0]).unwrap().percentiles, [3.0; 6]);
        assert_eq!(Summary::of(&[3.0, 1.0]).unwrap().percentiles, [1.0, 3.0, 3.0, 3.0, 3.0, 3.0]);
        assert_eq!(Summary::of(&[0.25, 0.75]).unwrap().per_second(), 2.0);
        assert_eq!(Summary::of(&[]), None);
    }

    #[test]
    fn test_one_time_stands_for_all() {
        let of = |take: Take| take.of(&[6.0, 1.0, 2.0]);
        assert_eq!([Take::Mean, Take::Median, Take::Fastest].map(of), [3.0, 2.0, 1.0]);
    }
}
