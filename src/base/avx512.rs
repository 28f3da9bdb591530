//! Shared parts of decoders in 64-byte registers: AVX-512 with byte permutations, [`Level::Avx512`].

use super::simd::{Level, level};
use std::arch::x86_64::*;

/// Whether the processor has the features that these functions are compiled for.
#[inline]
pub fn available() -> bool {
    level() == Level::Avx512
}

/// A register in memory.
#[repr(align(64))]
pub struct Bytes(pub [u8; 64]);

impl Bytes {
    /// Byte `i` is `first + i / every`, modulo 256.
    pub const fn steps(first: i32, every: i32) -> Self {
        let mut bytes = [0; 64];
        let mut i = 0;
        while i < 64 {
            bytes[i as usize] = (first + i / every) as u8;
            i += 1;
        }
        Self(bytes)
    }

    /// The register.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub fn load(&self) -> __m512i {
        // SAFETY: 64 bytes, aligned.
        unsafe { _mm512_load_si512(self.0.as_ptr().cast()) }
    }
}

/// The 64 bytes from byte `at` on, which must exist.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
pub fn load(bytes: &[u8], at: usize) -> __m512i {
    let bytes: &[u8; 64] = bytes[at..].first_chunk().expect("words behind the block");
    // SAFETY: 64 bytes are there, and the load has no alignment to keep.
    unsafe { _mm512_loadu_epi8(bytes.as_ptr().cast()) }
}

/// Writes sixteen docIDs.
#[inline]
#[target_feature(enable = "avx512f")]
pub fn store(out: &mut [u32; 16], docs: __m512i) {
    // SAFETY: sixteen words are there, and the store has no alignment to keep.
    unsafe { _mm512_storeu_epi32(out.as_mut_ptr().cast(), docs) }
}

/// The numbers of the sixteen lanes.
#[inline]
#[target_feature(enable = "avx512f")]
pub fn lanes() -> __m512i {
    _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
}

/// Takes sixteen neighbouring fields of one width out of a row of bits. The first starts at any bit of a byte.
pub struct Fields {
    /// For each byte of a lane, the place of its source byte.
    places: __m512i,
    /// How many bits of its first byte precede the field.
    shifts: __m512i,
    /// Ones where a field has bits.
    pub mask: __m512i,
}

impl Fields {
    /// Widths up to this one fit four bytes, wherever they start; wider ones are [`Self::get`] with `FAR`.
    pub const NEAR: u32 = 25;

    /// Fields of `width` (0 to 32) bits, the first of which starts at bit `bit` (0 to 7).
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    pub fn new(bit: usize, width: u32) -> Self {
        let starts = _mm512_mullo_epi32(lanes(), _mm512_set1_epi32(width as i32));
        let starts = _mm512_add_epi32(starts, _mm512_set1_epi32(bit as i32));
        Self {
            places: four_from(_mm512_srli_epi32(starts, 3)),
            shifts: _mm512_and_si512(starts, _mm512_set1_epi32(7)),
            mask: _mm512_set1_epi32(((1u64 << width) - 1) as i32),
        }
    }

    /// The fields of up to [`Self::NEAR`] bits whose bytes start in a register, with any other bits above them.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
    pub fn near(&self, bytes: __m512i) -> __m512i {
        _mm512_srlv_epi32(_mm512_permutexvar_epi8(self.places, bytes), self.shifts)
    }

    /// The fields from byte `at` on, with any other bits above them. Bytes past the end count as zeros.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2")]
    pub fn get<const FAR: bool>(&self, bytes: &[u8], at: usize) -> __m512i {
        let near = _mm512_permutexvar_epi8(self.places, load_some(bytes, at));
        if FAR {
            let far = _mm512_permutexvar_epi8(self.places, load_some(bytes, at + 4));
            _mm512_shrdv_epi32(near, far, self.shifts)
        } else {
            _mm512_srlv_epi32(near, self.shifts)
        }
    }
}

