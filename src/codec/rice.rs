//! `rice`: gaps divided by a power of two, the quotients in unary and the remainders in binary, each kind in a bit
//! vector of its own.
//!
//! From Ding, He, Yan, Suel, *Using graphics processors for high performance IR query processing*, WWW 2009, section
//! 6.1, doi:10.1145/1526709.1526766, after Rice and Plaunt, doi:10.1109/TCOM.1971.1090789.
//!
//! A block of `n` docIDs stores the `m = n - 1` numbers `g[i] = d[i+1] - d[i] - 1`. Their divisor is `2^b` for `b =
//! ⌊log2(mean)⌋` (0 if the mean is under 1), per block. For numbers of a geometric distribution this divisor is the
//! best or next to it, and the quotients add up to less than `2m`. A block of one docID has no words.
//!
//! | bits | what |
//! |---|---|
//! | 0..5 | `b`, 0 to 31 |
//! | 5..5+mb | remainders: `m` fields of `b` bits |
//! | 5+mb.. | quotients: for each of the `m`, `g[i] >> b` ones and a zero; then zeros up to the next word |
//!
//! The paper keeps sums for every 128 fields of either vector, so that prefix sums are local; here the docID in the
//! skip entry is both. The remainders stand first because their length is known. The zero numbered `i` at bit `p` of
//! the quotients has `p - i` ones before it, so `d[i+1] = d[0] + i + 1 + (r[0] + … + r[i]) + ((p - i) << b)`: one
//! prefix sum over counts of zeros, one over remainders.
//!
//! Range: every docID up to 2^32 - 1. Size: less than `5 + m (b + 3)` bits, never more than `para-ef`. Words read past
//! the block: up to eleven where the slice has them, most of them to find its end.

use std::sync::Arc;

use super::gaps::{docs_of, gaps_of};
use super::{Codec, CodecError, Family, Shader, Skip, block_words, encode_blocks};
use crate::base::bits;
use crate::base::bits::{Packer, UNPACKED, bits_of};
#[cfg(target_arch = "x86_64")]
use crate::base::{
    avx512,
    simd::{Level, level},
};
use crate::gpu::wgsl;

const BLOCK: usize = 128;
const HEADER_BITS: usize = 5;

/// `rice`.
pub static RICE: Family = Family {
    name: "rice",
    id: 6,
    about: "Rice-coded gaps, unary and binary parts apart",
    paper: "Ding, He, Yan, Suel: Using graphics processors for IR query processing (WWW 2009), section 6.1",
    params: &[],
    make: |_| Arc::new(Rice),
};

struct Rice;

/// Logarithm of the divisor for `m` numbers of this sum.
#[inline]
fn remainder_bits(sum: u32, m: u32) -> u32 {
    bits_of(sum / m).saturating_sub(1)
}

/// Bits of a block of the numbers `gaps`.
#[inline]
fn bits_for(gaps: impl ExactSizeIterator<Item = u32>, b: u32) -> usize {
    let m = gaps.len();
    HEADER_BITS + m * (b as usize + 1) + gaps.map(|gap| gap >> b).sum::<u32>() as usize
}

impl Codec for Rice {
    fn family(&self) -> &'static Family {
        &RICE
    }

    fn block_len(&self) -> usize {
        BLOCK
    }

    fn encode(&self, list: &[u32], out: &mut Vec<u32>, skips: &mut Vec<Skip>) {
        encode_blocks(list, BLOCK, out, skips, |block, out| match block.len() {
            // Most lists are short; clearing a buffer for a whole block would cost more than encoding them.
            1 => {}
            2..=16 => encode_with::<16>(block, out),
            _ => encode_with::<BLOCK>(block, out),
        });
    }

    fn decode_block(&self, list: &[u32], skip: &Skip, _index: usize, out: &mut [u32]) -> Result<usize, CodecError> {
        decode(block_words(list, skip)?, skip.first, out)
    }

    fn size(&self, list: &[u32]) -> usize {
        list.chunks(BLOCK).map(words_of).sum()
    }

    fn shader(&self) -> Shader {
        Shader::of(wgsl!("codec/rice")).scratch(BLOCK)
    }
}

fn words_of(block: &[u32]) -> usize {
    let m = block.len() - 1;
    if m == 0 {
        return 0;
    }
    let b = remainder_bits(block[m] - block[0] - m as u32, m as u32);
    bits_for(block.windows(2).map(|pair| pair[1] - pair[0] - 1), b).div_ceil(32)
}

