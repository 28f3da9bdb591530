//! Scores that the best postings of a list reach, stored with the list.
//!
//! Documents with any of a query's terms score at least what the best postings of one of them add. So a query for the
//! best `k` begins with a threshold: the greatest of its terms' `k`-th best parts. Without one, documents are looked up
//! and ranges decoded until `k` good ones are found. (Yafay and Altingovde, *Caching scores for faster query processing
//! with dynamic pruning in search engines*, CIKM 2019, doi:10.1145/3357384.3358154; Mallia, Siedlaczek, Sun and Suel,
//! *A comparison of top-k threshold estimation techniques for disjunctive query processing*, CIKM 2020,
//! doi:10.1145/3340531.3412080.)
//!
//! A list of `df` postings has a threshold for each of [`LEVELS`] that is no greater than `df`: the impact
//! `tf / (tf + K)` of the posting of that rank, at the defaults `k1 = 0.9` and `b = 0.4`, times 65,535, divided by
//! 1 + 2·10⁻⁶, rounded down. Two lie in a word, the lower level in the low half.

use super::bound::{BoundReader, ROOM, SCALE};
use super::whole::least_share;

/// Ranks of the postings whose impacts are stored.
pub const LEVELS: [usize; 3] = [10, 100, 1000];

/// Words of the thresholds of a list with so many postings.
pub fn words(df: u32) -> usize {
    LEVELS.iter().filter(|&&level| level <= df as usize).count().div_ceil(2)
}

/// The thresholds of a list, or none.
#[derive(Clone, Copy, Debug, Default)]
pub struct Thresholds<'a>(pub &'a [u32]);

impl Thresholds<'_> {
    /// An impact that the best `k` postings reach at the default parameters; 0 if none is known.
    pub fn impact(self, k: usize) -> f32 {
        let Some(level) = LEVELS.iter().position(|&level| k <= level) else { return 0.0 };
        let step = self.0.get(level / 2).map_or(0, |word| word >> (16 * (level % 2)) & 0xffff);
        step as f32 / SCALE
    }

    /// What the best `k` postings of a term of this weight add to a score at least; 0 if nothing is known of them.
    pub fn least_share(self, weight: f32, k: usize, bounds: &BoundReader) -> f32 {
        let impact = self.impact(k);
        if impact > 0.0 { least_share(weight, bounds.least(impact)) } else { 0.0 }
    }
}

/// Collects the thresholds of a list from the ratios `tf / K` of its postings.
#[derive(Clone, Debug, Default)]
pub struct GatherThresholds {
    /// The greatest of [`LEVELS`] that the list has; 0 if it is too short for any.
    most: usize,
    /// Ratios that may be among the best.
    ratios: Vec<f32>,
    /// So many are greater than this.
    least: f32,
}

impl GatherThresholds {
    /// Begins a list of so many postings.
    pub fn begin(&mut self, df: u32) {
        self.most = LEVELS.iter().copied().rfind(|&level| level <= df as usize).unwrap_or(0);
        self.ratios.clear();
        // a list without thresholds needs no ratios
        self.least = if self.most > 0 { -1.0 } else { f32::INFINITY };
    }

    /// Takes some postings. `ratios` appends those of their ratios that are over a number, and may append others.
    pub fn add(&mut self, ratios: impl FnOnce(f32, &mut Vec<f32>)) {
        ratios(self.least, &mut self.ratios);
        if self.most > 0 && self.ratios.len() >= 4 * self.most {
            self.least = nth(&mut self.ratios, self.most);
            self.ratios.truncate(self.most);
        }
    }

    /// Appends the thresholds of all postings since [`Self::begin`].
    pub fn finish(&mut self, out: &mut Vec<u32>) {
        let mut steps = [0; LEVELS.len()];
        let mut best = &mut self.ratios[..];
        for (step, &level) in steps.iter_mut().zip(&LEVELS).rev() {
            if level <= self.most && level <= best.len() {
                *step = step_below(nth(best, level));
                best = &mut best[..level];
            }
        }
        let stored = steps.chunks(2).map(|two| two[0] | two.get(1).map_or(0, |high| high << 16));
        out.extend(stored.take(words(self.most as u32)));
    }
}

