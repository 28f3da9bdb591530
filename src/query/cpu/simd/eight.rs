//! Eight postings at a time, in registers of AVX2.

use super::super::Bm25Scorer;
use super::super::reach::Reach;
use super::{CHUNK, Few, Hope};
use crate::base::avx2::{at_least, bits, compress, first, floats, load_some, store};
use crate::score::whole::MAX_TF;
use std::arch::x86_64::*;

const NEAREST: i32 = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;

/// Sums as bits.
fn as_bits(sums: &[f32]) -> &[u32] {
    bytemuck::cast_slice(sums)
}

/// Ones where a sum can pass.
#[inline]
#[target_feature(enable = "avx2")]
fn passes(hope: Hope, sum: __m256) -> __m256i {
    let best = _mm256_add_ps(sum, _mm256_set1_ps(hope.more));
    _mm256_castps_si256(_mm256_cmp_ps::<_CMP_GT_OQ>(best, _mm256_set1_ps(hope.threshold)))
}

/// Ones where a sum is more than 0.
#[inline]
#[target_feature(enable = "avx2")]
fn positive(sum: __m256) -> __m256i {
    _mm256_castps_si256(_mm256_cmp_ps::<_CMP_GT_OQ>(sum, _mm256_setzero_ps()))
}

/// # Safety
/// The slices have one length; there are at most 2^31 - 1 lengths of documents.
#[inline]
#[target_feature(enable = "avx2,fma")]
pub(in crate::query) unsafe fn score(scorer: &Bm25Scorer<'_>, weight: f32, docs: &[u32], tfs: &[u32], out: &mut [f32]) {
    let base = _mm256_set1_ps(scorer.norm.base);
    let slope = _mm256_set1_ps(scorer.norm.slope);
    let (weight, one) = (_mm256_set1_ps(weight), _mm256_set1_ps(1.0));
    let most = _mm256_set1_epi32(MAX_TF.cast_signed());
    let documents = _mm256_set1_epi32((scorer.lens.len() as u32).cast_signed());
    for ((docs, tfs), out) in docs.chunks(8).zip(tfs.chunks(8)).zip(out.chunks_mut(8)) {
        let lanes = first(docs.len());
        let doc = load_some(docs);
        let known = _mm256_andnot_si256(at_least(doc, documents), lanes);
        let zero = _mm256_setzero_si256();
        // SAFETY: only lengths of existing docIDs are read.
        let len = unsafe { _mm256_mask_i32gather_epi32::<4>(zero, scorer.lens.as_ptr().cast(), doc, known) };
        let tf = _mm256_cvtepi32_ps(_mm256_min_epu32(load_some(tfs), most));
        let k = _mm256_add_ps(base, _mm256_mul_ps(slope, floats(len)));
        let (above, below) = (_mm256_mul_ps(weight, tf), _mm256_add_ps(tf, k));
        // The quotient of single precision may be rounded to the wrong whole number, but not by more than one; the
        // remainder, which one fused operation gives exactly, tells.
        let near = _mm256_round_ps::<NEAREST>(_mm256_div_ps(above, below));
        let rest = _mm256_fnmadd_ps(near, below, above);
        let twice = _mm256_add_ps(rest, rest);
        let low = _mm256_cmp_ps::<_CMP_GE_OQ>(twice, below);
        let high = _mm256_cmp_ps::<_CMP_LT_OQ>(twice, _mm256_sub_ps(_mm256_setzero_ps(), below));
        // never both
        let off = _mm256_sub_ps(_mm256_and_ps(low, one), _mm256_and_ps(high, one));
        let share = _mm256_max_ps(_mm256_add_ps(near, off), one);
        // SAFETY: only lanes below the slice's length are written.
        unsafe { _mm256_maskstore_ps(out.as_mut_ptr(), lanes, share) };
    }
}

/// # Safety
/// There are as many frequencies as documents, [`super::CHUNK`] at most.
#[inline]
#[target_feature(enable = "avx2,popcnt")]
pub(in crate::query) unsafe fn frequent(
    docs: &[u32],
    tfs: &[u32],
    least: u32,
    few: &mut [u32; CHUNK + 16],
    few_tfs: &mut [u32; CHUNK + 16],
) -> usize {
    let least = _mm256_set1_epi32(least.cast_signed());
    let mut found = 0;
    for (docs, tfs) in docs.chunks(8).zip(tfs.chunks(8)) {
        let (doc, tf) = (load_some(docs), load_some(tfs));
        let some = bits(_mm256_and_si256(first(docs.len()), at_least(tf, least)));
        // As many as `CHUNK` were found at most, and there is room for sixteen behind them.
        store(few[found..].first_chunk_mut().expect("room for a register"), compress(some, doc));
        store(few_tfs[found..].first_chunk_mut().expect("room for a register"), compress(some, tf));
        found += some.count_ones() as usize;
    }
    found
}

