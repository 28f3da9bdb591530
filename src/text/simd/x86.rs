//! The x86-64 levels of [`Simd`].

use super::{Simd, positions_ladder, prefix_xor_ladder};
use std::arch::x86_64::*;

/// Carry-less multiplication by all ones is the prefix parity.
#[inline(always)]
unsafe fn prefix_xor_clmul(mask: u64) -> u64 {
    // SAFETY: the caller has PCLMULQDQ.
    unsafe {
        let product = _mm_clmulepi64_si128(_mm_set_epi64x(0, mask.cast_signed()), _mm_set1_epi8(-1), 0);
        _mm_cvtsi128_si64(product).cast_unsigned()
    }
}

/// See [`Simd::name_len`]: a byte ends a name if it is the one that the table has for its low four bits.
#[inline(always)]
unsafe fn name_len_ssse3(from: *const u8) -> usize {
    const ENDS: [u8; 16] = [b' ', 0, 0, 0, 0, 0, 0, 0, 0, b'\t', b'\n', 0, 0x0c, b'\r', b'>', b'/'];
    // SAFETY: the caller has 16 bytes to read, and SSSE3.
    unsafe {
        let bytes = _mm_loadu_si128(from.cast());
        let ends = _mm_shuffle_epi8(_mm_loadu_si128(ENDS.as_ptr().cast()), bytes);
        (_mm_movemask_epi8(_mm_cmpeq_epi8(ends, bytes)) | 1 << 16).trailing_zeros() as usize
    }
}

/// The numbers from 0 to 63.
const IOTA: [u8; 64] = {
    let mut iota = [0; 64];
    let mut i = 0;
    while i < 64 {
        iota[i] = i as u8;
        i += 1;
    }
    iota
};

/// AVX-512 F, BW, VL, VBMI2.
pub(crate) struct Avx512;

impl Simd for Avx512 {
    type Block = __m512i;
    type Half = __m256i;
    #[inline(always)]
    unsafe fn load(from: *const u8) -> __m512i {
        // SAFETY: 64 readable bytes, by the trait's contract.
        unsafe { _mm512_loadu_si512(from.cast()) }
    }
    #[inline(always)]
    unsafe fn store(block: __m512i, to: *mut u8) {
        // SAFETY: 64 writable bytes, by the trait's contract.
        unsafe { _mm512_storeu_si512(to.cast(), block) }
    }
    #[inline(always)]
    unsafe fn eq(block: __m512i, byte: u8) -> u64 {
        // SAFETY: the level's instructions are there, by the trait's contract.
        unsafe { _mm512_cmpeq_epi8_mask(block, _mm512_set1_epi8(byte.cast_signed())) }
    }
    #[inline(always)]
    unsafe fn le(block: __m512i, byte: u8) -> u64 {
        // SAFETY: as in `eq`.
        unsafe { _mm512_cmple_epu8_mask(block, _mm512_set1_epi8(byte.cast_signed())) }
    }
    #[inline(always)]
    unsafe fn high(block: __m512i) -> u64 {
        // SAFETY: as in `eq`.
        unsafe { _mm512_movepi8_mask(block) }
    }
    #[inline(always)]
    unsafe fn alnum(block: __m512i) -> u64 {
        // SAFETY: as in `eq`.
        unsafe {
            let letter = _mm512_sub_epi8(_mm512_or_si512(block, _mm512_set1_epi8(0x20)), _mm512_set1_epi8(0x61));
            let digit = _mm512_sub_epi8(block, _mm512_set1_epi8(0x30));
            _mm512_cmple_epu8_mask(letter, _mm512_set1_epi8(25)) | _mm512_cmple_epu8_mask(digit, _mm512_set1_epi8(9))
        }
    }
    #[inline(always)]
    unsafe fn lower(block: __m512i) -> __m512i {
        // SAFETY: as in `eq`.
        unsafe {
            let capital = _mm512_sub_epi8(block, _mm512_set1_epi8(0x41));
            let capital = _mm512_cmple_epu8_mask(capital, _mm512_set1_epi8(25));
            _mm512_mask_add_epi8(block, capital, block, _mm512_set1_epi8(0x20))
        }
    }
    #[inline(always)]
    unsafe fn load_half(from: *const u8) -> __m256i {
        // SAFETY: 32 readable bytes, by the trait's contract.
        unsafe { _mm256_loadu_si256(from.cast()) }
    }
    #[inline(always)]
    unsafe fn store_half(half: __m256i, to: *mut u8) {
        // SAFETY: 32 writable bytes, by the trait's contract.
        unsafe { _mm256_storeu_si256(to.cast(), half) }
    }
    #[inline(always)]
    unsafe fn half_eq(half: __m256i, byte: u8) -> u32 {
        // SAFETY: as in `eq`.
        unsafe { _mm256_cmpeq_epi8_mask(half, _mm256_set1_epi8(byte.cast_signed())) }
    }
    #[inline(always)]
    unsafe fn half_le(half: __m256i, byte: u8) -> u32 {
        // SAFETY: as in `eq`.
        unsafe { _mm256_cmple_epu8_mask(half, _mm256_set1_epi8(byte.cast_signed())) }
    }
    #[inline(always)]
    unsafe fn name_len(from: *const u8) -> usize {
        // SAFETY: 16 readable bytes and the instructions, by the trait's contract.
        unsafe { name_len_ssse3(from) }
    }
    #[inline(always)]
    unsafe fn prefix_xor(mask: u64) -> u64 {
        // SAFETY: as in `eq`.
        unsafe { prefix_xor_clmul(mask) }
    }
    #[inline(always)]
    unsafe fn positions(mask: u64, base: u32, to: *mut u32) {
        // SAFETY: room for 64, by the trait's contract.
        unsafe {
            let found = _mm512_maskz_compress_epi8(mask, _mm512_loadu_si512(IOTA.as_ptr().cast()));
            let base = _mm512_set1_epi32(base.cast_signed());
            let write = |i: usize, sixteen: __m128i| {
                _mm512_storeu_si512(to.add(16 * i).cast(), _mm512_add_epi32(_mm512_cvtepu8_epi32(sixteen), base));
            };
            // More than 16 bits are rare where they are tags, more than 32 where they are words.
            write(0, _mm512_castsi512_si128(found));
            if mask.count_ones() > 16 {
                write(1, _mm512_extracti32x4_epi32::<1>(found));
            }
            if mask.count_ones() > 32 {
                write(2, _mm512_extracti32x4_epi32::<2>(found));
                write(3, _mm512_extracti32x4_epi32::<3>(found));
            }
        }
    }
}

