//! Where a docID stands in a decoded block.

use crate::base::bits::set_places;
#[cfg(target_arch = "x86_64")]
use crate::base::{avx2, avx512};

#[cfg(target_arch = "x86_64")]
mod eights;

/// The first position from `from` on whose docID is at least `target`, or the length. DocIDs increase, and those before
/// `from` are less than `target`.
#[inline]
pub fn find(docs: &[u32], from: usize, target: u32) -> usize {
    #[cfg(target_arch = "x86_64")]
    if let Some(docs) = docs.first_chunk().filter(|_| avx2::available()) {
        // SAFETY: the processor has the features that the functions are compiled for.
        let at = unsafe { if avx512::available() { wide(docs, target) } else { eights::less(docs, target) } };
        if at < docs.len() {
            return at;
        }
    }
    narrow(docs, from, target)
}

/// Looks up the increasing `targets` in `docs`. For each one found, puts its number into `which` and its position into
/// `places`; returns how many were found. Both have room for all targets.
#[inline]
pub fn common(docs: &[u32], targets: &[u32], which: &mut [u32], places: &mut [u32]) -> usize {
    assert!(which.len() >= targets.len() && places.len() >= targets.len());
    #[cfg(target_arch = "x86_64")]
    if let Some(docs) = docs.first_chunk().filter(|first| first.len() == docs.len() && avx2::available()) {
        // SAFETY: the processor has the features that the functions are compiled for.
        return unsafe {
            match avx512::available() {
                true => common_wide(docs, targets, which, places),
                false => eights::common(docs, targets, which, places),
            }
        };
    }
    let (mut found, mut at) = (0, 0);
    for (i, &target) in (0..).zip(targets) {
        at = narrow(docs, at, target);
        (which[found], places[found]) = (i, at as u32);
        found += usize::from(docs.get(at) == Some(&target));
    }
    found
}

/// [`common`] for a block of 128: the last docIDs of its eight sixteens tell which one may have a target.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vl,popcnt")]
fn common_wide(docs: &[u32; 128], targets: &[u32], which: &mut [u32], places: &mut [u32]) -> usize {
    use std::arch::x86_64::*;
    let sixteens: &[[u32; 16]; 8] = docs.as_chunks().0.try_into().expect("eight of sixteen");
    let [a, b, c, d, e, f, g, h] = sixteens.map(|docs| docs[15].cast_signed());
    let lasts = _mm256_setr_epi32(a, b, c, d, e, f, g, h);
    let mut found = 0;
    for (i, &target) in (0..).zip(targets) {
        let target = _mm512_set1_epi32(target.cast_signed());
        let before = _mm256_cmplt_epu32_mask(lasts, _mm512_castsi512_si256(target)).count_ones() as usize;
        // A target behind the last docID is not among the first sixteen either.
        let at = before % 8;
        // SAFETY: sixteen numbers are there, and the load has no alignment to keep.
        let docs = unsafe { _mm512_loadu_epi32(sixteens[at].as_ptr().cast()) };
        let equal = _mm512_cmpeq_epi32_mask(docs, target);
        (which[found], places[found]) = (i, 16 * at as u32 + equal.trailing_zeros());
        // A branch would be a toss-up, so there is none.
        found += usize::from(equal != 0);
    }
    found
}

/// Looks up the increasing `targets` in `docs`, at most 128 each: a bit for each target that is there, and a bit for
/// each of `docs` that is a target.
#[inline(always)]
pub fn matches(docs: &[u32], targets: &[u32]) -> (u128, u128) {
    assert!(docs.len() <= 128 && targets.len() <= 128);
    #[cfg(target_arch = "x86_64")]
    if let Some(docs) = docs.first_chunk().filter(|_| avx2::available()) {
        // SAFETY: the processor has the features that the functions are compiled for.
        return unsafe {
            if avx512::available() { matches_wide(docs, targets) } else { eights::matches(docs, targets) }
        };
    }
    let (mut those, mut these, mut at) = (0, 0, 0);
    for (i, &target) in targets.iter().enumerate() {
        at = narrow(docs, at, target);
        if docs.get(at) == Some(&target) {
            those |= 1 << i;
            these |= 1 << at;
        }
    }
    (those, these)
}

