//! `vbyte`: gaps in 7-bit groups, low group first, the high bit set on all bytes of a gap but its last.
//!
//! Williams and Zobel, *Compressing integers for fast file access*, Computer Journal 42(3), 1999,
//! doi:10.1093/comjnl/42.3.193; the CPU baseline that the papers cite.
//!
//! A block of `n` docIDs stores the `n - 1` numbers `d[i+1] - d[i] - 1`, each in one to five bytes,
//! and zero bytes up to the next word. A block of one docID has no words. Bytes fill words from
//! the low end, so that the file is a plain byte stream.
//!
//! Range: every docID up to 2^32 - 1. Size: at most `5 (n - 1)` bytes, rounded up to words. Words read past
//! the block: up to sixteen where the slice has them.

use std::sync::Arc;

use super::{Codec, CodecError, Family, Shader, Skip, block_words, encode_blocks};
use crate::gpu::wgsl;

const BLOCK: usize = 128;

/// `vbyte`.
pub static VBYTE: Family = Family {
    name: "vbyte",
    id: 1,
    about: "gaps in bytes of seven bits",
    paper: "Williams, Zobel: Compressing integers for fast file access (Computer Journal 42(3), 1999)",
    params: &[],
    make: |_| Arc::new(VByte::new()),
};

/// Decodes gaps at the start of the bytes, behind the docID, while they are of a kind that it knows and slots are left.
/// Returns bytes read, slots filled and the last docID.
type Leap = fn(&[u8], u32, &mut [u32]) -> (usize, usize, u32);

/// Variable-byte gaps, `vbyte`.
struct VByte {
    /// The fastest decoder for the processor.
    leap: Leap,
}

impl VByte {
    fn new() -> Self {
        #[cfg(target_arch = "x86_64")]
        if let Some(leap) = wide::leap().or_else(vector::leap) {
            return Self { leap };
        }
        Self { leap: no_leap }
    }
}

fn no_leap(_bytes: &[u8], doc: u32, _out: &mut [u32]) -> (usize, usize, u32) {
    (0, 0, doc)
}

/// Bytes of one number.
#[inline]
fn byte_len(gap: u32) -> usize {
    // bits 0..=7 → 1, 8..=14 → 2, …: one table-free multiplication instead of a division by 7.
    ((crate::base::bits::bits_of(gap | 1) * 37 + 219) >> 8) as usize
}

impl Codec for VByte {
    fn family(&self) -> &'static Family {
        &VBYTE
    }

    fn block_len(&self) -> usize {
        BLOCK
    }

    fn encode(&self, list: &[u32], out: &mut Vec<u32>, skips: &mut Vec<Skip>) {
        encode_blocks(list, BLOCK, out, skips, encode_block);
    }

    fn decode_block(&self, list: &[u32], skip: &Skip, _index: usize, out: &mut [u32]) -> Result<usize, CodecError> {
        decode(block_words(list, skip)?, skip.first, out, self.leap)
    }

    fn size(&self, list: &[u32]) -> usize {
        list.chunks(BLOCK)
            .map(|block| block.windows(2).map(|pair| byte_len(pair[1] - pair[0] - 1)).sum::<usize>().div_ceil(4))
            .sum()
    }

    fn shader(&self) -> Shader {
        Shader::of(wgsl!("codec/vbyte")).scratch(BLOCK)
    }
}

fn encode_block(block: &[u32], out: &mut Vec<u32>) {
    // Most lists are short; clearing a buffer for a whole block would cost more than encoding them.
    match block.len() {
        1 => {}
        2..=16 => encode_into::<{ 5 * 16 + 8 }>(block, out),
        _ => encode_into::<{ 5 * BLOCK + 8 }>(block, out),
    }
}

fn encode_into<const BYTES: usize>(block: &[u32], out: &mut Vec<u32>) {
    // Each gap is written as eight bytes; the next gap overwrites the excess.
    let mut bytes = [0u8; BYTES];
    let mut at = 0;
    for pair in block.windows(2) {
        let gap = pair[1] - pair[0] - 1;
        let len = byte_len(gap);
        let g = u64::from(gap);
        let spread = g & 0x7f | (g & 0x3f80) << 1 | (g & 0x1f_c000) << 2 | (g & 0xfe0_0000) << 3 | (g >> 28) << 32;
        let field = spread | CONTINUES & ((1 << (8 * (len - 1))) - 1);
        bytes[at..at + 8].copy_from_slice(&field.to_le_bytes());
        at += len;
    }
    let words = bytes[..at.next_multiple_of(4)].as_chunks::<4>().0;
    out.extend(words.iter().map(|&word| u32::from_le_bytes(word)));
}

