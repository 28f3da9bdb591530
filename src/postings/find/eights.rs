//! A block of 128 docIDs in registers of eight, where the processor has none of sixteen.

use super::Picked;
use crate::base::avx2::{at_least, bits, compress, load, load_some, store};
use std::arch::x86_64::*;

/// The last docIDs of the eight sixteens of a block, and these: the first whose last docID is no less than a target may
/// have it.
struct Sixteens<'a> {
    lasts: __m256i,
    docs: &'a [[u32; 16]; 8],
}

impl<'a> Sixteens<'a> {
    #[inline]
    #[target_feature(enable = "avx2")]
    fn new(docs: &'a [u32; 128]) -> Self {
        let docs: &[[u32; 16]; 8] = docs.as_chunks().0.try_into().expect("eight of sixteen");
        let [a, b, c, d, e, f, g, h] = docs.each_ref().map(|docs| docs[15].cast_signed());
        Self { lasts: _mm256_setr_epi32(a, b, c, d, e, f, g, h), docs }
    }

    /// Where a target may be, and a bit for each of these sixteen docIDs: whether it is there.
    #[inline]
    #[target_feature(enable = "avx2,popcnt")]
    fn find(&self, target: u32) -> (usize, u16) {
        let target = _mm256_set1_epi32(target.cast_signed());
        // A target behind the last docID is not among the first sixteen either.
        let at = bits(at_least(self.lasts, target)).trailing_zeros() as usize % 8;
        let [low, high]: &[[u32; 8]; 2] = self.docs[at].as_chunks().0.try_into().expect("two of eight");
        let low = bits(_mm256_cmpeq_epi32(load(low), target));
        let high = bits(_mm256_cmpeq_epi32(load(high), target));
        (at, u16::from(high) << 8 | u16::from(low))
    }
}

/// [`super::common`].
#[target_feature(enable = "avx2,bmi1,popcnt")]
pub(super) fn common(docs: &[u32; 128], targets: &[u32], which: &mut [u32], places: &mut [u32]) -> usize {
    let sixteens = Sixteens::new(docs);
    let mut found = 0;
    for (i, &target) in (0..).zip(targets) {
        let (at, equal) = sixteens.find(target);
        (which[found], places[found]) = (i, 16 * at as u32 + equal.trailing_zeros());
        // A branch would be a toss-up, so there is none.
        found += usize::from(equal != 0);
    }
    found
}

/// [`super::matches`].
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
pub(super) fn matches(docs: &[u32; 128], targets: &[u32]) -> (u128, u128) {
    let sixteens = Sixteens::new(docs);
    let (mut those, mut low, mut high) = ([0; 2], 0, 0);
    for (half, targets) in targets.chunks(64).enumerate() {
        let mut found = 0;
        for (i, &target) in targets.iter().enumerate() {
            let (at, equal) = sixteens.find(target);
            found |= u64::from(equal != 0) << i;
            let here = u64::from(equal) << (16 * (at % 4));
            low |= if at < 4 { here } else { 0 };
            high |= if at < 4 { 0 } else { here };
        }
        those[half] = found;
    }
    (u128::from(those[1]) << 64 | u128::from(those[0]), u128::from(high) << 64 | u128::from(low))
}

/// How many docIDs are less than `target`. All are compared, and no branch is guessed.
#[inline]
#[target_feature(enable = "avx2,popcnt")]
pub(super) fn less(docs: &[u32; 128], target: u32) -> usize {
    let target = _mm256_set1_epi32(target.cast_signed());
    let mut less = _mm256_setzero_si256();
    for docs in docs.as_chunks::<8>().0 {
        // ones are -1
        less = _mm256_add_epi32(less, at_least(load(docs), target));
    }
    let mut lanes = [0u32; 8];
    store(&mut lanes, less);
    // 128 and what was taken away
    128u32.wrapping_add(lanes.into_iter().fold(0, u32::wrapping_add)) as usize
}

/// [`super::pick`]; whether an eight has one of them is a matter of luck, so no branch asks.
#[inline]
#[target_feature(enable = "avx2,popcnt")]
pub(super) fn pick(bits: u128, values: &[u32], out: &mut Picked) {
    let mut found = 0;
    for (values, some) in values.chunks(8).zip(bits.to_le_bytes()) {
        let room = out[found..].first_chunk_mut().expect("sixteen more than 128");
        store(room, compress(some, load_some(values)));
        found += some.count_ones() as usize;
    }
}