/// AVX2 and PCLMULQDQ.
pub(crate) struct Avx2;

impl Avx2 {
    /// All ones in the bytes from `first` to `last`, unsigned.
    #[inline(always)]
    unsafe fn within(part: __m256i, first: u8, last: u8) -> __m256i {
        // SAFETY: the level's instructions are there, by the trait's contract.
        unsafe {
            let offset = _mm256_sub_epi8(part, _mm256_set1_epi8(first.cast_signed()));
            _mm256_cmpeq_epi8(_mm256_min_epu8(offset, _mm256_set1_epi8((last - first).cast_signed())), offset)
        }
    }

    /// The masks of two halves, together.
    #[inline(always)]
    unsafe fn masks(low: __m256i, high: __m256i) -> u64 {
        // SAFETY: as in `within`.
        unsafe {
            let low = u64::from(_mm256_movemask_epi8(low).cast_unsigned());
            low | u64::from(_mm256_movemask_epi8(high).cast_unsigned()) << 32
        }
    }

    /// All ones in ASCII letters and digits.
    #[inline(always)]
    unsafe fn half_alnum(half: __m256i) -> __m256i {
        // SAFETY: as in `within`.
        unsafe {
            let small = _mm256_or_si256(half, _mm256_set1_epi8(0x20));
            _mm256_or_si256(Self::within(small, b'a', b'z'), Self::within(half, b'0', b'9'))
        }
    }

    /// ASCII capitals made small.
    #[inline(always)]
    unsafe fn half_lower(half: __m256i) -> __m256i {
        // SAFETY: as in `within`.
        unsafe {
            let bit = _mm256_and_si256(Self::within(half, b'A', b'Z'), _mm256_set1_epi8(0x20));
            _mm256_or_si256(half, bit)
        }
    }
}

