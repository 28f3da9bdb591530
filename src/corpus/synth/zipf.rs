//! Draws ranks from Zipf's law by inverting the cumulative distribution through a guide table
//! (Chen and Asau 1974): the frequent ranks are found in the table, the rare ones by interpolation
//! within a bucket. The table stays in the cache, which an alias table of a million words would not.

use crate::base::random::{Rng, exp, ln};

/// Buckets of the guide table, as a power of two.
const GUIDE_BITS: u32 = 16;
/// Probabilities are integers of this many bits.
const SCALE_BITS: u32 = 63;

/// P(rank r) ∝ (r + 1)^−s for r in `0..vocabulary`.
pub(super) struct Zipf {
    /// `cumulative[r]`: probability of a rank ≤ r, times 2^63; the last is 2^63.
    cumulative: Vec<u64>,
    /// `guide[b]`: the first rank whose cumulative probability is above that of bucket b's beginning.
    guide: Vec<u32>,
}

impl Zipf {
    pub(super) fn new(vocabulary: u32, s: f64) -> Self {
        let mut sum = 0.0;
        let sums: Vec<f64> = (1..=vocabulary)
            .map(|r| {
                sum += exp(-s * ln(f64::from(r)));
                sum
            })
            .collect();
        let scale = (1u64 << SCALE_BITS) as f64;
        let mut cumulative: Vec<u64> = sums.iter().map(|&c| (c / sum * scale) as u64).collect();
        if let Some(last) = cumulative.last_mut() {
            *last = 1 << SCALE_BITS;
        }
        let mut rank = 0;
        let guide = (0..=1u64 << GUIDE_BITS)
            .map(|b| {
                let start = b << (SCALE_BITS - GUIDE_BITS);
                while cumulative[rank] <= start && rank + 1 < cumulative.len() {
                    rank += 1;
                }
                rank as u32
            })
            .collect();
        Self { cumulative, guide }
    }

    /// A rank.
    pub(super) fn draw(&self, rng: &mut Rng) -> u32 {
        self.invert(rng.next() >> (64 - SCALE_BITS))
    }

    /// The first rank whose cumulative probability is above `u`, for `u` below 2^63.
    pub(super) fn invert(&self, u: u64) -> u32 {
        let bucket = (u >> (SCALE_BITS - GUIDE_BITS)) as usize;
        let (low, high) = (self.guide[bucket], self.guide[bucket + 1]);
        if low == high {
            return low;
        }
        // Within a bucket the probabilities are nearly alike, so a proportional guess is nearly right.
        let part = u & ((1 << (SCALE_BITS - GUIDE_BITS)) - 1);
        let mut rank =
            low as usize + ((u128::from(part) * u128::from(high - low)) >> (SCALE_BITS - GUIDE_BITS)) as usize;
        while rank > 0 && self.cumulative[rank - 1] > u {
            rank -= 1;
        }
        while self.cumulative[rank] <= u {
            rank += 1;
        }
        rank as u32
    }

    /// The cumulative probabilities, for tests.
    #[cfg(test)]
    pub(super) fn cumulative(&self) -> &[u64] {
        &self.cumulative
    }
}
