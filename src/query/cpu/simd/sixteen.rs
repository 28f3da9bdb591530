//! Sixteen postings at a time, in registers of AVX-512.

use super::super::Bm25Scorer;
use super::super::reach::Reach;
use super::{CHUNK, Few, Hope};
use crate::score::whole::MAX_TF;
use std::arch::x86_64::*;

const NEAREST: i32 = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;

/// Ones for the first `n` of sixteen lanes.
fn first(n: usize) -> u16 {
    if n < 16 { (1 << n) - 1 } else { u16::MAX }
}

/// # Safety
/// The slices have one length; there are at most 2^31 - 1 lengths of documents.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
pub(in crate::query) unsafe fn score(scorer: &Bm25Scorer<'_>, weight: f32, docs: &[u32], tfs: &[u32], out: &mut [f32]) {
    let base = _mm512_set1_ps(scorer.norm.base);
    let slope = _mm512_set1_ps(scorer.norm.slope);
    let (weight, one) = (_mm512_set1_ps(weight), _mm512_set1_ps(1.0));
    let most = _mm512_set1_epi32(MAX_TF.cast_signed());
    let documents = _mm512_set1_epi32((scorer.lens.len() as u32).cast_signed());
    for at in (0..docs.len()).step_by(16) {
        let lanes = first(docs.len() - at);
        // SAFETY: only lanes below the slices' length are read and written, and only lengths of existing docIDs.
        unsafe {
            let doc = _mm512_maskz_loadu_epi32(lanes, docs.as_ptr().add(at).cast());
            let known = _mm512_mask_cmplt_epu32_mask(lanes, doc, documents);
            let zero = _mm512_setzero_si512();
            let len = _mm512_mask_i32gather_epi32::<4>(zero, known, doc, scorer.lens.as_ptr().cast());
            let tf = _mm512_maskz_loadu_epi32(lanes, tfs.as_ptr().add(at).cast());
            let tf = _mm512_cvtepu32_ps(_mm512_min_epu32(tf, most));
            let k = _mm512_add_ps(base, _mm512_mul_ps(slope, _mm512_cvtepu32_ps(len)));
            let (above, below) = (_mm512_mul_ps(weight, tf), _mm512_add_ps(tf, k));
            // The quotient of single precision may be rounded to the wrong whole number, but not by more than one;
            // the remainder, which one fused operation gives exactly, tells.
            let near = _mm512_roundscale_ps::<NEAREST>(_mm512_div_ps(above, below));
            let rest = _mm512_fnmadd_ps(near, below, above);
            let twice = _mm512_add_ps(rest, rest);
            let low = _mm512_cmp_ps_mask::<_CMP_GE_OQ>(twice, below);
            let high = _mm512_cmp_ps_mask::<_CMP_LT_OQ>(twice, _mm512_sub_ps(_mm512_setzero_ps(), below));
            let share = _mm512_mask_sub_ps(_mm512_mask_add_ps(near, low, near, one), high, near, one);
            _mm512_mask_storeu_ps(out.as_mut_ptr().add(at), lanes, _mm512_max_ps(share, one));
        }
    }
}

/// # Safety
/// There are as many frequencies as documents, [`super::CHUNK`] at most.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,popcnt")]
pub(in crate::query) unsafe fn frequent(
    docs: &[u32],
    tfs: &[u32],
    least: u32,
    few: &mut [u32; CHUNK + 16],
    few_tfs: &mut [u32; CHUNK + 16],
) -> usize {
    let least = _mm512_set1_epi32(least.cast_signed());
    let mut found = 0;
    for at in (0..docs.len()).step_by(16) {
        let lanes = first(docs.len() - at);
        // SAFETY: only lanes below the slices' length are read. As many as `CHUNK` were found at most, and there is
        // room for sixteen behind them.
        unsafe {
            let tf = _mm512_maskz_loadu_epi32(lanes, tfs.as_ptr().add(at).cast());
            let doc = _mm512_maskz_loadu_epi32(lanes, docs.as_ptr().add(at).cast());
            let some = _mm512_mask_cmpge_epu32_mask(lanes, tf, least);
            _mm512_storeu_epi32(few.as_mut_ptr().add(found).cast(), _mm512_maskz_compress_epi32(some, doc));
            _mm512_storeu_epi32(few_tfs.as_mut_ptr().add(found).cast(), _mm512_maskz_compress_epi32(some, tf));
            found += some.count_ones() as usize;
        }
    }
    found
}

/// # Safety
/// There are as many sums as documents, [`super::CHUNK`] at most.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,popcnt")]
pub(in crate::query) unsafe fn select(
    hope: Hope,
    docs: &[u32],
    sums: &[f32],
    end: u32,
    few: &mut Few,
) -> (usize, usize) {
    let (more, threshold) = (_mm512_set1_ps(hope.more), _mm512_set1_ps(hope.threshold));
    let end = _mm512_set1_epi32(end.cast_signed());
    let (mut passed, mut n) = (0, 0);
    for at in (0..docs.len()).step_by(16) {
        let lanes = first(docs.len() - at);
        // SAFETY: only lanes below the slices' length are read. At most `CHUNK` are kept, and there is room for
        // sixteen behind them.
        unsafe {
            let doc = _mm512_maskz_loadu_epi32(lanes, docs.as_ptr().add(at).cast());
            let sum = _mm512_maskz_loadu_ps(lanes, sums.as_ptr().add(at));
            let inside = _mm512_mask_cmplt_epu32_mask(lanes, doc, end);
            let some = _mm512_mask_cmp_ps_mask::<_CMP_GT_OQ>(inside, _mm512_add_ps(sum, more), threshold);
            _mm512_storeu_epi32(few.docs.as_mut_ptr().add(n).cast(), _mm512_maskz_compress_epi32(some, doc));
            _mm512_storeu_ps(few.sums.as_mut_ptr().add(n), _mm512_maskz_compress_ps(some, sum));
            passed += inside.count_ones() as usize;
            n += some.count_ones() as usize;
            if inside != u16::MAX {
                break;
            }
        }
    }
    (passed, n)
}