/// High bits of eight bytes.
const CONTINUES: u64 = 0x8080_8080_8080_8080;

/// Decodes a block of `out.len()` docIDs at the start of `words`.
fn decode(words: &[u32], first: u32, out: &mut [u32], leap: Leap) -> Result<usize, CodecError> {
    let Some((slot, rest)) = out.split_first_mut() else { return Ok(0) };
    *slot = first;
    let bytes: &[u8] = bytemuck::cast_slice(words);
    let (mut at, mut done, mut doc) = (0, 0, first);
    while done < rest.len() {
        let (used, more, last) = leap(&bytes[at..], doc, &mut rest[done..]);
        (at, done, doc) = (at + used, done + more, last);
        if done == rest.len() {
            break;
        }
        let tail = &bytes[at..];
        let (gap, len) = match tail.first_chunk::<8>() {
            Some(chunk) => one_gap(u64::from_le_bytes(*chunk))?,
            None => slow_gap(tail)?,
        };
        doc = doc.wrapping_add(1).wrapping_add(gap);
        rest[done] = doc;
        done += 1;
        at += len;
    }
    Ok(at.div_ceil(4))
}

/// The first gap of eight bytes and its length in bytes.
#[inline]
fn one_gap(word: u64) -> Result<(u32, usize), CodecError> {
    let bits = (!word & CONTINUES).trailing_zeros() + 1;
    if bits > 40 {
        return Err(CodecError::Malformed("a gap of more than five bytes"));
    }
    let gap = join(word & (u64::MAX >> (64 - bits)));
    let gap = u32::try_from(gap).map_err(|_| CodecError::Malformed("a gap of more than 32 bits"))?;
    Ok((gap, bits as usize / 8))
}

/// Joins the 7-bit groups of up to five bytes.
#[inline]
fn join(field: u64) -> u64 {
    field & 0x7f | field >> 1 & 0x7f << 7 | field >> 2 & 0x7f << 14 | field >> 3 & 0x7f << 21 | field >> 4 & 0x7f << 28
}

/// One gap and its length in bytes, byte by byte: the end of the slice.
fn slow_gap(bytes: &[u8]) -> Result<(u32, usize), CodecError> {
    let mut gap = 0u64;
    for (i, &byte) in bytes.iter().take(5).enumerate() {
        gap |= u64::from(byte & 0x7f) << (7 * i);
        if byte < 0x80 {
            let gap = u32::try_from(gap).map_err(|_| CodecError::Malformed("a gap of more than 32 bits"))?;
            return Ok((gap, i + 1));
        }
    }
    Err(if bytes.len() < 5 { CodecError::Truncated } else { CodecError::Malformed("a gap of more than five bytes") })
}

/// Gaps of one and two bytes, up to eight at once: the high bits of eight bytes choose a shuffle that puts each gap
/// into a lane of 16 bits. After Plaisance, Kurz, Lemire, *Vectorized VByte decoding*, 2015, arXiv:1503.07387.
#[cfg(target_arch = "x86_64")]
mod vector {
    use std::arch::x86_64::{
        _mm_add_epi16, _mm_add_epi32, _mm_and_si128, _mm_cvtepu16_epi32, _mm_loadl_epi64, _mm_loadu_si128,
        _mm_movemask_epi8, _mm_or_si128, _mm_set1_epi16, _mm_set1_epi32, _mm_shuffle_epi8, _mm_shuffle_epi32,
        _mm_slli_si128, _mm_srli_epi16, _mm_srli_si128, _mm_storeu_si128,
    };

    use super::Leap;
    use crate::base::simd::{Level, level};

    /// How to decode eight bytes with given high bits.
    #[derive(Clone, Copy)]
    struct Entry {
        shuffle: [u8; 16],
        /// Gaps of one or two bytes at the start, and their bytes.
        gaps: u8,
        bytes: u8,
    }

    static TABLE: [Entry; 256] = table();

    const fn table() -> [Entry; 256] {
        let mut table = [Entry { shuffle: [0x80; 16], gaps: 0, bytes: 0 }; 256];
        let mut mask = 0;
        while mask < 256 {
            let (mut gaps, mut at) = (0, 0);
            while at < 8 {
                let continues = mask >> at & 1 == 1;
                if continues && (at == 7 || mask >> (at + 1) & 1 == 1) {
                    break;
                }
                table[mask].shuffle[2 * gaps] = at as u8;
                if continues {
                    table[mask].shuffle[2 * gaps + 1] = at as u8 + 1;
                }
                gaps += 1;
                at += 1 + continues as usize;
            }
            table[mask].gaps = gaps as u8;
            table[mask].bytes = at as u8;
            mask += 1;
        }
        table
    }

