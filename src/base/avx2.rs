//! Shared parts of inner loops in registers of 32 bytes: [`Level::Avx2`].

use super::simd::{Level, level};
use std::arch::x86_64::*;

/// Whether the processor has the features that these functions are compiled for.
#[inline]
pub fn available() -> bool {
    level() >= Level::Avx2
}

/// For each mask of eight lanes the numbers of the lanes that are set, in order, and zeros behind them.
static SET: [[u8; 8]; 256] = {
    let mut table = [[0; 8]; 256];
    let mut mask = 0;
    while mask < 256 {
        let (mut lane, mut n) = (0, 0);
        while lane < 8 {
            if mask >> lane & 1 == 1 {
                table[mask][n] = lane as u8;
                n += 1;
            }
            lane += 1;
        }
        mask += 1;
    }
    table
};

/// The lanes whose bits of `mask` are set, in front.
#[inline]
#[target_feature(enable = "avx2")]
pub fn compress(mask: u8, x: __m256i) -> __m256i {
    // SAFETY: eight bytes are there.
    let lanes = unsafe { _mm_loadl_epi64(SET[mask as usize].as_ptr().cast()) };
    _mm256_permutevar8x32_epi32(x, _mm256_cvtepu8_epi32(lanes))
}

/// Ones in the first `n` lanes.
#[inline]
#[target_feature(enable = "avx2")]
pub fn first(n: usize) -> __m256i {
    let lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    _mm256_cmpgt_epi32(_mm256_set1_epi32(n.min(8) as i32), lanes)
}

/// A bit for each lane that is all ones.
#[inline]
#[target_feature(enable = "avx2")]
pub fn bits(x: __m256i) -> u8 {
    _mm256_movemask_ps(_mm256_castsi256_ps(x)) as u8
}

/// Ones where `a` is at least `b`, as numbers without a sign.
#[inline]
#[target_feature(enable = "avx2")]
pub fn at_least(a: __m256i, b: __m256i) -> __m256i {
    _mm256_cmpeq_epi32(_mm256_max_epu32(a, b), a)
}

/// The eight numbers at `at`.
#[inline]
#[target_feature(enable = "avx2")]
pub fn load(numbers: &[u32; 8]) -> __m256i {
    // SAFETY: 32 bytes are there, and the load has no alignment to keep.
    unsafe { _mm256_loadu_si256(numbers.as_ptr().cast()) }
}

/// Of up to eight numbers those that are there, and zeros behind them.
#[inline]
#[target_feature(enable = "avx2")]
pub fn load_some(numbers: &[u32]) -> __m256i {
    match numbers.first_chunk() {
        Some(numbers) => load(numbers),
        // SAFETY: only lanes below the slice's length are read.
        None => unsafe { _mm256_maskload_epi32(numbers.as_ptr().cast(), first(numbers.len())) },
    }
}

/// Writes eight numbers.
#[inline]
#[target_feature(enable = "avx2")]
pub fn store(out: &mut [u32; 8], x: __m256i) {
    // SAFETY: 32 bytes are there, and the store has no alignment to keep.
    unsafe { _mm256_storeu_si256(out.as_mut_ptr().cast(), x) }
}

/// Numbers without a sign as floats, rounded once.
#[inline]
#[target_feature(enable = "avx2")]
pub fn floats(x: __m256i) -> __m256 {
    // The halves are exact, and so is the product.
    let high = _mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_srli_epi32(x, 16)), _mm256_set1_ps(65536.0));
    _mm256_add_ps(high, _mm256_cvtepi32_ps(_mm256_and_si256(x, _mm256_set1_epi32(0xffff))))
}

/// Widest fields that [`unpack`] takes: four of them, behind up to seven bits, begin in 13 bytes, and each lies in
/// four.
pub const NEAR: u32 = 25;

/// Words that [`unpack`] may read behind the one in which the last eight fields begin.
pub const BEHIND: usize = 11;

/// Unpacks eights of fields of `width` (1 to [`NEAR`]) bits from bit `at` on; [`BEHIND`] words follow.
#[target_feature(enable = "avx2")]
pub fn unpack(words: &[u32], at: usize, width: u32, out: &mut [[u32; 8]]) {
    debug_assert!((1..=NEAR).contains(&width), "fields in four bytes");
    let bytes: &[u8] = bytemuck::cast_slice(words);
    let half = at + 4 * width as usize;
    // Eight fields take whole bytes, so these hold for all eights.
    let starts = _mm256_mullo_epi32(_mm256_setr_epi32(0, 1, 2, 3, 0, 1, 2, 3), _mm256_set1_epi32(width as i32));
    let (low, high) = ((at % 8) as i32, (half % 8) as i32);
    let starts = _mm256_add_epi32(starts, _mm256_setr_epi32(low, low, low, low, high, high, high, high));
    let places = _mm256_mullo_epi32(_mm256_srli_epi32(starts, 3), _mm256_set1_epi32(0x0101_0101));
    let places = _mm256_add_epi8(places, _mm256_set1_epi32(0x0302_0100));
    let shifts = _mm256_and_si256(starts, _mm256_set1_epi32(7));
    let mask = _mm256_set1_epi32(((1u32 << width) - 1).cast_signed());
    let (mut low, mut high) = (at / 8, half / 8);
    let sixteen = |at: usize| -> __m128i {
        let bytes: &[u8; 16] = bytes[at..].first_chunk().expect("words behind the fields");
        // SAFETY: sixteen bytes are there, and the load has no alignment to keep.
        unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) }
    };
    for out in out {
        let fields = _mm256_shuffle_epi8(_mm256_set_m128i(sixteen(high), sixteen(low)), places);
        store(out, _mm256_and_si256(_mm256_srlv_epi32(fields, shifts), mask));
        (low, high) = (low + width as usize, high + width as usize);
    }
}
