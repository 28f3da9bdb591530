//! `simdbp`: gaps of 128 docIDs bit-packed with one width a block, in the four interleaved streams that SIMD
//! registers of four lanes unpack at once, and that a GPU's team reads without talking.
//!
//! Lemire and Boytsov, *Decoding billions of integers per second through vectorization*, Software: Practice and
//! Experience 45(1), 2015, doi:10.1002/spe.2203 (SIMD-BP128, without its groups of sixteen blocks); the width in
//! the place of the gap that no block needs is gamut's own.
//!
//! A block of `n` docIDs has the `n - 1` numbers `d[i+1] - d[i] - 1`, and `w` is the bits that the largest needs.
//!
//! A whole block, `n` = 128, is `4w` words: word `4r + c` is word `r` of stream `c`, and stream `c` holds the fields
//! numbered `c`, `4 + c`, `8 + c`, …, `w` bits each. Field `i` is the gap before docID `i`. Before docID 0 there
//! is none, and field 0 is `2^(w-1)`, so that the lowest one of word 0 tells `w` and the header costs nothing.
//!
//! | words | what |
//! |---|---|
//! | 1, all zeros | `w` = 0: every docID is the one before plus 1 |
//! | `4w` | lowest one of word 0 at bit `w - 1`; 128 fields as above |
//!
//! A shorter block is a plain row of bits, with no room for what is not there:
//!
//! | `n` | bits | what |
//! |---|---|---|
//! | 1 | | no words |
//! | 2 | 0..32 | the gap |
//! | 3 to 127 | 0..5 | `w`, but 31 means 32 |
//! | | 5.. | `n - 1` fields of `w` bits, in order; then zeros up to the next word |
//!
//! In a whole block the four fields `4l` to `4l + 3` stand at the same bit of the four streams: thread `l` of a team
//! loads four neighbouring words, and the next four if the fields straddle, and one sum over the team turns gaps to docIDs.
//!
//! Range: every docID up to 2^32 - 1. Size: `4w` words for 128 docIDs, so at most 128; `⌈(5 + (n-1) w) / 32⌉` for fewer.

use std::sync::Arc;

use bitpacking::{BitPacker as _, BitPacker4x};

use super::bits::{BitWriter, UNPACKED, bits_of, unpack};
use super::{Codec, CodecError, Family, Shader, Skip, block_words, encode_blocks};

const BLOCK: usize = 128;
/// Bits that tell the width of a block of 3 to 127 docIDs.
const WIDTH_BITS: u32 = 5;

/// `simdbp`.
pub static SIMDBP: Family = Family {
    name: "simdbp",
    id: 17,
    about: "gaps of one width per block of 128, laid out for SIMD and GPU teams",
    paper: "Lemire, Boytsov: Decoding billions of integers per second through vectorization (SPE 45(1), 2015)",
    params: &[],
    make: |_| Arc::new(SimdBp),
};

/// Bit-packed gaps, `simdbp`.
struct SimdBp;

impl Codec for SimdBp {
    fn family(&self) -> &'static Family {
        &SIMDBP
    }

    fn block_len(&self) -> usize {
        BLOCK
    }

    fn encode(&self, list: &[u32], out: &mut Vec<u32>, skips: &mut Vec<Skip>) {
        encode_blocks(list, BLOCK, out, skips, encode_block);
    }

    fn decode_block(&self, list: &[u32], skip: &Skip, _index: usize, out: &mut [u32]) -> Result<usize, CodecError> {
        let words = block_words(list, skip)?;
        match <&mut [u32; BLOCK]>::try_from(&mut *out) {
            Ok(out) => decode_whole(words, skip.first, out),
            Err(_) => decode_short(words, skip.first, out),
        }
    }

    fn size(&self, list: &[u32]) -> usize {
        list.chunks(BLOCK).map(words_of).sum()
    }

    fn shader(&self) -> Option<Shader> {
        Some(Shader {
            source: include_str!("../../shaders/codec/simdbp.wgsl").to_owned(),
            scratch_words: 0,
            random_access: false,
        })
    }
}

/// Bits of the largest gap less one.
fn width(block: &[u32]) -> u32 {
    bits_of(block.windows(2).fold(0, |any, pair| any | (pair[1] - pair[0] - 1)))
}

/// The width as blocks of 3 to 127 docIDs store it; gaps of 31 bits are stored in 32.
fn stored(width: u32) -> u32 {
    width.min(31)
}

fn words_of(block: &[u32]) -> usize {
    match block.len() {
        1 => 0,
        2 => 1,
        BLOCK => (4 * width(block) as usize).max(1),
        n => (WIDTH_BITS as usize + (n - 1) * field_bits(stored(width(block))) as usize).div_ceil(32),
    }
}

/// The width that a stored one means.
fn field_bits(stored: u32) -> u32 {
    if stored == 31 { 32 } else { stored }
}

