//! `para-ef`: Elias-Fano per block of 128, laid out for a workgroup to decode.
//!
//! From Griffin (Liu, Wang, Swanson, PPoPP 2018, section 3.1.1), after Elias (1974), Fano (1971) and
//! Vigna's quasi-succinct indices (WSDM 2013, doi:10.1145/2433396.2433409).
//!
//! A block of `n` docIDs `d[0] < … < d[n-1]` stores the `m = n - 1` numbers `e[i] = d[i+1] - d[0] - 1 - i`, which never
//! decrease. A *strictly* increasing list allows the `- i`, so a run of neighbours costs one bit each. With `U =
//! e[m-1]` the split is at `b = ⌊log2(U / m)⌋` bits (0 if `U < m`), the paper's choice. A block of one docID has no
//! words.
//!
//! | bits | what |
//! |---|---|
//! | 0..5 | `b`, 0 to 31 |
//! | 5..14 | `h`, length of the high part in bits, less than `3m` |
//! | 14..14+h | high part: bit `14 + (e[i] >> b) + i` is set for each `i`, no other |
//! | 14+h.. | low part: `m` fields of `b` bits, in order; then zeros up to the next word |
//!
//! A thread per word counts the ones (the first word without its 14 header bits, the last one cut
//! at `14 + h`), a prefix sum numbers them, and the one numbered `i` at bit `p` gives
//! `d[i+1] = d[0] + 1 + i + ((p - 14 - i) << b | low[i])`.
//!
//! Range: every docID up to 2^32 - 1. Size: at most `14 + m (b + 3)` bits. Words read past the block where the
//! slice has them: up to sixteen.

use crate::base::bits::{self, Packer, UNPACKED, bits_of};
use crate::base::simd;
use std::sync::Arc;

use super::{Codec, CodecError, Family, Shader, Skip, block_words, encode_blocks};
use crate::gpu::wgsl;

const BLOCK: usize = 128;
const HEADER_BITS: usize = 14;

/// `para-ef`.
pub static PARA_EF: Family = Family {
    name: "para-ef",
    id: 2,
    about: "Elias-Fano per block of 128",
    paper: "Liu, Wang, Swanson: Griffin (PPoPP 2018), section 3.1.1",
    params: &[],
    make: |_| Arc::new(ParaEf::new()),
};

/// Decodes a block behind its header. Arguments: the words of the block, its first docID, bits of a low part, bits of
/// the high part, and room for the 1 to 127 other docIDs.
type Unpack = fn(&[u32], u32, u32, usize, &mut [u32]) -> Result<(), CodecError>;

/// Elias-Fano per block of 128, `para-ef`.
struct ParaEf {
    /// The fastest decoder for the processor.
    unpack: Unpack,
}

impl ParaEf {
    fn new() -> Self {
        #[cfg(target_arch = "x86_64")]
        if let Some(unpack) = wide::unpack() {
            return Self { unpack };
        }
        Self { unpack }
    }
}

/// Number of low bits for `m` numbers up to `top`.
#[inline]
fn low_bits(top: u32, m: u32) -> u32 {
    bits_of(top / m).saturating_sub(1)
}

impl Codec for ParaEf {
    fn family(&self) -> &'static Family {
        &PARA_EF
    }

    fn block_len(&self) -> usize {
        BLOCK
    }

    fn encode(&self, list: &[u32], out: &mut Vec<u32>, skips: &mut Vec<Skip>) {
        encode_blocks(list, BLOCK, out, skips, encode_block);
    }

    fn decode_block(&self, list: &[u32], skip: &Skip, _index: usize, out: &mut [u32]) -> Result<usize, CodecError> {
        decode(block_words(list, skip)?, skip.first, out, self.unpack)
    }

    fn size(&self, list: &[u32]) -> usize {
        list.chunks(BLOCK).map(words_of).sum()
    }

    fn shader(&self) -> Shader {
        Shader::of(wgsl!("codec/para_ef")).scratch(132).random_access()
    }
}

fn words_of(block: &[u32]) -> usize {
    let m = block.len() - 1;
    if m == 0 {
        return 0;
    }
    let top = block[m] - block[0] - m as u32;
    let b = low_bits(top, m as u32);
    (HEADER_BITS + m + (top >> b) as usize + m * b as usize).div_ceil(32)
}

fn encode_block(block: &[u32], out: &mut Vec<u32>) {
    // Most lists are short; clearing a buffer for a whole block would cost more than encoding them.
    match block.len() {
        1 => {}
        2..=16 => encode_with::<16>(block, out),
        _ => encode_with::<BLOCK>(block, out),
    }
}

