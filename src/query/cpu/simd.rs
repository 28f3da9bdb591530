//! The inner loops: sixteen postings at a time where the processor can, one at a time elsewhere, with the same results
//! to the last bit.

use super::Bm25Scorer;
#[cfg(target_arch = "x86_64")]
use crate::base::avx512;

/// Writes the parts of postings (docID, frequency) of a term of this weight to `out`, all of one length.
#[inline(always)]
pub(in crate::query) fn score(scorer: &Bm25Scorer<'_>, weight: f32, docs: &[u32], tfs: &[u32], out: &mut [f32]) {
    assert!(docs.len() == tfs.len() && docs.len() == out.len());
    #[cfg(target_arch = "x86_64")]
    if avx512::available() && scorer.lens.len() <= i32::MAX as usize {
        // SAFETY: the processor has the features that the function is compiled for; the lengths were checked.
        return unsafe { wide::score(scorer, weight, docs, tfs, out) };
    }
    for ((part, &doc), &tf) in out.iter_mut().zip(docs).zip(tfs) {
        *part = scorer.share(weight, doc, tf);
    }
}

/// Puts into `room` the docIDs of postings with a frequency of at least `least`, and their parts.
#[inline(always)]
pub(in crate::query) fn promising(
    scorer: &Bm25Scorer<'_>,
    weight: f32,
    (docs, tfs): (&[u32], &[u32]),
    least: u32,
    (some, parts): (&mut Vec<u32>, &mut Vec<f32>),
) {
    assert_eq!(docs.len(), tfs.len());
    some.clear();
    parts.clear();
    if least <= 1 {
        some.extend_from_slice(docs);
        parts.resize(docs.len(), 0.0);
        return score(scorer, weight, docs, tfs, parts);
    }
    #[cfg(target_arch = "x86_64")]
    if avx512::available() {
        #[target_feature(enable = "avx512f,avx512bw,avx512vl,bmi1,bmi2,popcnt")]
        fn wide(
            scorer: &Bm25Scorer<'_>,
            weight: f32,
            postings: (&[u32], &[u32]),
            least: u32,
            room: (&mut Vec<u32>, &mut Vec<f32>),
        ) {
            sift(scorer, weight, postings, least, room);
        }
        // SAFETY: the processor has the features that the function is compiled for.
        return unsafe { wide(scorer, weight, (docs, tfs), least, (some, parts)) };
    }
    sift(scorer, weight, (docs, tfs), least, (some, parts));
}

#[inline(always)]
fn sift(
    scorer: &Bm25Scorer<'_>,
    weight: f32,
    (docs, tfs): (&[u32], &[u32]),
    least: u32,
    (some, parts): (&mut Vec<u32>, &mut Vec<f32>),
) {
    let (mut few, mut few_tfs) = ([0; CHUNK + 16], [0; CHUNK + 16]);
    for (docs, tfs) in docs.chunks(CHUNK).zip(tfs.chunks(CHUNK)) {
        let n = frequent(docs, tfs, least, &mut few, &mut few_tfs);
        let done = some.len();
        some.extend_from_slice(&few[..n]);
        parts.resize(done + n, 0.0);
        score(scorer, weight, &few[..n], &few_tfs[..n], &mut parts[done..]);
    }
}

/// Postings that [`frequent`] takes at a time.
pub(super) const CHUNK: usize = 128;

/// Copies postings with a frequency of at least `least` to the front of `few` and `few_tfs`, and returns how many there
/// are. What stands behind them may change.
#[inline(always)]
fn frequent(
    docs: &[u32],
    tfs: &[u32],
    least: u32,
    few: &mut [u32; CHUNK + 16],
    few_tfs: &mut [u32; CHUNK + 16],
) -> usize {
    assert!(docs.len() == tfs.len() && docs.len() <= CHUNK);
    #[cfg(target_arch = "x86_64")]
    if avx512::available() {
        // SAFETY: the processor has the features that the function is compiled for; the lengths were checked.
        return unsafe { wide::frequent(docs, tfs, least, few, few_tfs) };
    }
    let mut found = 0;
    for (&doc, &tf) in docs.iter().zip(tfs) {
        (few[found], few_tfs[found]) = (doc, tf);
        found += usize::from(tf >= least);
    }
    found
}

/// A test of sums: whether they can still pass a threshold.
#[derive(Clone, Copy)]
pub(in crate::query) struct Hope {
    /// The most that can be added.
    pub(in crate::query) more: f32,
    /// The value to pass.
    pub(in crate::query) threshold: f32,
}