/// The 64 bytes from byte `at` on; missing bytes are zeros.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
pub fn load_some(bytes: &[u8], at: usize) -> __m512i {
    let bytes = &bytes[at.min(bytes.len())..];
    // SAFETY: only bytes that are there are read, and the load has no alignment to keep.
    unsafe { _mm512_maskz_loadu_epi8(ones(bytes.len()), bytes.as_ptr().cast()) }
}

/// `n` ones of 64 bits, from bit 0 on.
#[inline]
pub fn ones(n: usize) -> u64 {
    if n < 64 { (1 << n) - 1 } else { u64::MAX }
}

/// Inclusive prefix sums of the lanes.
#[inline]
#[target_feature(enable = "avx512f")]
pub fn running(x: __m512i) -> __m512i {
    let zero = _mm512_setzero_si512();
    let x = _mm512_add_epi32(x, _mm512_alignr_epi32(x, zero, 15));
    let x = _mm512_add_epi32(x, _mm512_alignr_epi32(x, zero, 14));
    let x = _mm512_add_epi32(x, _mm512_alignr_epi32(x, zero, 12));
    _mm512_add_epi32(x, _mm512_alignr_epi32(x, zero, 8))
}

/// [`crate::codec::strictly_increasing`].
#[target_feature(enable = "avx512f,avx512bw")]
pub fn strictly_increasing(docs: &[u32]) -> bool {
    let mut wrong = 0;
    for pairs in docs.windows(17).step_by(16) {
        // SAFETY: seventeen numbers are there, and the loads have no alignment to keep.
        let (a, b) =
            unsafe { (_mm512_loadu_epi32(pairs.as_ptr().cast()), _mm512_loadu_epi32(pairs.as_ptr().add(1).cast())) };
        wrong |= _mm512_cmpge_epu32_mask(a, b);
    }
    let rest = &docs[docs.len().saturating_sub(1) / 16 * 16..];
    wrong == 0 && rest.windows(2).fold(true, |ok, pair| ok & (pair[0] < pair[1]))
}

/// The last lane in every lane.
#[inline]
#[target_feature(enable = "avx512f")]
pub fn last(x: __m512i) -> __m512i {
    _mm512_permutexvar_epi32(_mm512_set1_epi32(15), x)
}

/// For each lane, the indexes of four bytes: the lane's number, at most 252, and the next three.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
pub fn four_from(x: __m512i) -> __m512i {
    let lowest_byte = _mm512_set4_epi32(0x0c0c_0c0c, 0x0808_0808, 0x0404_0404, 0);
    _mm512_add_epi8(_mm512_shuffle_epi8(x, lowest_byte), _mm512_set1_epi32(0x0302_0100))
}

/// Finds `value` among `n` (at most 128) fields of up to [`Fields::NEAR`] bits that start at bit `at`: the place of the
/// first match. Missing words count as zeros.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2")]
pub fn place_of(words: &[u32], at: usize, width: u32, n: usize, value: u32) -> Option<usize> {
    let bytes = bytemuck::cast_slice(words);
    let fields = Fields::new(at % 8, width);
    let value = _mm512_set1_epi32(value.cast_signed());
    let mut found = 0u128;
    for i in 0..n.div_ceil(16) {
        let here = _mm512_and_si512(fields.get::<false>(bytes, at / 8 + 2 * width as usize * i), fields.mask);
        found |= u128::from(_mm512_cmpeq_epi32_mask(here, value)) << (16 * i);
    }
    let place = found.trailing_zeros() as usize;
    (place < n).then_some(place)
}

/// [`crate::base::bits::unpack`] for fields within the words, of 1 to 32 bits.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2")]
pub fn unpack(words: &[u32], at: usize, width: u32, out: &mut [[u32; 16]]) {
    let bytes = bytemuck::cast_slice(words);
    let fields = Fields::new(at % 8, width);
    for (i, out) in out.iter_mut().enumerate() {
        let at = at / 8 + 2 * width as usize * i;
        let found = match width {
            0..=Fields::NEAR => fields.get::<false>(bytes, at),
            _ => fields.get::<true>(bytes, at),
        };
        store(out, _mm512_and_si512(found, fields.mask));
    }
}
