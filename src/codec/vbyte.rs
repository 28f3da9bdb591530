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
//! the block: up to two where the slice has them.

use super::{Codec, CodecError, Skip};

const BLOCK: usize = 128;

/// Variable-byte gaps, `vbyte`.
pub struct VByte;

/// Bytes of one number.
#[inline]
fn byte_len(gap: u32) -> usize {
    // bits 0..=7 → 1, 8..=14 → 2, …: one table-free multiplication instead of a division by 7.
    ((super::bits::bits_of(gap | 1) * 37 + 219) >> 8) as usize
}

impl Codec for VByte {
    fn name(&self) -> &'static str {
        "vbyte"
    }

    fn id(&self) -> u8 {
        1
    }

    fn paper(&self) -> &'static str {
        "Williams, Zobel: Compressing integers for fast file access (Computer Journal 42(3), 1999)"
    }

    fn block_len(&self) -> usize {
        BLOCK
    }

    fn encode(&self, list: &[u32], out: &mut Vec<u32>, skips: &mut Vec<Skip>) {
        let start = out.len();
        for block in list.chunks(BLOCK) {
            skips.push(Skip { first: block[0], offset: (out.len() - start) as u32, bound: 0 });
            encode_block(block, out);
        }
    }

    fn decode_block(&self, list: &[u32], skip: &Skip, _index: usize, out: &mut [u32]) -> Result<usize, CodecError> {
        let words = list.get(skip.offset as usize..).ok_or(CodecError::Truncated)?;
        decode(words, skip.first, out)
    }

    fn size(&self, list: &[u32]) -> usize {
        list.chunks(BLOCK)
            .map(|block| block.windows(2).map(|pair| byte_len(pair[1] - pair[0] - 1)).sum::<usize>().div_ceil(4))
            .sum()
    }
}

fn encode_block(block: &[u32], out: &mut Vec<u32>) {
    let mut acc = 0u64;
    let mut fill = 0u32;
    for pair in block.windows(2) {
        let gap = pair[1] - pair[0] - 1;
        if gap < 0x80 {
            acc |= u64::from(gap) << fill;
            fill += 8;
        } else if gap < 0x4000 {
            acc |= u64::from(gap & 0x7f | 0x80 | gap << 1 & 0x7f00) << fill;
            fill += 16;
        } else {
            let mut rest = gap;
            while rest >= 0x80 {
                acc |= u64::from(rest & 0x7f | 0x80) << fill;
                rest >>= 7;
                fill += 8;
                if fill >= 32 {
                    out.push(acc as u32);
                    acc >>= 32;
                    fill -= 32;
                }
            }
            acc |= u64::from(rest) << fill;
            fill += 8;
        }
        if fill >= 32 {
            out.push(acc as u32);
            acc >>= 32;
            fill -= 32;
        }
    }
    if fill > 0 {
        out.push(acc as u32);
    }
}

/// High bits of eight bytes.
const CONTINUES: u64 = 0x8080_8080_8080_8080;

/// Decodes a block of `out.len()` docIDs at the start of `words`.
fn decode(words: &[u32], first: u32, out: &mut [u32]) -> Result<usize, CodecError> {
    let Some((slot, rest)) = out.split_first_mut() else { return Ok(0) };
    *slot = first;
    let bytes: &[u8] = bytemuck::cast_slice(words);
    let mut at = 0;
    let mut done = 0;
    let mut doc = first;
    while done < rest.len() {
        if let Some(chunk) = bytes.get(at..at + 8) {
            let mut word = u64::from_le_bytes(chunk.try_into().expect("eight bytes"));
            if word & CONTINUES == 0 && rest.len() - done >= 8 {
                for slot in &mut rest[done..done + 8] {
                    doc = doc.wrapping_add(1 + (word & 0x7f) as u32);
                    *slot = doc;
                    word >>= 8;
                }
                at += 8;
                done += 8;
                continue;
            }
            let mut ends = !word & CONTINUES;
            if ends == 0 || ends.trailing_zeros() > 39 {
                return Err(CodecError::Malformed("a gap of more than five bytes"));
            }
            while ends != 0 && done < rest.len() {
                let bits = ends.trailing_zeros() + 1;
                let field = word & (u64::MAX >> (64 - bits));
                let gap = join(field);
                if bits > 40 || gap > u64::from(u32::MAX) {
                    return Err(CodecError::Malformed("a gap of more than 32 bits"));
                }
                doc = doc.wrapping_add(1).wrapping_add(gap as u32);
                rest[done] = doc;
                done += 1;
                at += bits as usize / 8;
                if bits == 64 {
                    break;
                }
                word >>= bits;
                ends >>= bits;
            }
        } else {
            let (gap, len) = slow_gap(&bytes[at..])?;
            doc = doc.wrapping_add(1).wrapping_add(gap);
            rest[done] = doc;
            done += 1;
            at += len;
        }
    }
    Ok(at.div_ceil(4))
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
