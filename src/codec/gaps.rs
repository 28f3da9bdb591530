//! Gaps of a block and the docIDs that they add up to.

#[cfg(target_arch = "x86_64")]
use crate::base::avx512;

/// The numbers that a codec of gaps stores for `block`: how many docIDs are missing between neighbours. Writes and
/// returns the first `block.len() - 1` of `gaps`.
#[inline]
pub(super) fn gaps_of<'a>(block: &[u32], gaps: &'a mut [u32]) -> &'a [u32] {
    let gaps = &mut gaps[..block.len() - 1];
    for (gap, pair) in gaps.iter_mut().zip(block.windows(2)) {
        *gap = pair[1] - pair[0] - 1;
    }
    gaps
}

/// The docIDs after `first`, with `gaps` missing docIDs between them; `gaps` may be longer than `out`. Wraps around
/// where no list would.
#[inline(always)]
pub(super) fn docs_of(first: u32, gaps: &[u32], out: &mut [u32]) {
    let gaps = &gaps[..out.len()];
    #[cfg(target_arch = "x86_64")]
    let (done, mut doc) = {
        // SAFETY: the processor has the features that the function is compiled for.
        let (done, doc) = if avx512::available() { unsafe { sixteens(first, gaps, out) } } else { (0, first) };
        let (more, doc) = fours(doc, &gaps[done..], &mut out[done..]);
        (done + more, doc)
    };
    #[cfg(not(target_arch = "x86_64"))]
    let (done, mut doc) = (0, first);
    for (slot, gap) in out[done..].iter_mut().zip(&gaps[done..]) {
        doc = doc.wrapping_add(1).wrapping_add(*gap);
        *slot = doc;
    }
}

/// As [`fours`] for vectors of sixteen.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw")]
fn sixteens(first: u32, gaps: &[u32], out: &mut [u32]) -> (usize, u32) {
    use std::arch::x86_64::{_mm512_add_epi32, _mm512_loadu_epi32, _mm512_set1_epi32};
    let (slots, gaps) = (out.as_chunks_mut::<16>().0, gaps.as_chunks::<16>().0);
    let mut doc = _mm512_set1_epi32(first.cast_signed());
    for (slots, gaps) in slots.iter_mut().zip(gaps) {
        // SAFETY: sixteen numbers are there, and the load has no alignment to keep.
        let gaps = unsafe { _mm512_loadu_epi32(gaps.as_ptr().cast()) };
        let sums = avx512::running(_mm512_add_epi32(gaps, _mm512_set1_epi32(1)));
        avx512::store(slots, _mm512_add_epi32(doc, sums));
        doc = _mm512_add_epi32(doc, avx512::last(sums));
    }
    let done = 16 * gaps.len();
    (done, if done > 0 { out[done - 1] } else { first })
}

/// As [`docs_of`] for whole vectors of four; returns how many docIDs are done, and the last one. One addition per four
/// waits for the one before.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn fours(first: u32, gaps: &[u32], out: &mut [u32]) -> (usize, u32) {
    use std::arch::x86_64::{
        _mm_add_epi32, _mm_cvtsi128_si32, _mm_loadu_si128, _mm_set1_epi32, _mm_shuffle_epi32, _mm_slli_si128,
        _mm_storeu_si128,
    };
    let (slots, gaps) = (out.as_chunks_mut::<4>().0, gaps.as_chunks::<4>().0);
    // SAFETY: every x86-64 processor has SSE2, and four numbers are one vector.
    unsafe {
        let ones = _mm_set1_epi32(1);
        let mut doc = _mm_set1_epi32(first.cast_signed());
        for (slots, gaps) in slots.iter_mut().zip(gaps) {
            let mut sums = _mm_add_epi32(_mm_loadu_si128(gaps.as_ptr().cast()), ones);
            sums = _mm_add_epi32(sums, _mm_slli_si128(sums, 4));
            sums = _mm_add_epi32(sums, _mm_slli_si128(sums, 8));
            _mm_storeu_si128(slots.as_mut_ptr().cast(), _mm_add_epi32(doc, sums));
            doc = _mm_add_epi32(doc, _mm_shuffle_epi32(sums, 0xff));
        }
        (4 * gaps.len(), _mm_cvtsi128_si32(doc).cast_unsigned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn test_gaps_add_up_to_the_docs(list in proptest::collection::btree_set(any::<u32>(), 1..40)) {
            let list: Vec<u32> = list.into_iter().collect();
            let mut gaps = [7; 40];
            let found = gaps_of(&list, &mut gaps);
            prop_assert!(found.iter().zip(&list).zip(&list[1..]).all(|((gap, a), b)| a + gap + 1 == *b));
            let mut docs = vec![0; list.len() - 1];
            docs_of(list[0], &gaps, &mut docs);
            prop_assert_eq!(&docs[..], &list[1..]);
        }
    }
}
