//! Memory transactions as section 6.1 of Capannini et al. has them, with the constants that it gives.

use crate::sort::radix_split::{BITS, SPAN};

/// Figure 6, BSN: 1 + Σ (⌈(s − log σ) / log(σ/k)⌉ + 1) partitions, s from log σ + 1 to log n. Each of them fetches
/// and flushes n/k segments.
pub(super) fn bitonic(n: u64, log_sigma: u32, log_k: u32) -> f64 {
    let log_n = n.next_power_of_two().ilog2();
    // a part of no more than k keys takes a step at a time
    let steps = log_sigma.saturating_sub(log_k).max(1);
    let partitions: u32 = (log_sigma + 1..=log_n).map(|s| (s - log_sigma).div_ceil(steps) + 1).sum();
    2.0 * n as f64 / f64::from(1 << log_k) * f64::from(1 + partitions)
}

/// Figure 6, Quicksort: log n times the three kernels, n/k + 2, 4n/k² and n/k + n.
pub(super) fn quick(n: u64, log_k: u32) -> f64 {
    let (n, k) = (n as f64, f64::from(1 << log_k));
    n.log2() * (n / k + 2.0 + 4.0 * n / (k * k) + n / k + n)
}

/// Radix sort: 32/b · n/h · 2^b, with the bits of the keys for 32.
pub(super) fn radix(n: u64, bits: u32) -> f64 {
    f64::from(bits / BITS) * n as f64 / f64::from(SPAN) * f64::from(1 << BITS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_formulas_by_hand() {
        // σ = 2^9, k = 2^4: one partition, then for s = 10, 11, 12 two each
        assert_eq!(bitonic(1 << 9, 9, 4), 2.0 * 32.0);
        assert_eq!(bitonic(1 << 12, 9, 4), 2.0 * 256.0 * 7.0);
        // for s = 15 the six steps above a part take two partitions
        assert_eq!(bitonic(1 << 15, 9, 4), 2.0 * 2048.0 * (1.0 + 5.0 * 2.0 + 3.0));
        assert_eq!(quick(1 << 10, 4), 10.0 * (64.0 + 2.0 + 16.0 + 64.0 + 1024.0));
        assert_eq!(radix(1 << 20, 32), 8.0 * 1024.0 * 16.0);
        assert_eq!(radix(1 << 20, 64), 2.0 * radix(1 << 20, 32));
    }

    /// Figure 6 and table 1: with k = 16 Quicksort needs several times as many transactions as the network.
    #[test]
    fn test_figure_6_has_its_order() {
        for log_n in 20..=30 {
            let ratio = quick(1 << log_n, 4) / bitonic(1 << log_n, 9, 4);
            assert!(ratio > 2.0, "2^{log_n}: {ratio}");
        }
    }
}
