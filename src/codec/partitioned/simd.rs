//! Decoding with AVX-512: the ones of 64 bits are found by one compression of the numbers 0 to 63, and eight fields of
//! any width by one permutation of bytes.

use std::arch::x86_64::*;

use super::decode::{Level, WINDOW, decode_as};
use super::*;

/// As [`super::decode::decode`], of two docIDs or more.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
pub(super) fn decode<const GAPS: bool>(words: &[u32], first: u32, out: &mut [u32]) -> Result<usize, CodecError> {
    decode_as::<GAPS, _>(Avx512(()), words, first, out)
}

/// Proof that the processor has what [`decode`] is compiled for: only [`decode`] makes one.
#[derive(Clone, Copy)]
struct Avx512(());

impl Level for Avx512 {
    #[inline(always)]
    fn positions(self, bits: u64, base: u16, out: &mut [u16; 64]) {
        // SAFETY: the processor has the features, of which `self` is the proof.
        unsafe { positions(bits, base, out) }
    }

    #[inline(always)]
    fn numbers<const GAPS: bool>(
        self,
        words: &[u32],
        low: usize,
        ones: &[u16],
        packed: bool,
        partition: &Partition,
        docs: &mut [u32],
    ) {
        // SAFETY: the processor has the features, of which `self` is the proof.
        unsafe { numbers::<GAPS>(words, low, ones, packed, partition, docs) }
    }
}

/// The bytes 0 to 63.
static BYTES: [u8; 64] = {
    let mut bytes = [0; 64];
    let mut i = 0;
    while i < 64 {
        bytes[i] = i as u8;
        i += 1;
    }
    bytes
};

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2")]
fn positions(bits: u64, base: u16, out: &mut [u16; 64]) {
    // SAFETY: 64 bytes are read.
    let bytes = unsafe { _mm512_loadu_epi8(BYTES.as_ptr().cast()) };
    let ones = _mm512_maskz_compress_epi8(bits, bytes);
    let base = _mm512_set1_epi16(base as i16);
    let lower = _mm512_add_epi16(_mm512_cvtepu8_epi16(_mm512_castsi512_si256(ones)), base);
    let upper = _mm512_add_epi16(_mm512_cvtepu8_epi16(_mm512_extracti64x4_epi64::<1>(ones)), base);
    // SAFETY: two times 32 slots of 64 are written.
    unsafe {
        _mm512_storeu_epi16(out.as_mut_ptr().cast(), lower);
        _mm512_storeu_epi16(out.as_mut_ptr().add(32).cast(), upper);
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2")]
fn numbers<const GAPS: bool>(words: &[u32], low: usize, ones: &[u16], packed: bool, p: &Partition, docs: &mut [u32]) {
    let bytes: &[u8] = bytemuck::cast_slice(words);
    let width = p.width;
    // Where the eight fields of a group start in it.
    let steps = _mm512_mullo_epi32(_mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0), _mm512_set1_epi64(width.into()));
    let mask = _mm512_set1_epi64((1i64 << width) - 1);
    let up = _mm_cvtsi32_si128(width as i32);
    let eight = _mm256_set1_epi32(8);
    let mut before = _mm256_set1_epi32(docs[p.start - 1] as i32);
    let mut high = _mm256_set1_epi32(ones[0].into());
    // Numbers of the group, counted from the docID `before`.
    let mut counts = _mm256_set_epi32(8, 7, 6, 5, 4, 3, 2, 1);
    let mut low = low;
    for (docs, i) in docs[p.start..p.end].chunks_mut(8).zip((1..).step_by(8)) {
        let window: &[u8; WINDOW] = bytes[low / 8..low / 8 + WINDOW].try_into().expect("as many bytes");
        let lows = fields(window, _mm512_add_epi64(steps, _mm512_set1_epi64((low % 8) as i64)), mask);
        low += 8 * width as usize;
        let lows = if GAPS { prefix_sums(lows) } else { lows };
        let mut found = _mm256_add_epi32(counts, lows);
        if !packed {
            let ones: &[u16; 8] = ones[i..i + 8].try_into().expect("as many slots");
            // SAFETY: eight numbers of 16 bits are read.
            let ones = _mm256_cvtepu16_epi32(unsafe { _mm_loadu_epi16(ones.as_ptr().cast()) });
            let zeros = _mm256_sub_epi32(_mm256_sub_epi32(ones, high), counts);
            found = _mm256_add_epi32(found, _mm256_sll_epi32(zeros, up));
            if GAPS {
                high = last_of(ones);
            }
        }
        let found = _mm256_add_epi32(found, before);
        if GAPS {
            before = last_of(found);
        } else {
            counts = _mm256_add_epi32(counts, eight);
        }
        let slots = (0xffu32 >> (8 - docs.len())) as __mmask8;
        // SAFETY: as many slots are written as `docs` has, 1 to 8.
        unsafe { _mm256_mask_storeu_epi32(docs.as_mut_ptr().cast(), slots, found) };
    }
}

/// Eight fields, each of the bits of `mask` from the bit of `window` on that stands in `at`, less than 256.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi")]
fn fields(window: &[u8; WINDOW], at: __m512i, mask: __m512i) -> __m256i {
    // SAFETY: only bytes of the window are read.
    let bytes = unsafe { _mm512_maskz_loadu_epi8((1 << WINDOW) - 1, window.as_ptr().cast()) };
    // The byte of each field's start, eight times, plus 0 to 7.
    let spread = _mm512_set4_epi32(0x0808_0808, 0x0808_0808, 0, 0);
    let start = _mm512_shuffle_epi8(_mm512_srli_epi64::<3>(at), spread);
    let index = _mm512_add_epi8(start, _mm512_set1_epi64(0x0706_0504_0302_0100));
    let loads = _mm512_permutexvar_epi8(index, bytes);
    let fields = _mm512_srlv_epi64(loads, _mm512_and_si512(at, _mm512_set1_epi64(7)));
    _mm512_cvtepi64_epi32(_mm512_and_si512(fields, mask))
}

#[inline]
#[target_feature(enable = "avx2")]
fn prefix_sums(values: __m256i) -> __m256i {
    let sums = _mm256_add_epi32(values, _mm256_slli_si256::<4>(values));
    let sums = _mm256_add_epi32(sums, _mm256_slli_si256::<8>(sums));
    // The lower half's sum to all of the upper one.
    let lower = _mm256_permutevar8x32_epi32(sums, _mm256_set1_epi32(3));
    _mm256_add_epi32(sums, _mm256_blend_epi32::<0xf0>(_mm256_setzero_si256(), lower))
}

#[inline]
#[target_feature(enable = "avx2")]
fn last_of(values: __m256i) -> __m256i {
    _mm256_permutevar8x32_epi32(values, _mm256_set1_epi32(7))
}
