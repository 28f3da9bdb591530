//! What decoders in registers of 64 bytes share: AVX-512 with its byte permutations (Intel since Ice Lake, AMD since Zen 4).

use std::arch::x86_64::{__m512i, _mm512_load_si512, _mm512_loadu_epi8, _mm512_setr_epi32, _mm512_storeu_epi32};

/// Whether the processor has every feature that decoders enable.
pub fn available() -> bool {
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512vbmi")
        && is_x86_feature_detected!("avx512vbmi2")
        && is_x86_feature_detected!("avx512vnni")
        && is_x86_feature_detected!("popcnt")
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

/// The 64 bytes from byte `at` on, which are there.
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