    /// The function below, if the processor has what it is compiled for.
    pub(super) fn leap() -> Option<Leap> {
        /// To be called after the check only, hence in here.
        fn leap(bytes: &[u8], doc: u32, out: &mut [u32]) -> (usize, usize, u32) {
            // SAFETY: the processor has the features that the function is compiled for.
            unsafe { decode(bytes, doc, out) }
        }
        (level() >= Level::Sse41).then_some(leap)
    }

    /// Decodes while eight bytes and eight slots are there and the next gap has at most two bytes.
    #[target_feature(enable = "sse4.1")]
    fn decode(bytes: &[u8], first: u32, out: &mut [u32]) -> (usize, usize, u32) {
        let (mut at, mut done) = (0, 0);
        let mut last = _mm_set1_epi32(first as i32);
        while done + 8 <= out.len() {
            let Some(chunk) = bytes.get(at..at + 8) else { break };
            // SAFETY: eight bytes are there, and the load has no alignment to keep.
            let chunk = unsafe { _mm_loadl_epi64(chunk.as_ptr().cast()) };
            let entry = &TABLE[(_mm_movemask_epi8(chunk) & 0xff) as usize];
            if entry.gaps == 0 {
                break;
            }
            // SAFETY: the entry has sixteen bytes there.
            let shuffle = unsafe { _mm_loadu_si128(entry.shuffle.as_ptr().cast()) };
            let spread = _mm_shuffle_epi8(chunk, shuffle);
            let low = _mm_and_si128(spread, _mm_set1_epi16(0x7f));
            let high = _mm_srli_epi16(_mm_and_si128(spread, _mm_set1_epi16(0x7f00)), 1);
            let steps = _mm_add_epi16(_mm_or_si128(low, high), _mm_set1_epi16(1));
            let mut near = _mm_cvtepu16_epi32(steps);
            let mut far = _mm_cvtepu16_epi32(_mm_srli_si128(steps, 8));
            near = _mm_add_epi32(near, _mm_slli_si128(near, 4));
            far = _mm_add_epi32(far, _mm_slli_si128(far, 4));
            near = _mm_add_epi32(near, _mm_slli_si128(near, 8));
            far = _mm_add_epi32(far, _mm_slli_si128(far, 8));
            near = _mm_add_epi32(near, last);
            far = _mm_add_epi32(far, _mm_shuffle_epi32(near, 0xff));
            let slots = &mut out[done..done + 8];
            // SAFETY: eight slots are there, which is two vectors.
            unsafe {
                _mm_storeu_si128(slots.as_mut_ptr().cast(), near);
                _mm_storeu_si128(slots.as_mut_ptr().add(4).cast(), far);
            }
            // Slots beyond the gaps found are written again.
            last = _mm_set1_epi32(slots[usize::from(entry.gaps) - 1] as i32);
            at += usize::from(entry.bytes);
            done += usize::from(entry.gaps);
        }
        let doc = if done == 0 { first } else { out[done - 1] };
        (at, done, doc)
    }
}

/// Gaps of one to four bytes, sixteen at once: the last bytes of gaps tell where all gaps start, and one permutation
/// brings each gap into a lane of its own.
#[cfg(target_arch = "x86_64")]
mod wide {
    use std::arch::x86_64::*;

    use super::Leap;
    use crate::base::avx512::{self, four_from, last, load_some, ones, running};

    /// The function below, if the processor has what it is compiled for.
    pub(super) fn leap() -> Option<Leap> {
        /// To be called after the check only, hence in here.
        fn leap(bytes: &[u8], doc: u32, out: &mut [u32]) -> (usize, usize, u32) {
            // SAFETY: the processor has the features that the function is compiled for.
            unsafe { decode(bytes, doc, out) }
        }
        avx512::available().then_some(leap)
    }