fn encode_with<const N: usize>(block: &[u32], out: &mut Vec<u32>) {
    let (first, rest) = (block[0], &block[1..]);
    let m = rest.len();
    let mut numbers = [0; N];
    let numbers = &mut numbers[..m];
    for (i, (number, &doc)) in numbers.iter_mut().zip(rest).enumerate() {
        *number = doc - first - 1 - i as u32;
    }
    let top = numbers[m - 1];
    let b = low_bits(top, m as u32);
    let high_len = m + (top >> b) as usize;
    let end = HEADER_BITS + high_len;
    let start = out.len();
    let words = (end + m * b as usize).div_ceil(32);
    out.resize(start + words + 2, 0);
    let mut packer = Packer::new(&mut out[start..]);
    packer.push(u64::from(b) | (high_len as u64) << 5, HEADER_BITS as u32);
    let ones = numbers.iter().zip(HEADER_BITS as u32..).map(|(&number, at)| at + (number >> b));
    packer.set_bits(ones, end as u32);
    packer.push_all(numbers, b);
    packer.finish();
    out.truncate(start + words);
}

/// Decodes a block of `out.len()` docIDs at the start of `words`.
fn decode(words: &[u32], first: u32, out: &mut [u32], unpack: Unpack) -> Result<usize, CodecError> {
    let Some((slot, rest)) = out.split_first_mut() else { return Ok(0) };
    *slot = first;
    if rest.is_empty() {
        return Ok(0);
    }
    let m = rest.len();
    if m >= BLOCK {
        return Err(CodecError::Malformed("a para-ef block has at most 128 docIDs"));
    }
    let head = *words.first().ok_or(CodecError::Truncated)?;
    let b = head & 31;
    let high_len = (head >> 5 & 511) as usize;
    if high_len < m || high_len >= 3 * m {
        return Err(CodecError::Malformed("the length of the high part fits no block"));
    }
    let used = (HEADER_BITS + high_len + m * b as usize).div_ceil(32);
    if used > words.len() {
        return Err(CodecError::Truncated);
    }
    unpack(words, first, b, high_len, rest)?;
    Ok(used)
}

const WRONG_COUNT: CodecError =
    CodecError::Malformed("the high part has another number of ones than the block has docIDs");

/// The most words of a block: 14 + 381 + 127 · 31 bits.
const MAX_WORDS: usize = (HEADER_BITS + 3 * 127 + 127 * 31).div_ceil(32);

/// [`Unpack`] for every processor.
fn unpack(words: &[u32], first: u32, b: u32, high_len: usize, out: &mut [u32]) -> Result<(), CodecError> {
    let used = (HEADER_BITS + high_len + out.len() * b as usize).div_ceil(32);
    // Eight bytes are loaded at a time, up to two words past the block.
    let mut padded: [u32; MAX_WORDS + 3];
    let words = if words.len() >= used + 3 {
        words
    } else {
        padded = [0; MAX_WORDS + 3];
        padded[..used].copy_from_slice(&words[..used]);
        &padded[..used + 3]
    };
    unpack_slow(words, first, b, high_len, out)
}

simd::avx2! {
    fn unpack_slow(words: &[u32], first: u32, b: u32, high_len: usize, out: &mut [u32]) -> Result<(), CodecError> {
        unpack_any(words, first, b, high_len, out)
    }
}

/// The two halves of a block. `words` has at least three words more than the block uses.
#[inline(always)]
fn unpack_any(words: &[u32], first: u32, b: u32, high_len: usize, out: &mut [u32]) -> Result<(), CodecError> {
    let m = out.len();
    // Positions of the ones. A word's ones are written in groups of eight without a count, hence the slack behind the
    // array.
    let mut ones = [0u32; BLOCK + 64];
    let end = HEADER_BITS + high_len;
    let mut found = 0;
    let mut base = 0;
    while base < end {
        let mut word = u64::from(words[base / 32]) | u64::from(words[base / 32 + 1]) << 32;
        if base == 0 {
            word &= !0 << HEADER_BITS;
        }
        if end - base < 64 {
            word &= (1 << (end - base)) - 1;
        }
        let count = word.count_ones() as usize;
        if found + count > m {
            break;
        }
        for group in &mut ones[found..found + 64].as_chunks_mut::<8>().0[..count.div_ceil(8)] {
            for slot in group {
                // Volatile, or else the compiler gathers eight scalars into a vector before it stores them, which
                // costs more than a tenth of the speed.
                // SAFETY: `slot` is a reference, so it may be written.
                unsafe { std::ptr::write_volatile(slot, (base as u32).wrapping_add(word.trailing_zeros())) };
                word &= word.wrapping_sub(1);
            }
        }
        found += count;
        base += 64;
    }
    if found != m || base < end {
        return Err(WRONG_COUNT);
    }
    let mut lows = [0u32; UNPACKED];
    bits::unpack(words, end, b, m, &mut lows).ok_or(CodecError::Truncated)?;
    let offset = first.wrapping_add(1);
    for (i, ((slot, one), low)) in out.iter_mut().zip(&ones).zip(&lows).enumerate() {
        let high = one.wrapping_sub(HEADER_BITS as u32 + i as u32);
        *slot = offset.wrapping_add(i as u32).wrapping_add(high << b | low);
    }
    Ok(())
}