impl Simd for Avx2 {
    type Block = [__m256i; 2];
    type Half = __m256i;
    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self::Block {
        // SAFETY: 64 readable bytes, by the trait's contract.
        unsafe { [_mm256_loadu_si256(from.cast()), _mm256_loadu_si256(from.add(32).cast())] }
    }
    #[inline(always)]
    unsafe fn store(block: Self::Block, to: *mut u8) {
        // SAFETY: 64 writable bytes, by the trait's contract.
        unsafe {
            _mm256_storeu_si256(to.cast(), block[0]);
            _mm256_storeu_si256(to.add(32).cast(), block[1]);
        }
    }
    #[inline(always)]
    unsafe fn eq(block: Self::Block, byte: u8) -> u64 {
        // SAFETY: the level's instructions are there, by the trait's contract.
        unsafe {
            let byte = _mm256_set1_epi8(byte.cast_signed());
            Self::masks(_mm256_cmpeq_epi8(block[0], byte), _mm256_cmpeq_epi8(block[1], byte))
        }
    }
    #[inline(always)]
    unsafe fn le(block: Self::Block, byte: u8) -> u64 {
        // SAFETY: as in `eq`.
        unsafe { Self::masks(Self::within(block[0], 0, byte), Self::within(block[1], 0, byte)) }
    }
    #[inline(always)]
    unsafe fn high(block: Self::Block) -> u64 {
        // SAFETY: as in `eq`.
        unsafe { Self::masks(block[0], block[1]) }
    }
    #[inline(always)]
    unsafe fn alnum(block: Self::Block) -> u64 {
        // SAFETY: as in `eq`.
        unsafe { Self::masks(Self::half_alnum(block[0]), Self::half_alnum(block[1])) }
    }
    #[inline(always)]
    unsafe fn lower(block: Self::Block) -> Self::Block {
        // SAFETY: as in `eq`.
        unsafe { [Self::half_lower(block[0]), Self::half_lower(block[1])] }
    }
    #[inline(always)]
    unsafe fn load_half(from: *const u8) -> __m256i {
        // SAFETY: 32 readable bytes, by the trait's contract.
        unsafe { _mm256_loadu_si256(from.cast()) }
    }
    #[inline(always)]
    unsafe fn store_half(half: __m256i, to: *mut u8) {
        // SAFETY: 32 writable bytes, by the trait's contract.
        unsafe { _mm256_storeu_si256(to.cast(), half) }
    }
    #[inline(always)]
    unsafe fn half_eq(half: __m256i, byte: u8) -> u32 {
        // SAFETY: as in `eq`.
        unsafe { _mm256_movemask_epi8(_mm256_cmpeq_epi8(half, _mm256_set1_epi8(byte.cast_signed()))).cast_unsigned() }
    }
    #[inline(always)]
    unsafe fn half_le(half: __m256i, byte: u8) -> u32 {
        // SAFETY: as in `eq`.
        unsafe { _mm256_movemask_epi8(Self::within(half, 0, byte)).cast_unsigned() }
    }
    #[inline(always)]
    unsafe fn name_len(from: *const u8) -> usize {
        // SAFETY: 16 readable bytes and the instructions, by the trait's contract.
        unsafe { name_len_ssse3(from) }
    }
    #[inline(always)]
    unsafe fn prefix_xor(mask: u64) -> u64 {
        // SAFETY: as in `eq`.
        unsafe { prefix_xor_clmul(mask) }
    }
    #[inline(always)]
    unsafe fn positions(mask: u64, base: u32, to: *mut u32) {
        // SAFETY: room for 64, by the trait's contract.
        unsafe { positions_ladder(mask, base, to) }
    }
}

/// x86-64 baseline.
pub(crate) struct Sse2;

impl Sse2 {
    /// All ones in the bytes from `first` to `last`, unsigned.
    #[inline(always)]
    unsafe fn within(part: __m128i, first: u8, last: u8) -> __m128i {
        // SAFETY: the level's instructions are there, by the trait's contract.
        unsafe {
            let offset = _mm_sub_epi8(part, _mm_set1_epi8(first.cast_signed()));
            _mm_cmpeq_epi8(_mm_min_epu8(offset, _mm_set1_epi8((last - first).cast_signed())), offset)
        }
    }

    #[inline(always)]
    unsafe fn mask<const N: usize>(block: [__m128i; N], class: impl Fn(__m128i) -> __m128i) -> u64 {
        let mut mask = 0;
        for (i, part) in block.into_iter().enumerate() {
            // SAFETY: as in `within`.
            let bits = unsafe { _mm_movemask_epi8(class(part)) };
            mask |= u64::from(bits.cast_unsigned()) << (16 * i);
        }
        mask
    }
}

