//! Upper bounds of BM25 that hold for every `k1` and `b`, in 32 bits.
//!
//! A posting's share of a BM25 score is `idf · tf / (tf + K)` with `K = k1 (1 - b + b · len / avg)`.
//! For a set of postings (a block, a whole list) three numbers are kept:
//!
//! | bits | what | rounding |
//! |---|---|---|
//! | 0..8 | shortest document, code of [`value_of`] | down |
//! | 8..16 | greatest tf, code of [`value_of`] | up |
//! | 16..32 | greatest `tf / (tf + K)` at the defaults `k1 = 0.9`, `b = 0.4`, times 65,535 | up, with room for rounding errors |
//!
//! With other parameters, `tf / K' = (tf / K) · (K / K')`. `K / K'` is a ratio of two linear
//! functions of the length, so it is monotone, and its maximum over all lengths from the shortest
//! to the longest is at one of the two ends. Hence, with `R` the bound of `tf / K` that the impact gives,
//!
//! `tf / K' ≤ min(tf_max / K'(shortest), R · max(K(shortest) / K'(shortest), K(longest) / K'(longest)))`.
//!
//! At the defaults this is the impact itself.
//!
//! The greatest impact depends on the average length of the collection. A merge of indexes, or the statistics of
//! another collection, needs new bounds from the postings. Competitive pairs of tf and length would not: postings of a
//! block such that no other has a greater tf in a shorter document. Lists of a crawl have 7.2 of these in a block of
//! 128; lists of a synthetic index of 200,000 documents have 6.7. At 16 bits a pair they take 0.6 to 0.9 bits a posting
//! more than the 32 bits here. Two pairs take 32 bits, too, but lose the greatest impact: bounds are 1.0 % to 1.8 %
//! higher even with exact numbers, so that more blocks are decoded.

use super::whole::MAX_TF;

/// The default `k1` of queries, and the one that stored impacts are made for.
pub const DEFAULT_K1: f32 = 0.9;
/// The default `b` of queries, and the one that stored impacts are made for.
pub const DEFAULT_B: f32 = 0.4;

pub(super) const SCALE: f32 = 65_535.0;

/// Some thirty units in the last place of a single-precision number.
pub(super) const ROOM: f32 = 1.0 + 2e-6;

/// BM25's `K` as a function of the document length: `base + slope · length`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Norm {
    /// `k1 (1 - b)`.
    pub base: f32,
    /// `k1 · b / avg`.
    pub slope: f32,
}

impl Norm {
    /// For documents whose lengths add up to `tokens`.
    pub fn new(k1: f32, b: f32, documents: u64, tokens: u64) -> Self {
        Self::of_mean(k1, b, if tokens == 0 { 0.0 } else { tokens as f64 / documents as f64 })
    }

    /// For documents of this length in the mean; 0 stands for documents without tokens.
    pub fn of_mean(k1: f32, b: f32, mean: f64) -> Self {
        let average = if mean > 0.0 { mean } else { 1.0 };
        Self { base: k1 * (1.0 - b), slope: (f64::from(k1) * f64::from(b) / average) as f32 }
    }

    /// `K` of a document of `len` tokens.
    #[inline]
    pub fn k(self, len: u32) -> f32 {
        self.base + self.slope * len as f32
    }

    /// `tf / (tf + K)`: from 0 to 1, and 1 where `K` is 0.
    #[inline]
    pub fn impact(self, tf: u32, len: u32) -> f32 {
        let tf = tf as f32;
        tf / (tf + self.k(len))
    }
}

impl Norm {
    /// How many times a posting's impact under this norm its impact under `other` is, at least and at most, in a
    /// collection whose longest document has `longest` tokens.
    ///
    /// It is `(tf + K) / (tf + K')`: monotone in the tf, up to 1, and monotone in the length.
    pub fn share_under(self, other: Self, longest: u32) -> (f32, f32) {
        if self == other {
            return (1.0, 1.0);
        }
        let share = |len: u32| (1.0 + self.k(len)) / (1.0 + other.k(len));
        let (near, far) = (share(0), share(longest));
        (near.min(far).min(1.0) / SLACK, near.max(far).max(1.0) * SLACK)
    }
}

/// A bound, packed as the module's table says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bound(pub u32);

impl Bound {
    /// Says nothing.
    pub const NONE: Self = Self(u32::MAX);

