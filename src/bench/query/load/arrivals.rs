//! When queries arrive: a Poisson process from a seed, or the times of a log.

use anyhow::{Context as _, bail, ensure};

use crate::base::random::{Rng, ln};
use crate::query::Topic;

/// Where times of arrival come from.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Arrivals {
    /// A Poisson process from a seed.
    Poisson(u64),
    /// A log, over and over: the times of its queries in mean gaps, the first one at 0, and the time at which it begins
    /// again.
    Log(Vec<f64>, f64),
}

impl Arrivals {
    /// Seconds from the start to each of `count` arrivals, `rate` a second in the mean.
    pub(super) fn times(&self, rate: f64, count: usize) -> Vec<f64> {
        match self {
            Self::Poisson(seed) => poisson(rate, count, *seed),
            Self::Log(times, again) => {
                let turns = (0..).map(|turn| f64::from(turn) * again);
                turns.flat_map(|from| times.iter().map(move |time| (from + time) / rate)).take(count).collect()
            }
        }
    }
}

/// Reads a log: a line a query, `SECONDS<TAB>QUERY`, in the order of time; seconds count from whenever. Returns the
/// queries, their arrivals, and how many a second there are in the log itself.
///
/// # Errors
/// What is wrong with which line; fewer than two queries, or all at once.
pub(super) fn read_log(text: &str) -> anyhow::Result<(Vec<Topic>, Arrivals, f64)> {
    let (mut topics, mut times): (Vec<Topic>, Vec<f64>) = (Vec::new(), Vec::new());
    for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()) {
        let (time, query) = line.split_once('\t').with_context(|| format!("line {number} has no tab: {SHAPE}"))?;
        let time = time.trim().parse().ok().filter(|time: &f64| time.is_finite());
        let Some(time) = time else { bail!("line {number} begins with no number: {SHAPE}") };
        if times.last().is_some_and(|&last| last > time) {
            bail!("line {number} is before the one above it; sort the log by time");
        }
        times.push(time);
        topics.push(Topic { id: number.to_string(), text: query.to_owned(), ..Topic::default() });
    }
    let (Some(&first), Some(&last)) = (times.first(), times.last()) else { bail!("no queries") };
    ensure!(last > first, "a log needs two queries at different times");
    let gap = (last - first) / (times.len() - 1) as f64;
    let again = times.len() as f64;
    times.iter_mut().for_each(|time| *time = (*time - first) / gap);
    Ok((topics, Arrivals::Log(times, again), 1.0 / gap))
}

/// The shape of a line.
const SHAPE: &str = "a line is SECONDS<TAB>QUERY";

/// Keeps these random numbers apart from others of the same seed.
const PURPOSE: u64 = 0x6c6f_6164;

/// Seconds from the start to each of `count` arrivals of a Poisson process with `rate` arrivals a second. Another rate
/// has the same arrivals on a longer or shorter scale, so that rates differ in nothing else.
fn poisson(rate: f64, count: usize, seed: u64) -> Vec<f64> {
    let mut rng = Rng::new(seed, PURPOSE, 0);
    let mut units = 0.0;
    let next = || {
        // 1 - u is in (0, 1], so the logarithm is finite
        units -= ln(1.0 - rng.unit());
        units / rate
    };
    std::iter::repeat_with(next).take(count).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_a_log_keeps_its_gaps_at_any_rate() {
        let (topics, arrivals, rate) = read_log("100\tred apple\n100.5\tpie\n\n103\t tree \n").unwrap();
        assert_eq!(
            topics.iter().map(|topic| (&*topic.id, &*topic.text)).collect::<Vec<_>>(),
            [("1", "red apple"), ("2", "pie"), ("4", " tree ")]
        );
        assert!((rate - 2.0 / 3.0).abs() < 1e-12);
        let near = |times: Vec<f64>, expected: &[f64]| {
            assert_eq!(times.len(), expected.len());
            assert!(times.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-9), "{times:?}");
        };
        // at its own rate the gaps are those of the log; it begins again a mean gap behind its end
        near(arrivals.times(rate, 5), &[0.0, 0.5, 3.0, 4.5, 5.0]);
        near(arrivals.times(10.0 * rate, 3), &[0.0, 0.05, 0.3]);
        for (bad, why) in [
            ("", "no queries"),
            ("1 a", "no tab"),
            ("x\ta", "no number"),
            ("inf\ta", "no number"),
            ("2\ta\n1\tb", "line 2 is before"),
            ("1\ta\n1\tb", "different times"),
        ] {
            let error = read_log(bad).unwrap_err().to_string();
            assert!(error.contains(why), "{bad:?}: {error}");
        }
    }

    #[test]
    fn test_gaps_are_exponential() {
        let times = poisson(50.0, 100_000, 1);
        assert!(times[0] > 0.0 && times.windows(2).all(|pair| pair[0] <= pair[1]));
        let gaps: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        assert!((mean * 50.0 - 1.0).abs() < 0.02, "{mean}");
        // a share of e^-x is longer than x mean gaps
        for x in [0.1, 1.0, 3.0] {
            let longer = gaps.iter().filter(|&&gap| gap * 50.0 > x).count() as f64 / gaps.len() as f64;
            assert!((longer - f64::exp(-x)).abs() < 0.01, "{x}: {longer}");
        }
    }

    #[test]
    fn test_a_seed_is_one_scaled_sequence() {
        let (slow, fast) = (poisson(1.0, 1000, 7), poisson(4.0, 1000, 7));
        assert!(slow.iter().zip(&fast).all(|(slow, fast)| (slow / fast - 4.0).abs() < 1e-9));
        assert_ne!(poisson(1.0, 10, 8), slow[..10]);
        assert_eq!(poisson(1.0, 10, 7), slow[..10]);
    }
}