/// [`matches`] for a block of 128, as [`common_wide`].
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx512f,avx512vl,popcnt,bmi2")]
fn matches_wide(docs: &[u32; 128], targets: &[u32]) -> (u128, u128) {
    use std::arch::x86_64::*;
    let sixteens: &[[u32; 16]; 8] = docs.as_chunks().0.try_into().expect("eight of sixteen");
    let [a, b, c, d, e, f, g, h] = sixteens.map(|docs| docs[15].cast_signed());
    let lasts = _mm256_setr_epi32(a, b, c, d, e, f, g, h);
    let (mut those, mut low, mut high) = ([0; 2], 0, 0);
    for (half, targets) in targets.chunks(64).enumerate() {
        let mut found = 0;
        for (i, &target) in targets.iter().enumerate() {
            let target = _mm512_set1_epi32(target.cast_signed());
            let before = _mm256_cmplt_epu32_mask(lasts, _mm512_castsi512_si256(target)).count_ones() as usize;
            // A target behind the last docID is not among the first sixteen either.
            let at = before % 8;
            // SAFETY: sixteen numbers are there, and the load has no alignment to keep.
            let docs = unsafe { _mm512_loadu_epi32(sixteens[at].as_ptr().cast()) };
            let equal = u64::from(_mm512_cmpeq_epi32_mask(docs, target));
            found |= u64::from(equal != 0) << i;
            let here = equal << (16 * (at % 4));
            low |= if at < 4 { here } else { 0 };
            high |= if at < 4 { 0 } else { here };
        }
        those[half] = found;
    }
    (u128::from(those[1]) << 64 | u128::from(those[0]), u128::from(high) << 64 | u128::from(low))
}

/// Room for up to 128 numbers, and a register behind them.
pub const PICKED: usize = 128 + 16;
/// That many numbers.
pub type Picked = [u32; PICKED];

/// Copies the values whose bits are set, of at most 128, to the front of `out`, in their order; what stands behind them
/// may change.
#[inline(always)]
pub fn pick(bits: u128, values: &[u32], out: &mut Picked) {
    assert!(values.len() <= 128);
    #[cfg(target_arch = "x86_64")]
    if avx512::available() {
        // SAFETY: the processor has the features that the function is compiled for.
        return unsafe { pick_wide(bits, values, out) };
    } else if avx2::available() {
        // SAFETY: as above.
        return unsafe { eights::pick(bits, values, out) };
    }
    for (out, place) in out.iter_mut().zip(set_places(bits)) {
        *out = values.get(place).copied().unwrap_or(0);
    }
}

/// [`pick`]; up to sixteen values are brought together in a register, since a load of what several stores have just
/// written has to wait for them.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx512f,avx512bw,popcnt")]
fn pick_wide(bits: u128, values: &[u32], out: &mut Picked) {
    use std::arch::x86_64::*;
    let few = bits.count_ones() <= 16;
    let (mut found, mut all) = (0, _mm512_setzero_si512());
    for (i, values) in values.chunks(16).enumerate() {
        let some = (bits >> (16 * i)) as u16;
        if some == 0 {
            continue;
        }
        // SAFETY: only lanes below the slice's length are read. Before each store there are at most 16 i values, and
        // sixteen more have room.
        unsafe {
            let here = _mm512_maskz_loadu_epi32(avx512::ones(values.len()) as u16, values.as_ptr().cast());
            let here = _mm512_maskz_compress_epi32(some, here);
            if few {
                all = _mm512_mask_expand_epi32(all, u16::MAX.checked_shl(found).unwrap_or(0), here);
            } else {
                _mm512_storeu_epi32(out.as_mut_ptr().add(found as usize).cast(), here);
            }
        }
        found += some.count_ones();
    }
    if few {
        avx512::store(out.first_chunk_mut().expect("sixteen"), all);
    }
}