    /// Packs what [`Gather`] found.
    fn pack(ratio: f32, tf_max: u32, len_min: u32) -> Self {
        let impact = ratio / (1.0 + ratio);
        // A query computes the same impact in another way, a few units in the last place off. With room for that, the
        // next step above is a bound.
        let step = ((impact * SCALE * ROOM) as u32 + 1).min(0xffff);
        Self(code_below(len_min) | code_above(tf_max) << 8 | step << 16)
    }

    /// From a shortest document's code, an exact greatest tf and an impact's step.
    pub fn from_parts(len_code: u32, tf_max: u32, step: u32) -> Self {
        Self(len_code | code_above(tf_max) << 8 | step << 16)
    }

    /// An impact that no posting exceeds, at the default parameters.
    #[inline]
    pub fn impact(self) -> f32 {
        (self.0 >> 16) as f32 / SCALE
    }

    /// A lower bound of the greatest impact, by the way [`Gather`] rounds.
    pub(crate) fn impact_reached(self) -> f32 {
        ((self.0 >> 16) as f32 - 2.0).max(0.0) / SCALE
    }

    /// A tf that no posting exceeds.
    #[inline]
    pub fn tf_max(self) -> u32 {
        value_of((self.0 >> 8) as u8)
    }

    /// A length that no document of the postings falls short of.
    #[inline]
    pub fn len_min(self) -> u32 {
        value_of(self.0 as u8)
    }

    /// The bound that holds for both sets of postings.
    pub fn join(self, other: Self) -> Self {
        let (a, b) = (self.0, other.0);
        Self((a & 0xff).min(b & 0xff) | (a & 0xff00).max(b & 0xff00) | (a & 0xffff_0000).max(b & 0xffff_0000))
    }

    /// True if a posting obeys the bound, given the norm of the default parameters.
    pub fn admits(self, tf: u32, len: u32, default: Norm) -> bool {
        tf <= self.tf_max() && len >= self.len_min() && default.impact(tf, len) <= self.impact()
    }
}

/// Turns [`Bound`]s into bounds of `tf / (tf + K)` for one query's parameters.
#[derive(Clone, Copy, Debug)]
pub struct BoundReader {
    default: Norm,
    query: Norm,
    same: bool,
    far_ratio: f32,
    /// An impact of the query's is at most `greatest_ratio` times the default one, and at least `least_ratio` times,
    least_ratio: f32,
    greatest_ratio: f32,
    /// or at least this if its tf is over [`MAX_TF`], since a score counts no more of it.
    least_of_most: f32,
}

/// What single-precision arithmetic may lose on the way, with room to spare.
const SLACK: f32 = 1.0 + 1e-5;

impl BoundReader {
    /// For the parameters of `query`, in a collection whose longest document has `len_max` tokens.
    pub fn new(default: Norm, query: Norm, len_max: u32) -> Self {
        let far_ratio = default.k(len_max) / query.k(len_max);
        let (least_ratio, greatest_ratio) = default.share_under(query, len_max);
        let most = MAX_TF as f32;
        let least_of_most = most / (most + query.k(len_max)) / ROOM;
        Self { default, query, same: default == query, far_ratio, least_ratio, greatest_ratio, least_of_most }
    }

    /// A lower bound of `tf / (tf + K)`, with a tf of [`MAX_TF`] at most, of a posting whose default impact is at least
    /// `impact`.
    pub fn least(&self, impact: f32) -> f32 {
        (impact * self.least_ratio).min(self.least_of_most)
    }

    /// An impact of the query's is at most so many times the default one.
    pub fn greatest_ratio(&self) -> f32 {
        self.greatest_ratio
    }

    /// Whether [`Self::impact`] goes by a bound's impact alone.
    #[inline]
    pub fn by_impact(&self) -> bool {
        self.same
    }

    /// An upper bound of `tf / (tf + K)`, at most 1.
    #[inline]
    pub fn impact(&self, bound: Bound) -> f32 {
        if self.same { bound.impact() } else { self.converted(bound) }
    }

    fn converted(&self, bound: Bound) -> f32 {
        if bound == Bound::NONE {
            // it has no shortest document
            return 1.0;
        }
        let len = bound.len_min();
        let (k, k_query) = (self.default.k(len), self.query.k(len));
        let by_tf = bound.tf_max() as f32 / k_query;
        let impact = bound.impact();
        let by_impact = impact / (1.0 - impact) * (k / k_query).max(self.far_ratio);
        // 0/0 gives NaN, which `min` passes over; two of them, or an infinity, mean "no bound below 1".
        let ratio = by_tf.min(by_impact) * SLACK;
        let impact = ratio / (1.0 + ratio);
        if impact < 1.0 { (impact * SLACK).min(1.0) } else { 1.0 }
    }
}