impl Simd for Sse2 {
    type Block = [__m128i; 4];
    type Half = [__m128i; 2];
    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self::Block {
        // SAFETY: 64 readable bytes, by the trait's contract.
        unsafe {
            [
                _mm_loadu_si128(from.cast()),
                _mm_loadu_si128(from.add(16).cast()),
                _mm_loadu_si128(from.add(32).cast()),
                _mm_loadu_si128(from.add(48).cast()),
            ]
        }
    }
    #[inline(always)]
    unsafe fn store(block: Self::Block, to: *mut u8) {
        for (i, part) in block.into_iter().enumerate() {
            // SAFETY: 64 writable bytes, by the trait's contract.
            unsafe { _mm_storeu_si128(to.add(16 * i).cast(), part) }
        }
    }
    #[inline(always)]
    unsafe fn eq(block: Self::Block, byte: u8) -> u64 {
        // SAFETY: the level's instructions are there, by the trait's contract.
        unsafe { Self::mask(block, |part| _mm_cmpeq_epi8(part, _mm_set1_epi8(byte.cast_signed()))) }
    }
    #[inline(always)]
    unsafe fn le(block: Self::Block, byte: u8) -> u64 {
        // SAFETY: as in `eq`.
        unsafe { Self::mask(block, |part| Self::within(part, 0, byte)) }
    }
    #[inline(always)]
    unsafe fn high(block: Self::Block) -> u64 {
        // SAFETY: as in `eq`.
        unsafe { Self::mask(block, |part| part) }
    }
    #[inline(always)]
    unsafe fn alnum(block: Self::Block) -> u64 {
        // SAFETY: as in `eq`.
        unsafe {
            Self::mask(block, |part| {
                let small = _mm_or_si128(part, _mm_set1_epi8(0x20));
                _mm_or_si128(Self::within(small, b'a', b'z'), Self::within(part, b'0', b'9'))
            })
        }
    }
    #[inline(always)]
    unsafe fn lower(block: Self::Block) -> Self::Block {
        // SAFETY: as in `eq`.
        block.map(|part| unsafe {
            _mm_or_si128(part, _mm_and_si128(Self::within(part, b'A', b'Z'), _mm_set1_epi8(0x20)))
        })
    }
    #[inline(always)]
    unsafe fn load_half(from: *const u8) -> Self::Half {
        // SAFETY: 32 readable bytes, by the trait's contract.
        unsafe { [_mm_loadu_si128(from.cast()), _mm_loadu_si128(from.add(16).cast())] }
    }
    #[inline(always)]
    unsafe fn store_half(half: Self::Half, to: *mut u8) {
        // SAFETY: 32 writable bytes, by the trait's contract.
        unsafe {
            _mm_storeu_si128(to.cast(), half[0]);
            _mm_storeu_si128(to.add(16).cast(), half[1]);
        }
    }
    #[inline(always)]
    unsafe fn half_eq(half: Self::Half, byte: u8) -> u32 {
        // SAFETY: as in `eq`.
        unsafe { Self::mask(half, |part| _mm_cmpeq_epi8(part, _mm_set1_epi8(byte.cast_signed()))) as u32 }
    }
    #[inline(always)]
    unsafe fn half_le(half: Self::Half, byte: u8) -> u32 {
        // SAFETY: as in `eq`.
        unsafe { Self::mask(half, |part| Self::within(part, 0, byte)) as u32 }
    }
    #[inline(always)]
    unsafe fn name_len(from: *const u8) -> usize {
        // SAFETY: 16 readable bytes, by the trait's contract.
        let bytes = unsafe { from.cast::<[u8; 16]>().read() };
        bytes.into_iter().position(super::ends_name).unwrap_or(16)
    }
    #[inline(always)]
    unsafe fn prefix_xor(mask: u64) -> u64 {
        prefix_xor_ladder(mask)
    }
    #[inline(always)]
    unsafe fn positions(mask: u64, base: u32, to: *mut u32) {
        // SAFETY: room for 64, by the trait's contract.
        unsafe { positions_ladder(mask, base, to) }
    }
}