/// Blocks in registers of sixteen lanes. One instruction takes the positions of the zeros out of 64 positions; those of
/// the ones remain.
#[cfg(target_arch = "x86_64")]
mod wide {
    use std::arch::x86_64::*;
    use std::mem::MaybeUninit;

    use super::{CodecError, HEADER_BITS, Unpack, WRONG_COUNT};
    use crate::base::avx512::{self, Bytes, Fields, lanes, load_some, ones, store};

    /// The decoder below, if the processor has what it is compiled for.
    pub(super) fn unpack() -> Option<Unpack> {
        /// To be called after the check only, hence in here.
        fn unpack(words: &[u32], first: u32, b: u32, high_len: usize, out: &mut [u32]) -> Result<(), CodecError> {
            // SAFETY: the processor has the features that the function is compiled for.
            unsafe {
                match b {
                    0..=Fields::NEAR => unpack_wide::<false>(words, first, b, high_len, out),
                    _ => unpack_wide::<true>(words, first, b, high_len, out),
                }
            }
        }
        avx512::available().then_some(unpack)
    }

    /// Where the bits of words 0, 1, 2, 3 of 64 bits are in the high part, modulo 256; so are those of words 4 to 6.
    static POSITIONS: [Bytes; 4] = [
        Bytes::steps(-(HEADER_BITS as i32), 1),
        Bytes::steps(64 - HEADER_BITS as i32, 1),
        Bytes::steps(128 - HEADER_BITS as i32, 1),
        Bytes::steps(192 - HEADER_BITS as i32, 1),
    ];
    /// The numbers of the ones.
    static NUMBERS: [Bytes; 2] = [Bytes::steps(0, 1), Bytes::steps(64, 1)];
    /// Every fourth byte moves one of sixteen bytes there.
    static WIDEN: [Bytes; 4] = [Bytes::steps(0, 4), Bytes::steps(16, 4), Bytes::steps(32, 4), Bytes::steps(48, 4)];