/// Collects a [`Bound`] posting by posting.
#[derive(Clone, Copy, Debug)]
pub struct Gather {
    ratio: f32,
    tf_max: u32,
    len_min: u32,
}

impl Default for Gather {
    /// Nothing seen yet.
    fn default() -> Self {
        Self { ratio: 0.0, tf_max: 0, len_min: u32::MAX }
    }
}

impl Gather {
    /// One posting; `default` is the norm of the default parameters. Returns its `tf / K`.
    #[inline]
    pub fn add(&mut self, tf: u32, len: u32, default: Norm) -> f32 {
        let ratio = tf as f32 / default.k(len);
        // Not `max`, which would also look for NaN; there is none.
        self.ratio = if ratio > self.ratio { ratio } else { self.ratio };
        self.tf_max = self.tf_max.max(tf);
        self.len_min = self.len_min.min(len);
        ratio
    }

    /// The bound of all postings seen.
    pub fn bound(self) -> Bound {
        Bound::pack(self.ratio, self.tf_max, self.len_min)
    }
}

/// As many [`Gather`]s side by side, for vector instructions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gathers<const N: usize> {
    ratio: [f32; N],
    tf_max: [u32; N],
    len_min: [u32; N],
}

impl<const N: usize> Default for Gathers<N> {
    fn default() -> Self {
        let Gather { ratio, tf_max, len_min } = Gather::default();
        Self { ratio: [ratio; N], tf_max: [tf_max; N], len_min: [len_min; N] }
    }
}

impl<const N: usize> Gathers<N> {
    /// A posting for each; returns their `tf / K`.
    // Compiled with the caller's processor features.
    #[inline(always)]
    pub(crate) fn add(&mut self, tfs: [u32; N], lens: [u32; N], default: Norm) -> [f32; N] {
        let mut ratios = [0.0; N];
        for i in 0..N {
            ratios[i] = tfs[i] as f32 / default.k(lens[i]);
            self.ratio[i] = if ratios[i] > self.ratio[i] { ratios[i] } else { self.ratio[i] };
            self.tf_max[i] = self.tf_max[i].max(tfs[i]);
            self.len_min[i] = self.len_min[i].min(lens[i]);
        }
        ratios
    }

    /// Adds all that these have seen to `gather`.
    #[inline(always)]
    pub(crate) fn join(&self, gather: &mut Gather) {
        gather.ratio = self.ratio.iter().fold(gather.ratio, |most, &ratio| if ratio > most { ratio } else { most });
        gather.tf_max = self.tf_max.iter().fold(gather.tf_max, |most, &tf| most.max(tf));
        gather.len_min = self.len_min.iter().fold(gather.len_min, |least, &len| least.min(len));
    }
}

/// Eight-bit floating point: codes below 16 stand for themselves, others for
/// `(8 + code % 8) << (code / 8 - 1)`. Codes and values are in the same order.
pub fn value_of(code: u8) -> u32 {
    let (exponent, mantissa) = (u32::from(code >> 3), u32::from(code & 7));
    match exponent {
        0 => mantissa,
        _ => u32::try_from(u64::from(8 + mantissa) << (exponent - 1)).unwrap_or(u32::MAX),
    }
}

/// The greatest code whose value is at most `value`.
pub fn code_below(value: u32) -> u32 {
    if value < 16 {
        return value;
    }
    let exponent = 29 - value.leading_zeros();
    exponent << 3 | (value >> (exponent - 1) & 7)
}