fn encode_with<const N: usize>(block: &[u32], out: &mut Vec<u32>) {
    let mut gaps = [0; N];
    let gaps = gaps_of(block, &mut gaps);
    let m = gaps.len();
    let b = remainder_bits(block[m] - block[0] - m as u32, m as u32);
    let start = out.len();
    let words = bits_for(gaps.iter().copied(), b).div_ceil(32);
    out.resize(start + words + 2, 0);
    let mut packer = Packer::new(&mut out[start..]);
    packer.push(b.into(), HEADER_BITS as u32);
    packer.push_all(gaps, b);
    for gap in gaps {
        let mut quotient = gap >> b;
        while quotient > 62 {
            packer.push(u64::MAX >> 2, 62);
            quotient -= 62;
        }
        packer.push((1 << quotient) - 1, quotient + 1);
    }
    packer.finish();
    out.truncate(start + words);
}

/// The most words of a block that [`decode`] looks at: 5 + 127 · 31 + 381 bits.
const MAX_WORDS: usize = (HEADER_BITS + 127 * 31 + 3 * 127).div_ceil(32);

/// Decodes a block of `out.len()` docIDs at the start of `words`.
fn decode(words: &[u32], first: u32, out: &mut [u32]) -> Result<usize, CodecError> {
    let Some((slot, rest)) = out.split_first_mut() else { return Ok(0) };
    *slot = first;
    let m = rest.len();
    if m == 0 {
        return Ok(0);
    }
    if m >= BLOCK {
        return Err(CodecError::Malformed("a rice block has at most 128 docIDs"));
    }
    let b = *words.first().ok_or(CodecError::Truncated)? & 31;
    let quotients = HEADER_BITS + m * b as usize;
    let most = (quotients + 3 * m).div_ceil(32);
    // Eight bytes are loaded at a time, up to two words past the block.
    let used = if words.len() >= most + 3 {
        unpack(&words[..most + 3], first, b, quotients, rest)?
    } else {
        let mut padded = [0u32; MAX_WORDS + 3];
        let len = words.len().min(most);
        padded[..len].copy_from_slice(&words[..len]);
        unpack(&padded[..most + 3], first, b, quotients, rest)?
    };
    if used <= words.len() { Ok(used) } else { Err(CodecError::Truncated) }
}

