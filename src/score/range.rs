//! Bounds of scores for ranges of docIDs, many to a block: a byte each.
//!
//! A block's bound is that of the best of 128 postings. A document that is to be looked up has a chance by such bounds
//! far more often than by those of its own neighbours. So a list may have bounds of ranges, too: then documents without
//! a chance need no block of the list. (Ranges of docIDs as in Chakrabarti, Chaudhuri and Ganti, *Interval-based
//! pruning for top-k processing over compressed lists*, ICDE 2011, doi:10.1109/ICDE.2011.5767855, and Dimopoulos,
//! Nepomnyachiy and Suel, *Optimizing top-k document retrieval strategies for block-max indexes*, WSDM 2013,
//! doi:10.1145/2433396.2433412; that a range has about as many postings in every list is gamut's own.)
//!
//! A codec says how many postings `r` a range has in the mean ([`crate::codec::Codec::range`]). A list of more than
//! two blocks has ranges of `2^s` docIDs, with the least `s` from 3 on for which `4 df 2^s ≥ 3 r n`, of `n` documents.
//! Let `x` be `tf / (tf + K)` of the best posting of a range at the defaults `k1 = 0.9` and `b = 0.4`, times 65,535,
//! times 1 + 2·10⁻⁶, and `B` the step of the list's [`Bound`]:
//!
//! ```text
//! word 0   L: the least x of the list, rounded down, at most B - 1
//! bytes    for each range 0 if the list has none of its docIDs, else min(255, ⌊(x - L) · (254 / (B - L))⌋ + 2)
//! ```
//!
//! All of it is single precision. A byte `c` stands for `(L + (c - 1) (B - L) / 254) / 65,535`, which no posting of the
//! range exceeds. The bytes are in the order of docIDs, and zeros fill what is left of three words.

use super::bound::{Bound, Norm, ROOM, SCALE};
use crate::codec::{Ranges, Skip};

/// Steps between the least and the greatest bound.
const STEPS: f32 = 254.0;

/// Collects the bounds of a list.
#[derive(Clone, Debug, Default)]
pub struct GatherRanges {
    shift: u32,
    /// Ranges that have postings, and the greatest `tf / K` of each.
    found: Vec<u32>,
    ratios: Vec<f32>,
}

impl GatherRanges {
    /// Begins a list.
    pub fn begin(&mut self, ranges: Ranges) {
        self.shift = ranges.shift;
        self.found.clear();
        self.ratios.clear();
    }

    /// Takes the next postings; `default` is the norm of the default parameters. Every docID has a length.
    pub fn add(&mut self, docs: &[u32], tfs: &[u32], lens: &[u32], default: Norm) {
        let mut n = self.found.len();
        self.found.resize(n + docs.len(), 0);
        self.ratios.resize(n + docs.len(), 0.0);
        for (&doc, &tf) in docs.iter().zip(tfs) {
            let (range, ratio) = (doc >> self.shift, tf as f32 / default.k(lens[doc as usize]));
            // whether a posting begins a range is a matter of luck, so no branch asks
            let same = n > 0 && self.found[n - 1] == range;
            let at = n - usize::from(same);
            let before = if same { self.ratios[at] } else { 0.0 };
            self.found[at] = range;
            self.ratios[at] = if ratio > before { ratio } else { before };
            n = at + 1;
        }
        self.found.truncate(n);
        self.ratios.truncate(n);
    }

    /// Appends the words of all postings since [`Self::begin`], whose list has this bound, in the shape of skip
    /// entries.
    pub fn finish(&self, ranges: Ranges, bound: Bound, out: &mut Vec<Skip>) {
        let most = (bound.0 >> 16) as f32;
        let place = |ratio: f32| ratio / (1.0 + ratio) * SCALE * ROOM;
        let least = self.ratios.iter().copied().fold(f32::INFINITY, f32::min);
        let least = (place(least) as u32).min((bound.0 >> 16).saturating_sub(1));
        let per_step = STEPS / (most - least as f32);
        let start = out.len();
        out.resize(start + ranges.words() / 3, Skip::default());
        let words: &mut [u32] = bytemuck::cast_slice_mut(&mut out[start..]);
        words[0] = least;
        for (&range, &ratio) in self.found.iter().zip(&self.ratios) {
            // the cast stops at 255, which is the bound of the whole list
            let code = (((place(ratio) - least as f32) * per_step) as u8).saturating_add(2);
            words[1 + range as usize / 4] |= u32::from(code) << (8 * (range % 4));
        }
    }
}