/// # Safety
/// There are as many sums as documents, [`super::CHUNK`] at most.
#[inline]
#[target_feature(enable = "avx2,popcnt")]
pub(in crate::query) unsafe fn select(
    hope: Hope,
    docs: &[u32],
    sums: &[f32],
    end: u32,
    few: &mut Few,
) -> (usize, usize) {
    let end = _mm256_set1_epi32(end.cast_signed());
    let few_sums: &mut [u32] = bytemuck::cast_slice_mut(&mut few.sums);
    let (mut passed, mut n) = (0, 0);
    for (docs, sums) in docs.chunks(8).zip(as_bits(sums).chunks(8)) {
        let (doc, sum) = (load_some(docs), load_some(sums));
        let inside = _mm256_andnot_si256(at_least(doc, end), first(docs.len()));
        let some = bits(_mm256_and_si256(inside, passes(hope, _mm256_castsi256_ps(sum))));
        store(few.docs[n..].first_chunk_mut().expect("room for a register"), compress(some, doc));
        store(few_sums[n..].first_chunk_mut().expect("room for a register"), compress(some, sum));
        let inside = bits(inside).count_ones() as usize;
        passed += inside;
        n += some.count_ones() as usize;
        if inside < 8 {
            break;
        }
    }
    (passed, n)
}

/// Appends the documents and sums, as bits, of some lanes.
#[inline]
#[target_feature(enable = "avx2,popcnt")]
fn append(some: u8, doc: __m256i, sum: __m256i, (docs, sums): (&mut Vec<u32>, &mut Vec<f32>)) {
    // Whole registers are written.
    docs.reserve(8);
    sums.reserve(8);
    let (doc_end, sum_end) = (docs.len(), sums.len());
    // SAFETY: there is room for eight behind the vectors' ends, and as many as become part of them were written.
    unsafe {
        _mm256_storeu_si256(docs.as_mut_ptr().add(doc_end).cast(), compress(some, doc));
        _mm256_storeu_si256(sums.as_mut_ptr().add(sum_end).cast(), compress(some, sum));
        docs.set_len(doc_end + some.count_ones() as usize);
        sums.set_len(sum_end + some.count_ones() as usize);
    }
}

/// # Safety
/// There are as many sums as documents.
#[inline]
#[target_feature(enable = "avx2,popcnt")]
pub(in crate::query) unsafe fn keep(hope: Hope, docs: &[u32], sums: &[f32], kept: (&mut Vec<u32>, &mut Vec<f32>)) {
    for (docs, sums) in docs.chunks(8).zip(as_bits(sums).chunks(8)) {
        let (doc, sum) = (load_some(docs), load_some(sums));
        let float = _mm256_castsi256_ps(sum);
        // Missing sums are 0.
        let some = bits(_mm256_and_si256(positive(float), passes(hope, float)));
        append(some, doc, sum, (&mut *kept.0, &mut *kept.1));
    }
}

/// # Safety
/// There are as many sums as documents, and four bytes and one more for each range.
#[inline]
#[target_feature(enable = "avx2,popcnt")]
pub(in crate::query) unsafe fn reachable(
    reaches: &[Reach<'_>],
    hope: Hope,
    docs: &[u32],
    sums: &[f32],
    kept: (&mut Vec<u32>, &mut Vec<f32>),
) {
    let (more, threshold) = (_mm256_set1_ps(hope.more), _mm256_set1_ps(hope.threshold));
    for (docs, sums) in docs.chunks(8).zip(as_bits(sums).chunks(8)) {
        let (doc, sum) = (load_some(docs), load_some(sums));
        let mut best = _mm256_add_ps(_mm256_castsi256_ps(sum), more);
        for reach in reaches {
            let shift = _mm_cvtsi32_si128(reach.shift.cast_signed());
            let last = _mm256_set1_epi32(reach.last.cast_signed());
            let range = _mm256_min_epu32(_mm256_srl_epi32(doc, shift), last);
            let place = _mm256_add_epi32(range, _mm256_set1_epi32(1));
            // SAFETY: the byte of a range is the last of the four that are read for it, and there are four before the
            // first.
            let four = unsafe { _mm256_i32gather_epi32::<1>(reach.bytes.as_ptr().cast(), place) };
            let code = _mm256_srli_epi32::<24>(four);
            let none = _mm256_castsi256_ps(_mm256_cmpeq_epi32(code, _mm256_setzero_si256()));
            let line = _mm256_mul_ps(_mm256_cvtepi32_ps(code), _mm256_set1_ps(reach.step));
            // the greatest first: what is more need not be a whole number of 32 bits
            let part = _mm256_min_ps(_mm256_add_ps(_mm256_set1_ps(reach.base), line), _mm256_set1_ps(reach.most));
            let part = _mm256_cvtepi32_ps(_mm256_cvttps_epi32(part));
            best = _mm256_add_ps(best, _mm256_blendv_ps(part, _mm256_set1_ps(reach.lacking), none));
        }
        let passes = _mm256_castps_si256(_mm256_cmp_ps::<_CMP_GT_OQ>(best, threshold));
        let some = bits(_mm256_and_si256(first(docs.len()), passes));
        append(some, doc, sum, (&mut *kept.0, &mut *kept.1));
    }
}

/// # Safety
/// There are at most 64 sums.
#[inline]
#[target_feature(enable = "avx2")]
pub(in crate::query) unsafe fn mask(hope: Hope, sums: &[f32]) -> u64 {
    let chunks = as_bits(sums).chunks(8).map(|sums| {
        let sum = _mm256_castsi256_ps(load_some(sums));
        u64::from(bits(_mm256_and_si256(positive(sum), passes(hope, sum))))
    });
    (0..).zip(chunks).fold(0, |all, (i, some)| all | some << (8 * i))
}