/// Decodes both bit vectors of a block, and returns how many words they take up. `words` must have three words more
/// than the longest block of this `b`.
fn unpack(words: &[u32], first: u32, b: u32, quotients: usize, out: &mut [u32]) -> Result<usize, CodecError> {
    #[cfg(target_arch = "x86_64")]
    {
        if avx512::available() {
            // SAFETY: the processor has the features that the function is compiled for.
            return unsafe { unpack_avx512(words, first, b, quotients, out) };
        }
        if level() >= Level::Avx2 {
            // SAFETY: as above.
            return unsafe { unpack_avx2(words, first, b, quotients, out) };
        }
    }
    unpack_with(words, first, b, quotients, out, list_ones)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,avx2,bmi1,popcnt")]
fn unpack_avx512(words: &[u32], first: u32, b: u32, quotients: usize, out: &mut [u32]) -> Result<usize, CodecError> {
    use std::arch::x86_64::{_mm512_add_epi8, _mm512_maskz_compress_epi8, _mm512_set1_epi8, _mm512_storeu_epi8};
    static PLACES: avx512::Bytes = avx512::Bytes::steps(0, 1);
    unpack_with(words, first, b, quotients, out, |word, base, slots| {
        let places = _mm512_add_epi8(PLACES.load(), _mm512_set1_epi8(base.cast_signed()));
        // SAFETY: 64 slots are there, and the store has no alignment to keep.
        unsafe { _mm512_storeu_epi8(slots.as_mut_ptr().cast(), _mm512_maskz_compress_epi8(word, places)) };
    })
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,popcnt")]
fn unpack_avx2(words: &[u32], first: u32, b: u32, quotients: usize, out: &mut [u32]) -> Result<usize, CodecError> {
    unpack_with(words, first, b, quotients, out, list_ones)
}

/// Adds `base` to the positions of the ones in `word`, modulo 256.
#[inline(always)]
fn list_ones(mut word: u64, base: u8, slots: &mut [u8; 64]) {
    let count = word.count_ones() as usize;
    // In groups of eight, as many as needed, wherever the ones of a group end.
    for group in &mut slots.as_chunks_mut::<8>().0[..count.div_ceil(8)] {
        for slot in group {
            *slot = base.wrapping_add(word.trailing_zeros() as u8);
            word &= word.wrapping_sub(1);
        }
    }
}

/// Of a block that no encoder writes.
const TOO_MANY: CodecError = CodecError::Malformed("the quotients add up to more than a block's may");

/// As [`unpack`], with `list_ones` or what does the same.
#[inline(always)]
fn unpack_with(
    words: &[u32],
    first: u32,
    b: u32,
    quotients: usize,
    out: &mut [u32],
    list: impl Fn(u64, u8, &mut [u8; 64]),
) -> Result<usize, CodecError> {
    let m = out.len();
    let end = quotients + 3 * m;
    // Positions of the zeros in the quotients, modulo 256. Zero `i` has less than 256 ones before it, so its position
    // less `i`, modulo 256, is their number. A word may list 64 positions behind the last that counts.
    let mut zeros = [0u8; BLOCK + 64];
    let mut found = 0;
    let mut base = quotients & !31;
    while found < m {
        if base >= end {
            return Err(TOO_MANY);
        }
        let mut word = !(u64::from(words[base / 32]) | u64::from(words[base / 32 + 1]) << 32);
        if base < quotients {
            word &= !0 << (quotients - base);
        }
        let slots = zeros[found..].first_chunk_mut().expect("64 slots behind those of a block");
        list(word, (base as u8).wrapping_sub(quotients as u8), slots);
        found += word.count_ones() as usize;
        base += 64;
    }
    let mut remainders = [0u32; UNPACKED];
    bits::unpack(words, HEADER_BITS, b, m, &mut remainders).ok_or(CodecError::Truncated)?;
    docs_of(first, &remainders, out);
    for (i, (slot, zero)) in out.iter_mut().zip(&zeros).enumerate() {
        *slot = slot.wrapping_add(u32::from(zero.wrapping_sub(i as u8)) << b);
    }
    // The last zero is in the last word.
    let last = zeros[m - 1].wrapping_add(quotients as u8).wrapping_sub((base - 64) as u8);
    let behind = base - 64 + usize::from(last) + 1;
    // A damaged block may have so many ones before it that their number modulo 256 says nothing.
    if behind > end {
        return Err(TOO_MANY);
    }
    Ok(behind.div_ceil(32))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{hard_lists, words_of};
    use super::*;

    /// The layout is part of the format: these words never change.
    #[test]
    fn test_literal_words() {
        // gaps less one: 0, 1, 286; mean 95, b = 6; remainders 0, 1, 30 from bit 5 on; quotients 0, 0, 4 from bit 23 on
        assert_eq!(words_of(&Rice, &[10, 11, 13, 300]), [6 | 1 << 11 | 30 << 17 | 0b1111 << 25]);
    }

    /// A quotient of more ones than a push takes: 0 and all the others 0 but one.
    #[test]
    fn test_a_long_quotient() {
        let mut list: Vec<u32> = (0..128).collect();
        list[127] = 127 + 253;
        let words = words_of(&Rice, &list);
        // b = 0; 126 zeros, 253 ones and a zero from bit 5 on
        assert_eq!(words.len(), (5 + 127 + 253usize).div_ceil(32));
        assert_eq!(words.iter().map(|word| word.count_ones()).sum::<u32>(), 253);
    }

    /// 256 ones before the first of 127 zeros: modulo 256 they are none.
    #[test]
    fn test_more_ones_than_a_block_has_are_an_error() {
        let mut words = vec![0; MAX_WORDS + 3];
        (5..261).for_each(|bit| words[bit / 32] |= 1 << (bit % 32));
        assert_eq!(unpack(&words, 1000, 0, HEADER_BITS, &mut [0; 127]), Err(TOO_MANY));
        // three ones a docID are fewer
        words[..8].copy_from_slice(&[0; 8]);
        assert_eq!(unpack(&words, 1000, 0, HEADER_BITS, &mut [0; 127]), Ok((HEADER_BITS + 127).div_ceil(32)));
    }

    /// The processor's fast decoders and the one for any processor agree.
    #[test]
    fn test_all_decoders_say_the_same() {
        let mut blocks = 0;
        for list in hard_lists() {
            for block in list.chunks(BLOCK).filter(|block| block.len() > 1) {
                let (m, mut words) = (block.len() - 1, words_of(&Rice, block));
                let b = words[0] & 31;
                let quotients = HEADER_BITS + m * b as usize;
                words.resize(MAX_WORDS + 3, 0);
                // as it is, and with a bit changed
                for changed in [0, 1 << 9] {
                    words[quotients / 32] ^= changed;
                    let (mut fast, mut plain) = (vec![0; m], vec![0; m]);
                    let found = unpack(&words, block[0], b, quotients, &mut fast);
                    assert_eq!(found, unpack_with(&words, block[0], b, quotients, &mut plain, list_ones));
                    assert_eq!(fast, plain);
                    blocks += 1;
                }
            }
        }
        assert!(blocks > 1000);
    }
}