/// The bounds of a list's ranges, as they lie in the file. Damage may make them anything.
#[derive(Clone, Copy, Debug)]
pub struct RangeBounds<'a> {
    /// With the word before them.
    bytes: &'a [u8],
    ranges: Ranges,
    /// A code stands for `low + code · step`.
    low: f32,
    step: f32,
}

impl<'a> RangeBounds<'a> {
    /// From the words that [`GatherRanges::finish`] gave for a list of this bound; `None` if they are too few.
    pub fn new(words: &'a [u32], ranges: Ranges, bound: Bound) -> Option<Self> {
        let words = words.get(..ranges.words()).filter(|_| ranges.count > 0)?;
        let (least, most) = ((words[0] & 0xffff) as f32, (bound.0 >> 16) as f32);
        let step = (most - least) / STEPS;
        Some(Self { bytes: bytemuck::cast_slice(words), ranges, low: (least - step) / SCALE, step: step / SCALE })
    }

    /// The four bytes before those of the ranges, and these.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// How the list is cut.
    pub fn ranges(&self) -> Ranges {
        self.ranges
    }

    /// The impact of a code that is not 0, as `low + code · step`: the first and the second. In single precision that
    /// is up to 2⁻²² too low.
    pub fn line(&self) -> (f32, f32) {
        (self.low, self.step)
    }

    /// An impact that no posting of the document's range exceeds at the default parameters; `None` if there is none.
    pub fn impact(&self, doc: u32) -> Option<f32> {
        let range = (doc as usize >> self.ranges.shift).min(self.ranges.count - 1);
        let code = self.bytes[4 + range];
        (code > 0).then(|| (self.low + f32::from(code) * self.step) * ROOM)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::score::bound::Gather;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn test_no_posting_exceeds_its_range_and_one_comes_near(
            seed in any::<u64>(),
            share in 1u64..40,
            kinds in 1u64..3000,
            power in prop_oneof![3 => Just(0u32), 1 => 0u32..23],
            round in 1usize..700,
        ) {
            let mut random = seed;
            let mut next = |below: u64| {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (random >> 33) % below
            };
            let documents = 20_000u32;
            let lens: Vec<u32> = (0..documents).map(|_| (next(2000) << power.min(17)) as u32).collect();
            let docs: Vec<u32> = (0..documents).filter(|doc| *doc % 40 == 7 || next(40) < share).collect();
            let tfs: Vec<u32> = docs.iter().map(|_| ((next(kinds) / 7 + 1) as u32) << power).collect();
            let norm = Norm::new(0.9, 0.4, 10, 3000);
            let mut gather = Gather::default();
            docs.iter().zip(&tfs).for_each(|(&doc, &tf)| _ = gather.add(tf, lens[doc as usize], norm));
            let bound = gather.bound();
            let ranges = Ranges::of(4, docs.len() as u32, documents).unwrap();
            let mut gather = GatherRanges { found: vec![3; 5], ratios: vec![9e9; 5], shift: 1 };
            gather.begin(ranges);
            for (docs, tfs) in docs.chunks(round).zip(tfs.chunks(round)) {
                gather.add(docs, tfs, &lens, norm);
            }
            let mut entries = vec![Skip::default()];
            gather.finish(ranges, bound, &mut entries);
            prop_assert_eq!(3 * (entries.len() - 1), ranges.words());
            let bounds = RangeBounds::new(bytemuck::cast_slice(&entries[1..]), ranges, bound).unwrap();
            let mut best = vec![0f32; ranges.count];
            for (&doc, &tf) in docs.iter().zip(&tfs) {
                let (range, impact) = ((doc >> ranges.shift) as usize, norm.impact(tf, lens[doc as usize]));
                best[range] = best[range].max(impact);
                prop_assert!(bounds.impact(doc).unwrap() >= impact);
            }
            for (range, &best) in best.iter().enumerate() {
                let said = bounds.impact((range << ranges.shift) as u32);
                prop_assert_eq!(said.is_some(), best > 0.0);
                // a step more than the best, and what rounding leaves to it
                prop_assert!(said.unwrap_or(0.0) <= best + 2.0 * bounds.step + 4.0 / SCALE || best == 0.0);
            }
        }
    }
}