    /// `out` has 1 to 127 slots, `high_len` is below three times as many. With `FAR` the low part has fields that may
    /// lie in five bytes.
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2,popcnt")]
    fn unpack_wide<const FAR: bool>(
        words: &[u32],
        first: u32,
        b: u32,
        high_len: usize,
        out: &mut [u32],
    ) -> Result<(), CodecError> {
        let bytes: &[u8] = bytemuck::cast_slice(words);
        let end = HEADER_BITS + high_len;
        let ends = _mm512_setr_epi64(64, 128, 192, 256, 320, 384, 448, 512);
        let beyond = _mm512_max_epi64(_mm512_sub_epi64(ends, _mm512_set1_epi64(end as i64)), _mm512_setzero_si512());
        let keep = _mm512_srlv_epi64(_mm512_set1_epi64(-1), beyond);
        let head = _mm512_setr_epi64(!0 << HEADER_BITS, -1, -1, -1, -1, -1, -1, -1);
        let high = _mm512_and_si512(_mm512_and_si512(load_some(bytes, 0), head), keep);
        let mut masks = [0u64; 8];
        // SAFETY: 64 bytes are there.
        unsafe { _mm512_storeu_epi64(masks.as_mut_ptr().cast(), high) };

        // One byte a docID. Each word's ones are written with 64 bytes; the next ones overwrite the excess.
        let mut places = MaybeUninit::<[u8; 7 * 64]>::uninit();
        let start = places.as_mut_ptr().cast::<u8>();
        // SAFETY: 128 bytes are there; the first 64 are always written.
        unsafe { _mm512_storeu_epi8(start.add(64).cast(), _mm512_setzero_si512()) };
        let mut found = 0;
        let mut write = |mask: u64, positions: &Bytes| {
            let positions = _mm512_maskz_compress_epi8(mask, positions.load());
            // SAFETY: it is called seven times at most, and at most 64 ones a word come before: all 64 bytes are there.
            unsafe { _mm512_storeu_epi8(start.add(found).cast(), positions) };
            found += mask.count_ones() as usize;
        };
        if out.len() > 64 {
            // Mostly six words or seven; it is faster not to ask how many.
            masks[..7].iter().zip(POSITIONS.iter().cycle()).for_each(|(&mask, positions)| write(mask, positions));
        } else {
            let count = end.div_ceil(64);
            // No block this short has more than four, but memory safety must not depend on it.
            masks[..7].iter().take(count).zip(&POSITIONS).for_each(|(&mask, positions)| write(mask, positions));
        }
        // SAFETY: all 128 bytes were written, here or above.
        let numbers =
            unsafe { [0, 1].map(|i| _mm512_sub_epi8(_mm512_loadu_epi8(start.add(64 * i).cast()), NUMBERS[i].load())) };
        if found != out.len() {
            return Err(WRONG_COUNT);
        }

        let fields = Fields::new(end % 8, b);
        let width = _mm512_set1_epi32(b as i32);
        let base = _mm512_add_epi32(_mm512_set1_epi32(first.wrapping_add(1) as i32), lanes());
        let docs = |i: usize| {
            let lows = fields.get::<FAR>(bytes, end / 8 + 2 * b as usize * i);
            let highs = _mm512_maskz_permutexvar_epi8(0x1111_1111_1111_1111, WIDEN[i % 4].load(), numbers[i / 4]);
            // high << b | low & mask
            let number = _mm512_ternarylogic_epi32(_mm512_sllv_epi32(highs, width), lows, fields.mask, 0xf8);
            _mm512_add_epi32(_mm512_add_epi32(base, _mm512_set1_epi32(16 * i as i32)), number)
        };
        let (groups, rest) = out.as_chunks_mut::<16>();
        groups.iter_mut().enumerate().for_each(|(i, out)| store(out, docs(i)));
        if !rest.is_empty() {
            // SAFETY: only slots that are there are written, and the store has no alignment to keep.
            unsafe {
                _mm512_mask_storeu_epi32(rest.as_mut_ptr().cast(), ones(rest.len()) as __mmask16, docs(groups.len()))
            };
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{encoded, hard_lists, words_of};
    use super::*;

    /// The layout is part of the format: these words never change.
    #[test]
    fn test_literal_words() {
        // numbers 0, 1, 287; b = 6, high parts 0, 0, 4, so ones at 14, 15, 20 and h = 7; low parts 0, 1, 31
        let words = [6 | 7 << 5 | 1 << 14 | 1 << 15 | 1 << 20 | 1 << 27, 31 << 1];
        assert_eq!(words_of(&ParaEf::new(), &[10, 11, 13, 300]), words);
    }

    /// Every decoder gives the same for any words.
    #[test]
    fn test_decoders_agree() {
        let mut state = 1u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 32) as u32
        };
        let (mut good, mut bad) = (0, 0);
        for list in hard_lists().iter().map(|list| &list[..list.len().min(BLOCK)]).filter(|list| list.len() > 1) {
            for round in 0..6 {
                let (mut words, _, _) = encoded(&ParaEf::new(), list, random());
                // as it is, with other low bits, with another header, with two other bits anywhere
                let bits = 32 * words.len() as u32 - 5;
                match round {
                    0 => {}
                    1 => words.iter_mut().skip(13).for_each(|word| *word = random()),
                    2 => words[0] ^= 1 << (random() % 14),
                    _ => [random() % bits, random() % bits]
                        .iter()
                        .for_each(|bit| words[*bit as usize / 32] ^= 1 << (bit % 32)),
                }
                for end in 0..words.len() {
                    let (mut one, mut other) = (vec![0; list.len()], vec![0; list.len()]);
                    let expected = decode(&words[..end], 5, &mut one, unpack);
                    assert_eq!(decode(&words[..end], 5, &mut other, ParaEf::new().unpack), expected);
                    if expected.is_ok() {
                        assert_eq!(one, other);
                    }
                    (good, bad) =
                        (good + usize::from(expected.is_ok()), bad + usize::from(expected == Err(WRONG_COUNT)));
                }
            }
        }
        assert!(good > 1000 && bad > 1000, "{good} and {bad}");
    }
}