fn encode_block(block: &[u32], out: &mut Vec<u32>) {
    let gaps = block.windows(2).map(|pair| pair[1] - pair[0] - 1);
    match block.len() {
        1 => {}
        2 => out.extend(gaps),
        BLOCK => {
            let width = width(block);
            if width == 0 {
                out.push(0);
                return;
            }
            let mut fields = [1 << (width - 1); BLOCK];
            fields[1..].iter_mut().zip(gaps).for_each(|(field, gap)| *field = gap);
            let start = out.len();
            out.resize(start + 4 * width as usize, 0);
            BitPacker4x::new().compress(&fields, bytemuck::cast_slice_mut(&mut out[start..]), width as u8);
        }
        _ => {
            let stored = stored(width(block));
            let mut writer = BitWriter::new(out);
            writer.push(stored, WIDTH_BITS);
            gaps.for_each(|gap| writer.push(gap, field_bits(stored)));
            writer.finish();
        }
    }
}

/// Decodes a block of 128 docIDs at the start of `words`.
fn decode_whole(words: &[u32], first: u32, out: &mut [u32; BLOCK]) -> Result<usize, CodecError> {
    let head = *words.first().ok_or(CodecError::Truncated)?;
    if head == 0 {
        out.iter_mut().zip(0..).for_each(|(slot, i)| *slot = first.wrapping_add(i));
        return Ok(1);
    }
    let width = head.trailing_zeros() + 1;
    let used = 4 * width as usize;
    let words = words.get(..used).ok_or(CodecError::Truncated)?;
    // The sum before field 0, which is one more than its content.
    let before = first.wrapping_sub(1 + (1 << (width - 1)));
    BitPacker4x::new().decompress_strictly_sorted(Some(before), bytemuck::cast_slice(words), out, width as u8);
    Ok(used)
}

/// Decodes a block of fewer docIDs at the start of `words`.
fn decode_short(words: &[u32], first: u32, out: &mut [u32]) -> Result<usize, CodecError> {
    let Some((slot, rest)) = out.split_first_mut() else { return Ok(0) };
    *slot = first;
    if rest.len() >= BLOCK {
        return Err(CodecError::Malformed("a simdbp block has at most 128 docIDs"));
    }
    let (head, bits) = match rest.len() {
        0 => return Ok(0),
        1 => (0, 32),
        _ => (WIDTH_BITS, field_bits(words.first().ok_or(CodecError::Truncated)? & 31)),
    };
    let used = (head as usize + rest.len() * bits as usize).div_ceil(32);
    let mut gaps = [0; UNPACKED];
    unpack(words, head as usize, bits, rest.len(), &mut gaps).ok_or(CodecError::Truncated)?;
    rest.iter_mut().zip(gaps).fold(first, |before, (slot, gap)| {
        *slot = before.wrapping_add(gap).wrapping_add(1);
        *slot
    });
    Ok(used)
}

#[cfg(test)]
mod tests {
    use super::super::testing::words_of;
    use super::*;

    /// The layout is part of the format: these words never change.
    #[test]
    fn test_literal_words_of_short_blocks() {
        assert!(words_of(&SimdBp, &[7]).is_empty());
        assert_eq!(words_of(&SimdBp, &[0, u32::MAX]), [u32::MAX - 1]);
        // gaps less one: 0, 1, 286 of nine bits
        assert_eq!(words_of(&SimdBp, &[10, 11, 13, 300]), [9 | 1 << 14 | 286 << 23]);
        // width 32 is stored as 31
        assert_eq!(words_of(&SimdBp, &[0, 1, 1 + (1 << 31)]), [31, (u32::MAX >> 1) << 5, u32::MAX >> 28]);
        assert_eq!(words_of(&SimdBp, &[5, 6, 7]), [0]);
    }

    /// As above, and what a thread of a GPU's team relies on.
    #[test]
    fn test_literal_words_of_a_whole_block() {
        assert_eq!(words_of(&SimdBp, &(9..137).collect::<Vec<u32>>()), [0]);
        // gaps less one: 0 to 4 in turns, three bits; the place of the first says that it is three
        let list: Vec<u32> =
            (0..128u32).scan(0, |doc, i| Some(std::mem::replace(doc, *doc + 1 + (i + 1) % 5))).collect();
        let words = words_of(&SimdBp, &list);
        assert_eq!(words.len(), 12);
        for (i, gap) in (0..128).map(|i| (i, if i == 0 { 4 } else { i % 5 })) {
            let (stream, bit) = (i % 4, i / 4 * 3);
            let whole = (0..3).fold(0u128, |whole, r| whole | u128::from(words[4 * r + stream]) << (32 * r));
            assert_eq!(whole >> bit & 7, gap as u128, "field {i}");
        }
    }
}