/// Appends the documents and sums of some lanes.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,popcnt")]
fn append(some: u16, doc: __m512i, sum: __m512, (docs, sums): (&mut Vec<u32>, &mut Vec<f32>)) {
    // Whole registers are written.
    docs.reserve(16);
    sums.reserve(16);
    let (doc_end, sum_end) = (docs.len(), sums.len());
    // SAFETY: there is room for sixteen behind the vectors' ends, and as many as become part of them were written.
    unsafe {
        _mm512_storeu_epi32(docs.as_mut_ptr().add(doc_end).cast(), _mm512_maskz_compress_epi32(some, doc));
        _mm512_storeu_ps(sums.as_mut_ptr().add(sum_end), _mm512_maskz_compress_ps(some, sum));
        docs.set_len(doc_end + some.count_ones() as usize);
        sums.set_len(sum_end + some.count_ones() as usize);
    }
}

/// # Safety
/// There are as many sums as documents.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,popcnt")]
pub(in crate::query) unsafe fn keep(hope: Hope, docs: &[u32], sums: &[f32], kept: (&mut Vec<u32>, &mut Vec<f32>)) {
    let (more, threshold) = (_mm512_set1_ps(hope.more), _mm512_set1_ps(hope.threshold));
    for at in (0..docs.len()).step_by(16) {
        let lanes = first(docs.len() - at);
        // SAFETY: only lanes below the slices' length are read.
        unsafe {
            let sum = _mm512_maskz_loadu_ps(lanes, sums.as_ptr().add(at));
            let doc = _mm512_maskz_loadu_epi32(lanes, docs.as_ptr().add(at).cast());
            let some = _mm512_cmp_ps_mask::<_CMP_GT_OQ>(sum, _mm512_setzero_ps());
            let some = _mm512_mask_cmp_ps_mask::<_CMP_GT_OQ>(some, _mm512_add_ps(sum, more), threshold);
            append(some, doc, sum, (&mut *kept.0, &mut *kept.1));
        }
    }
}

/// # Safety
/// There are as many sums as documents, and four bytes and one more for each range.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,popcnt")]
pub(in crate::query) unsafe fn reachable(
    reaches: &[Reach<'_>],
    hope: Hope,
    docs: &[u32],
    sums: &[f32],
    kept: (&mut Vec<u32>, &mut Vec<f32>),
) {
    let (more, threshold) = (_mm512_set1_ps(hope.more), _mm512_set1_ps(hope.threshold));
    for at in (0..docs.len()).step_by(16) {
        let lanes = first(docs.len() - at);
        // SAFETY: only lanes below the slices' length are read. The byte of a range is the last of the four that are
        // read for it, and there are four before the first.
        unsafe {
            let doc = _mm512_maskz_loadu_epi32(lanes, docs.as_ptr().add(at).cast());
            let sum = _mm512_maskz_loadu_ps(lanes, sums.as_ptr().add(at));
            let mut best = _mm512_add_ps(sum, more);
            for reach in reaches {
                let shift = _mm_cvtsi32_si128(reach.shift.cast_signed());
                let last = _mm512_set1_epi32(reach.last.cast_signed());
                let range = _mm512_min_epu32(_mm512_srl_epi32(doc, shift), last);
                let place = _mm512_add_epi32(range, _mm512_set1_epi32(1));
                let code = _mm512_srli_epi32::<24>(_mm512_i32gather_epi32::<1>(place, reach.bytes.as_ptr().cast()));
                let there = _mm512_test_epi32_mask(code, code);
                let line = _mm512_mul_ps(_mm512_cvtepi32_ps(code), _mm512_set1_ps(reach.step));
                // the greatest first: what is more need not be a whole number of 32 bits
                let part = _mm512_min_ps(_mm512_add_ps(_mm512_set1_ps(reach.base), line), _mm512_set1_ps(reach.most));
                let part = _mm512_cvtepi32_ps(_mm512_cvttps_epi32(part));
                let part = _mm512_mask_mov_ps(_mm512_set1_ps(reach.lacking), there, part);
                best = _mm512_add_ps(best, part);
            }
            let some = _mm512_mask_cmp_ps_mask::<_CMP_GT_OQ>(lanes, best, threshold);
            append(some, doc, sum, (&mut *kept.0, &mut *kept.1));
        }
    }
}

/// # Safety
/// There are at most 64 sums.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
pub(in crate::query) unsafe fn mask(hope: Hope, sums: &[f32]) -> u64 {
    let (more, threshold) = (_mm512_set1_ps(hope.more), _mm512_set1_ps(hope.threshold));
    let mut bits = 0;
    for at in (0..sums.len()).step_by(16) {
        // SAFETY: only lanes below the slice's length are read.
        let sum = unsafe { _mm512_maskz_loadu_ps(first(sums.len() - at), sums.as_ptr().add(at)) };
        let best = _mm512_add_ps(sum, more);
        let some = _mm512_cmp_ps_mask::<_CMP_GT_OQ>(sum, _mm512_setzero_ps());
        bits |= u64::from(_mm512_mask_cmp_ps_mask::<_CMP_GT_OQ>(some, best, threshold)) << at;
    }
    bits
}
