//! Whether two runs differ by more than chance: tests over the queries' differences of a measure.

use crate::base::random::Rng;
use statrs::distribution::{ContinuousCDF as _, StudentsT};

/// Sign flips of the randomisation test, where not all can be tried.
pub const SIGN_FLIPS: u64 = 100_000;
/// Up to so many queries all sign flips are tried.
const EXACT: usize = 20;
const PURPOSE: u64 = 0x5197;

/// How two runs differ in a measure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// The mean over queries of the first run's value less the second one's.
    pub mean: f64,
    /// Student's t of the differences; 0 if there is none.
    pub t: f64,
    /// Two-sided p-value of the paired t test; 1 if all differences are 0 or there are fewer than two.
    pub p_t: f64,
    /// Two-sided p-value of Fisher's randomisation test: how often the mean is as far from 0 if signs fall by chance.
    pub p_random: f64,
}

/// Compares paired values, those of one query at the same place.
pub fn compare(first: &[f64], second: &[f64], seed: u64) -> Difference {
    let differences: Vec<f64> = first.iter().zip(second).map(|(a, b)| a - b).collect();
    let n = differences.len() as f64;
    if differences.iter().all(|&difference| difference == 0.0) {
        return Difference { mean: 0.0, t: 0.0, p_t: 1.0, p_random: 1.0 };
    }
    let mean = differences.iter().sum::<f64>() / n;
    let squares: f64 = differences.iter().map(|difference| (difference - mean).powi(2)).sum();
    let error = (squares / (n - 1.0) / n).sqrt();
    let (t, p_t) = match StudentsT::new(0.0, 1.0, n - 1.0) {
        // all differences are the same, and not 0
        Ok(_) if error == 0.0 => (f64::INFINITY.copysign(mean), 0.0),
        Ok(student) => (mean / error, 2.0 * student.cdf(-(mean / error).abs())),
        Err(_) => (0.0, 1.0),
    };
    Difference { mean, t, p_t, p_random: randomised(&differences, seed) }
}

/// The share of sign flips whose sum is at least as far from 0. Sums within a rounding of it count as equal.
fn randomised(differences: &[f64], seed: u64) -> f64 {
    let sum: f64 = differences.iter().sum::<f64>().abs();
    let least = sum - 1e-12 * differences.iter().map(|difference| difference.abs()).sum::<f64>();
    let flipped = |signs: &mut dyn FnMut(usize) -> bool| -> f64 {
        differences.iter().enumerate().map(|(i, &value)| if signs(i) { -value } else { value }).sum::<f64>().abs()
    };
    if differences.len() <= EXACT {
        let all = 1u32 << differences.len();
        let far = (0..all).filter(|flips| flipped(&mut |i| flips >> i & 1 == 1) >= least).count();
        return far as f64 / f64::from(all);
    }
    let mut random = Rng::new(seed, PURPOSE, 0);
    let mut far = 0;
    for _ in 0..SIGN_FLIPS {
        let mut bits = 0;
        let sum = flipped(&mut |i| {
            if i % 64 == 0 {
                bits = random.next();
            }
            bits >> (i % 64) & 1 == 1
        });
        far += u64::from(sum >= least);
    }
    // the signs as they are count as one of the flips, so no p-value is 0
    (far + 1) as f64 / (SIGN_FLIPS + 1) as f64
}

/// P-values of several tests in the order given, corrected for their number (Holm: A simple sequentially rejective
/// multiple test procedure, 1979).
pub fn holm(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let (mut corrected, mut most) = (vec![0.0; values.len()], 0.0f64);
    for (place, &i) in order.iter().enumerate() {
        most = most.max((values[i] * (values.len() - place) as f64).min(1.0));
        corrected[i] = most;
    }
    corrected
}