impl Hope {
    /// Whether a sum can pass.
    #[inline]
    pub(in crate::query) fn has(self, sum: f32) -> bool {
        sum + self.more > self.threshold
    }

    /// One bit for each of up to 64 sums: whether it is more than 0 and can pass.
    #[inline(always)]
    pub(in crate::query) fn mask(self, sums: &[f32]) -> u64 {
        assert!(sums.len() <= 64);
        #[cfg(target_arch = "x86_64")]
        if avx512::available() {
            // SAFETY: the processor has the features that the function is compiled for; the length was checked.
            return unsafe { wide::mask(self, sums) };
        }
        let bits = (0..).zip(sums).map(|(i, &sum)| u64::from(sum > 0.0 && self.has(sum)) << i);
        bits.fold(0, |all, bit| all | bit)
    }
}

/// Up to [`CHUNK`] documents and their sums, with room for a register behind them.
pub(in crate::query) struct Few {
    pub(in crate::query) docs: [u32; CHUNK + 16],
    pub(in crate::query) sums: [f32; CHUNK + 16],
}

impl Default for Few {
    fn default() -> Self {
        Self { docs: [0; CHUNK + 16], sums: [0.0; CHUNK + 16] }
    }
}

impl Hope {
    /// Puts the first documents below `end` whose sums can pass into `few`: of [`CHUNK`] at most. Documents increase.
    /// Returns how many are below `end`, and how many of these can pass.
    #[inline(always)]
    pub(in crate::query) fn select(self, (docs, sums): (&[u32], &[f32]), end: u32, few: &mut Few) -> (usize, usize) {
        assert_eq!(docs.len(), sums.len());
        let (docs, sums) = (&docs[..docs.len().min(CHUNK)], &sums[..docs.len().min(CHUNK)]);
        #[cfg(target_arch = "x86_64")]
        if avx512::available() {
            // SAFETY: the processor has the features that the function is compiled for; the lengths were checked.
            return unsafe { wide::select(self, docs, sums, end, few) };
        }
        let (mut passed, mut n) = (0, 0);
        while passed < docs.len() && docs[passed] < end {
            (few.docs[n], few.sums[n]) = (docs[passed], sums[passed]);
            n += usize::from(self.has(sums[passed]));
            passed += 1;
        }
        (passed, n)
    }