    /// Decodes until one of the next sixteen gaps, or of as many as there are slots, has more than four bytes.
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2,bmi2,popcnt")]
    fn decode(bytes: &[u8], first: u32, out: &mut [u32]) -> (usize, usize, u32) {
        let (mut at, mut done) = (0, 0);
        let mut before = _mm512_set1_epi32(first as i32);
        let one = _mm512_set1_epi32(1);
        while done < out.len() {
            let count = (out.len() - done).min(16);
            let window = load_some(bytes, at);
            let last_bytes = !_mm512_movepi8_mask(window) & ones(bytes.len() - at);
            // the last byte of the last gap, 64 if there are too few
            let end = _pdep_u64(1 << (count - 1), last_bytes).trailing_zeros();
            let ends = _mm512_maskz_compress_epi8(last_bytes, POSITIONS.load());
            let ends = _mm512_cvtepu8_epi32(_mm512_castsi512_si128(ends));
            let starts = _mm512_add_epi32(_mm512_alignr_epi32(ends, _mm512_set1_epi32(-1), 15), one);
            let more = _mm512_sub_epi32(ends, starts);
            let slots = ones(count) as __mmask16;
            if end == 64 || _mm512_mask_cmpgt_epi32_mask(slots, more, _mm512_set1_epi32(3)) != 0 {
                break;
            }
            // bits of the bytes that are not the gap's, which may be negative where there is no slot
            let others = _mm512_slli_epi32(_mm512_sub_epi32(_mm512_set1_epi32(3), more), 3);
            let sevens = _mm512_srlv_epi32(_mm512_set1_epi32(0x7f7f_7f7f), others);
            let groups = _mm512_and_si512(_mm512_permutexvar_epi8(four_from(starts), window), sevens);
            // two groups of 7 bits to 14, and two of 14 to 28
            let halves =
                _mm512_ternarylogic_epi32(groups, _mm512_srli_epi16(groups, 1), _mm512_set1_epi32(0x007f_007f), 0xe4);
            let gaps = _mm512_madd_epi16(halves, _mm512_set1_epi32(0x4000_0001));
            let docs = _mm512_add_epi32(before, running(_mm512_add_epi32(gaps, one)));
            let out = &mut out[done..done + count];
            // SAFETY: only slots that are there are written, and the store has no alignment to keep.
            unsafe { _mm512_mask_storeu_epi32(out.as_mut_ptr().cast(), slots, docs) };
            before = last(docs);
            at += end as usize + 1;
            done += count;
        }
        (at, done, if done == 0 { first } else { out[done - 1] })
    }

    static POSITIONS: avx512::Bytes = avx512::Bytes::steps(0, 1);
}

#[cfg(test)]
mod tests {
    use super::super::testing::{check_gpu, from_gaps, words_of};
    use super::*;
    use proptest::prelude::*;

    /// The layout is part of the format: these words never change.
    #[test]
    fn test_literal_words() {
        // gaps less one: 0, 1, 286 = 2 · 128 + 30
        assert_eq!(words_of(&VByte::new(), &[10, 11, 13, 300]), [0x029e_0100]);
    }

    proptest! {
        /// Every decoder gives the same for any bytes.
        #[test]
        fn test_decoders_agree(
            bytes in proptest::collection::vec(prop_oneof![6 => 0u8..128, 3 => 128u8.., 1 => Just(0xff)], 0..700),
            longest in 1usize..7, n in 1usize..=BLOCK,
        ) {
            // runs of continuing bytes are no longer than that, so that whole blocks occur
            let mut bytes = bytes;
            for i in longest - 1..bytes.len() {
                if bytes[i + 1 - longest..=i].iter().all(|&byte| byte >= 128) {
                    bytes[i] &= 127;
                }
            }
            bytes.truncate(bytes.len() / 4 * 4);
            let words: Vec<u32> = bytes.chunks(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect();
            let mut expected = vec![0; n];
            let used = decode(&words, 5, &mut expected, no_leap);
            let ways = [
                Some(VByte::new().leap),
                #[cfg(target_arch = "x86_64")]
                vector::leap(),
            ];
            for leap in ways.into_iter().flatten() {
                let mut out = vec![0; n];
                prop_assert_eq!(decode(&words, 5, &mut out, leap), used);
                if used.is_ok() {
                    prop_assert_eq!(&out, &expected);
                }
            }
        }
    }

    /// The most bytes that 127 gaps have: some of five, all others of four, since docIDs end.
    #[test]
    fn test_the_shader_decodes_the_longest_block() {
        let list = from_gaps(0, (0..127).map(|i| if i % 9 == 4 { (1 << 28) + 1 } else { (1 << 21) + 1 }));
        assert_eq!(list.len(), 128);
        assert_eq!(words_of(&VByte::new(), &list).len(), (14 * 5 + 113 * 4usize).div_ceil(4));
        check_gpu(&VByte::new(), &[list]);
    }
}