/// How many docIDs of a block of 128 are less than `target`. The answer is a matter of luck, so all are compared and no
/// branch is guessed.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,popcnt")]
#[inline]
fn wide(docs: &[u32; 128], target: u32) -> usize {
    use std::arch::x86_64::{_mm512_cmplt_epu32_mask, _mm512_loadu_epi32, _mm512_set1_epi32};
    let target = _mm512_set1_epi32(target.cast_signed());
    let mut less = 0;
    for docs in docs.as_chunks::<16>().0 {
        // SAFETY: sixteen numbers are there, and the load has no alignment to keep.
        let docs = unsafe { _mm512_loadu_epi32(docs.as_ptr().cast()) };
        less += _mm512_cmplt_epu32_mask(docs, target).count_ones();
    }
    less as usize
}

fn narrow(docs: &[u32], from: usize, target: u32) -> usize {
    let mut at = from;
    while let Some(chunk) = docs.get(at..at + 16) {
        if chunk[15] >= target {
            return at + chunk.iter().map(|&doc| usize::from(doc < target)).sum::<usize>();
        }
        at += 16;
    }
    at + docs[at..].iter().map(|&doc| usize::from(doc < target)).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn test_finds_what_counting_finds(
            docs in proptest::collection::btree_set(prop_oneof![0u32..700, any::<u32>()], 1..520),
            targets in proptest::collection::vec(prop_oneof![0u32..700, any::<u32>()], 1..20),
        ) {
            let docs: Vec<u32> = docs.into_iter().collect();
            let mut sorted = targets.clone();
            sorted.sort_unstable();
            sorted.dedup();
            for docs in [&docs[..], &docs[..docs.len().min(128)]] {
                let (mut which, mut places) = (vec![0; sorted.len()], vec![0; sorted.len()]);
                let found = common(docs, &sorted, &mut which, &mut places);
                let expected = (0u32..).zip(&sorted).filter_map(|(i, target)| Some((i, docs.binary_search(target).ok()? as u32)));
                let found = which[..found].iter().copied().zip(places[..found].iter().copied());
                prop_assert!(found.eq(expected));
                if docs.len() <= 128 {
                    for sorted in sorted.chunks(128) {
                        let (those, these) = matches(docs, sorted);
                        let bit = |bits: u128, has: bool, place: usize| (bits >> place & 1 == 1) == has;
                        prop_assert!(sorted.iter().enumerate().all(|(i, doc)| bit(those, docs.contains(doc), i)));
                        prop_assert!(docs.iter().enumerate().all(|(i, doc)| bit(these, sorted.contains(doc), i)));
                        let mut picked = [7; PICKED];
                        pick(these, docs, &mut picked);
                        let expected = sorted.iter().filter(|doc| docs.contains(doc));
                        prop_assert!(picked.iter().zip(expected).all(|(a, b)| a == b));
                        prop_assert_eq!(those.count_ones(), these.count_ones());
                    }
                }
            }
            #[cfg(target_arch = "x86_64")]
            if let Some(docs) = docs.first_chunk::<128>().filter(|_| avx2::available()) {
                // Where there are wider registers, nothing else asks for these.
                let (mut which, mut places) = (vec![0; sorted.len()], vec![0; sorted.len()]);
                let expected = (0u32..).zip(&sorted).filter_map(|(i, target)| Some((i, docs.binary_search(target).ok()? as u32)));
                // SAFETY: the processor has the features that the functions are compiled for.
                unsafe {
                    let found = eights::common(docs, &sorted, &mut which, &mut places);
                    let found = which[..found].iter().copied().zip(places[..found].iter().copied());
                    prop_assert!(found.eq(expected.clone()));
                    let (those, these) = eights::matches(docs, &sorted);
                    let bits = expected.fold((0u128, 0u128), |(those, these), (i, at)| (those | 1 << i, these | 1 << at));
                    prop_assert_eq!((those, these), bits);
                    for &target in sorted.iter().chain(docs) {
                        prop_assert_eq!(eights::less(docs, target), docs.partition_point(|&doc| doc < target));
                    }
                }
            }
            for target in targets.into_iter().chain(docs.iter().copied()) {
                let expected = docs.partition_point(|&doc| doc < target);
                for from in [0, expected / 2, expected] {
                    prop_assert_eq!(find(&docs, from, target), expected);
                    prop_assert_eq!(narrow(&docs, from, target), expected);
                }
            }
        }
    }
}
