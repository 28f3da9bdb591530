//! When queries arrive: a Poisson process from a seed.

use crate::base::random::{Rng, ln};

/// Keeps these random numbers apart from others of the same seed.
const PURPOSE: u64 = 0x6c6f_6164;

/// Seconds from the start to each of `count` arrivals of a Poisson process with `rate` arrivals a second. Another rate
/// has the same arrivals on a longer or shorter scale, so that rates differ in nothing else.
pub(super) fn poisson(rate: f64, count: usize, seed: u64) -> Vec<f64> {
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