/// The least code whose value is at least `value`.
fn code_above(value: u32) -> u32 {
    let code = code_below(value);
    code + u32::from(value_of(code as u8) < value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn test_codes_are_in_order_and_round_both_ways() {
        for code in 0..=239u8 {
            assert_eq!(code_below(value_of(code)), u32::from(code), "code {code}");
            assert_eq!(code_above(value_of(code)), u32::from(code), "code {code}");
            assert!(value_of(code) < value_of(code + 1), "code {code}");
        }
        assert_eq!((code_below(17), code_above(17)), (16, 17));
        assert!(value_of(code_above(u32::MAX) as u8) == u32::MAX && value_of(code_below(u32::MAX) as u8) < u32::MAX);
    }

    proptest! {
        #[test]
        fn test_bounds_hold_for_any_parameters(
            postings in proptest::collection::vec((prop_oneof![1u32..5, 1u32..70_000], prop_oneof![0u32..50, 0u32..2_000_000]), 1..40),
            k1 in prop_oneof![Just(0.9f32), Just(0.0), 0.0f32..100.0],
            b in prop_oneof![Just(0.4f32), Just(0.0), Just(1.0), 0.0f32..=1.0],
            average in 1u64..5_000,
        ) {
            let default = Norm::new(DEFAULT_K1, DEFAULT_B, 100, 100 * average);
            let query = Norm::new(k1, b, 100, 100 * average);
            let mut gather = Gather::default();
            for &(tf, len) in &postings {
                gather.add(tf, len, default);
            }
            let bound = gather.bound();
            let len_max = postings.iter().map(|p| p.1).max().unwrap();
            let reader = BoundReader::new(default, query, len_max);
            for &(tf, len) in &postings {
                prop_assert!(bound.admits(tf, len, default));
                let impact = query.impact(tf, len);
                prop_assert!(impact <= reader.impact(bound), "{impact} over {}", reader.impact(bound));
                let least = reader.least(default.impact(tf, len));
                prop_assert!(least <= impact, "{impact} below {least}");
            }
            let greatest = postings.iter().map(|&(tf, len)| default.impact(tf, len)).fold(0.0, f32::max);
            prop_assert!(bound.impact_reached() <= greatest, "{} over {greatest}", bound.impact_reached());
        }
    }

    proptest! {
        #[test]
        fn test_shares_hold_for_any_posting(
            postings in proptest::collection::vec((prop_oneof![1u32..5, 1u32..70_000], prop_oneof![0u32..50, 0u32..2_000_000]), 1..40),
            k1 in prop_oneof![4 => Just(0.9f32), 1 => Just(0.0), 1 => 0.0f32..100.0],
            b in prop_oneof![4 => Just(0.4f32), 1 => Just(0.0), 1 => 0.0f32..=1.0],
            averages in [1u64..5_000, 1u64..5_000],
        ) {
            let norm = Norm::new(DEFAULT_K1, DEFAULT_B, 100, 100 * averages[0]);
            let other = Norm::new(k1, b, 100, 100 * averages[1]);
            let longest = postings.iter().map(|p| p.1).max().unwrap();
            let (least, most) = norm.share_under(other, longest);
            prop_assert!(least <= 1.0 && most >= 1.0);
            for &(tf, len) in &postings {
                let (here, there) = (norm.impact(tf, len), other.impact(tf, len));
                prop_assert!(here * least <= there && there <= here * most, "{here} is {there}; {least}, {most}");
            }
        }
    }

    #[test]
    fn test_bounds_hold_where_an_impact_is_a_hair_above_a_step() {
        // Every tf with every length: some of these impacts times 65,535 are integers up to rounding.
        let default = Norm::new(DEFAULT_K1, DEFAULT_B, 373_705, 305_563_594);
        for tf in 1..60 {
            for len in 1..6_000 {
                let mut gather = Gather::default();
                gather.add(tf, len, default);
                assert!(gather.bound().admits(tf, len, default), "tf {tf}, length {len}");
            }
        }
    }

    /// Such as a single posting whose tf is greater than its document's length, as an imported file may have it.
    #[test]
    fn test_where_nothing_is_known_any_impact_is_possible() {
        for (k1, b) in [(DEFAULT_K1, DEFAULT_B), (1.2, 0.75), (0.0, 0.0), (1000.0, 1.0)] {
            let default = Norm::new(DEFAULT_K1, DEFAULT_B, 100, 10_000);
            let reader = BoundReader::new(default, Norm::new(k1, b, 100, 10_000), 1_000);
            assert_eq!(reader.impact(Bound::NONE), 1.0, "k1 {k1}, b {b}");
        }
    }

    #[test]
    fn test_bound_is_tight_at_the_defaults() {
        let default = Norm::new(DEFAULT_K1, DEFAULT_B, 10, 1_000);
        let mut gather = Gather::default();
        gather.add(3, 100, default);
        let reader = BoundReader::new(default, default, 100);
        assert!(reader.impact(gather.bound()) - default.impact(3, 100) < 4e-5);
    }
}