    /// Appends the documents whose sums are more than 0 and can pass, with these sums.
    #[inline(always)]
    pub(in crate::query) fn keep(self, docs: &[u32], sums: &[f32], kept: (&mut Vec<u32>, &mut Vec<f32>)) {
        assert_eq!(docs.len(), sums.len());
        #[cfg(target_arch = "x86_64")]
        if avx512::available() {
            // SAFETY: the processor has the features that the function is compiled for; the lengths were checked.
            return unsafe { wide::keep(self, docs, sums, kept) };
        }
        for (&doc, &sum) in docs.iter().zip(sums) {
            if sum > 0.0 && self.has(sum) {
                kept.0.push(doc);
                kept.1.push(sum);
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod wide {
    use super::super::Bm25Scorer;
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
    pub(in crate::query) unsafe fn score(
        scorer: &Bm25Scorer<'_>,
        weight: f32,
        docs: &[u32],
        tfs: &[u32],
        out: &mut [f32],
    ) {
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

    /// # Safety
    /// There are as many sums as documents.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,popcnt")]
    pub(in crate::query) unsafe fn keep(hope: Hope, docs: &[u32], sums: &[f32], kept: (&mut Vec<u32>, &mut Vec<f32>)) {
        let (more, threshold) = (_mm512_set1_ps(hope.more), _mm512_set1_ps(hope.threshold));
        let (kept_docs, kept_sums) = kept;
        for at in (0..docs.len()).step_by(16) {
            let lanes = first(docs.len() - at);
            // Whole registers are written.
            kept_docs.reserve(16);
            kept_sums.reserve(16);
            let (doc_end, sum_end) = (kept_docs.len(), kept_sums.len());
            // SAFETY: only lanes below the slices' length are read; there is room for sixteen behind the vectors' ends,
            // and as many as become part of them were written.
            unsafe {
                let sum = _mm512_maskz_loadu_ps(lanes, sums.as_ptr().add(at));
                let doc = _mm512_maskz_loadu_epi32(lanes, docs.as_ptr().add(at).cast());
                let some = _mm512_cmp_ps_mask::<_CMP_GT_OQ>(sum, _mm512_setzero_ps());
                let some = _mm512_mask_cmp_ps_mask::<_CMP_GT_OQ>(some, _mm512_add_ps(sum, more), threshold);
                let (doc, sum) = (_mm512_maskz_compress_epi32(some, doc), _mm512_maskz_compress_ps(some, sum));
                _mm512_storeu_epi32(kept_docs.as_mut_ptr().add(doc_end).cast(), doc);
                _mm512_storeu_ps(kept_sums.as_mut_ptr().add(sum_end), sum);
                kept_docs.set_len(doc_end + some.count_ones() as usize);
                kept_sums.set_len(sum_end + some.count_ones() as usize);
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::score::bound::code_below;
    use crate::score::{Bound, BoundReader, Norm};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn test_wide_and_narrow_agree_to_the_last_bit(
            postings in proptest::collection::vec((0u32..80, prop_oneof![1u32..5, any::<u32>()]), 0..140),
            lens in proptest::collection::vec(prop_oneof![0u32..3000, any::<u32>()], 1..70),
            weight in prop_oneof![1u32..1000, 1u32..=1 << 22],
            k1 in 0f32..10.0,
            b in 0f32..=1.0,
            // whole numbers, too: sums that only just reach a threshold do not pass it
            more in prop_oneof![0f32..2.0, Just(0.0), Just(1.0)],
            threshold in prop_oneof![
                Just(f32::NEG_INFINITY),
                0f32..3.0,
                0f32..5e6,
                (0u32..300).prop_map(|threshold| threshold as f32)
            ],
        ) {
            let weight = weight as f32;
            let norm = Norm::new(k1, b, 10, 1000);
            let scorer = Bm25Scorer::new(&lens, norm, BoundReader::new(norm, norm, 3000));
            let (docs, tfs): (Vec<u32>, Vec<u32>) = postings.iter().copied().unzip();
            let mut parts = vec![0.0; docs.len()];
            score(&scorer, weight, &docs, &tfs, &mut parts);
            for (part, (doc, tf)) in parts.iter().zip(postings) {
                prop_assert_eq!(part.to_bits(), scorer.share(weight, doc, tf).to_bits());
            }
            let hope = Hope { more, threshold };
            let (docs_kept, sums_kept): (Vec<u32>, Vec<f32>) =
                docs.iter().zip(&parts).filter(|&(_, &sum)| sum > 0.0 && hope.has(sum)).unzip();
            let mut kept = (vec![7], vec![7.0]);
            hope.keep(&docs, &parts, (&mut kept.0, &mut kept.1));
            prop_assert_eq!((&kept.0[1..], &kept.1[1..]), (&docs_kept[..], &sums_kept[..]));
            // Those that are told by frequency alone never lack one with hope, and need not be scored.
            for len_min in [0, 7, lens.iter().copied().min().unwrap_or(0)] {
                let shortest = docs.iter().map(|&doc| lens.get(doc as usize).copied().unwrap_or(0)).min().unwrap_or(0);
                let bound = Bound::from_parts(code_below(shortest.min(len_min)), u32::MAX, 0xffff);
                let least = scorer.least_tf(weight, bound, hope);
                let (mut some, mut scores) = (vec![7], vec![7.0]);
                promising(&scorer, weight, (&docs, &tfs), least, (&mut some, &mut scores));
                let expected = docs.iter().zip(&tfs).zip(&parts).filter(|((_, tf), _)| **tf >= least);
                prop_assert!(some.iter().zip(&scores).eq(expected.map(|((doc, _), part)| (doc, part))));
                prop_assert!(tfs.iter().zip(&parts).all(|(&tf, &part)| tf >= least || !hope.has(part)), "{least}");
            }
            let mut few = Few::default();
            let mut sorted: Vec<(u32, f32)> = docs.iter().copied().zip(parts.iter().copied()).collect();
            sorted.sort_by_key(|pair| pair.0);
            let (in_order, sums): (Vec<u32>, Vec<f32>) = sorted.iter().copied().unzip();
            for end in [0, 40, 80] {
                let (passed, n) = hope.select((&in_order, &sums), end, &mut few);
                prop_assert_eq!(passed, in_order.iter().take(CHUNK).filter(|&&doc| doc < end).count());
                let expected = sorted[..passed].iter().filter(|pair| hope.has(pair.1));
                prop_assert!(expected.copied().eq(few.docs.into_iter().zip(few.sums).take(n)));
            }
            for sums in parts.chunks(61) {
                let bits = hope.mask(sums);
                for (i, &sum) in sums.iter().enumerate() {
                    prop_assert_eq!(bits >> i & 1 == 1, sum > 0.0 && hope.has(sum));
                }
                prop_assert_eq!(bits >> (sums.len() - 1) >> 1, 0);
            }
        }
    }
}