/// Puts the greatest `n` first, and returns the least of them.
fn nth(ratios: &mut [f32], n: usize) -> f32 {
    // numbers from 0 on are in the order of their bits, which are faster to compare
    let bits: &mut [u32] = bytemuck::cast_slice_mut(ratios);
    f32::from_bits(*bits.select_nth_unstable_by(n - 1, |a, b| b.cmp(a)).1)
}

/// The impact of a ratio, rounded down, with room for what a query computes in another way.
fn step_below(ratio: f32) -> u32 {
    (ratio / (1.0 + ratio) * SCALE / ROOM) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::score::Norm;
    use crate::score::whole::share;
    use proptest::prelude::*;

    /// The thresholds of postings by sorting them all.
    fn slow(impacts: &mut [f32]) -> Vec<f32> {
        impacts.sort_by(|a, b| b.total_cmp(a));
        LEVELS.iter().map(|&level| impacts.get(level - 1).copied().unwrap_or(0.0)).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn test_thresholds_are_reached_and_hardly_lower(
            seed in any::<u64>(),
            df in prop_oneof![2u32..30, 90u32..120, 900u32..1100, 3000u32..20_000],
            kinds in 1u64..2000,
            power in prop_oneof![2 => Just(0u32), 1 => 0u32..23],
            round in 1usize..6000,
            other in prop_oneof![Just((0.9f32, 0.4f32)), (0f32..9.0, 0f32..=1.0)],
            weight in 1u32..=1 << 22,
        ) {
            let norm = Norm::new(0.9, 0.4, 10, 3000);
            let mut random = seed;
            let posting = |_| {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                ((((random >> 33) % kinds / 7 + 1) as u32) << power, ((random >> 50) as u32) << power.min(17))
            };
            let postings: Vec<(u32, u32)> = (0..df).map(posting).collect();
            let ratio = |&(tf, len): &(u32, u32)| tf as f32 / norm.k(len);
            let mut got = vec![7];
            let mut gather = GatherThresholds { ratios: vec![9e9; 5], ..GatherThresholds::default() };
            gather.begin(df);
            for some in postings.chunks(round) {
                gather.add(|least, out| out.extend(some.iter().map(ratio).filter(|&ratio| ratio > least)));
            }
            gather.finish(&mut got);
            prop_assert_eq!(got.len() - 1, words(df));
            let thresholds = Thresholds(&got[1..]);
            let mut impacts: Vec<f32> = postings.iter().map(|&(tf, len)| norm.impact(tf, len)).collect();
            for (impact, level) in slow(&mut impacts).into_iter().zip(LEVELS) {
                let found = thresholds.impact(level);
                prop_assert!(found <= impact && impact - found < 3e-5, "{found} for {impact} at {level} of {df}");
                prop_assert_eq!(found > 0.0, impact > 0.0);
                prop_assert_eq!(thresholds.impact(level - 1), found);
            }
            prop_assert_eq!((thresholds.impact(1001), thresholds.impact(11)), (0.0, thresholds.impact(100)));

            let (weight, query) = (weight as f32, Norm::new(other.0, other.1, 10, 3000));
            let longest = postings.iter().map(|posting| posting.1).max().unwrap();
            let bounds = BoundReader::new(norm, query, longest);
            let mut shares: Vec<f32> = postings.iter().map(|&(tf, len)| share(weight, tf, query.k(len))).collect();
            shares.sort_by(|a, b| b.total_cmp(a));
            for (level, share) in LEVELS.into_iter().filter_map(|level| Some((level, *shares.get(level - 1)?))) {
                let least = thresholds.least_share(weight, level, &bounds);
                prop_assert!(least <= share, "{least} for {share} at {level} of {df}");
            }
        }
    }
}
