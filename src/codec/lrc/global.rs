//! Lists of a block and more with one line: `lrc`, whose slots all have one width, and `lrc-seg`, whose blocks each have
//! a width and a least deviation of their own.
//!
//! The first block starts with the head of the list.
//!
//! | words | what |
//! |---|---|
//! | 0 | `base`, modulo 2^32: the least vertical deviation of the list from a line that starts at 0 |
//! | 1, 2 | [`ListLine`]: slope and width `w` of the list |
//! | 3 | `lrc-seg`: how many blocks there are |
//! | .. | `lrc-seg`: five bits a block, the code of its width; zeros up to the next word |
//!
//! In `lrc` position `p` of the list holds `base + line(p) + slot[p]`, and slot `p` is bits `p w ..` behind the head:
//! a whole block has `4 w` words. In `lrc-seg` position `i` of a block that starts at position `s` holds
//! `first + line(s + i) - line(s) + slot[i] - slot[0]`, with the width of the block.

use super::super::bits::{BitWriter, Packer, get_bits};
use super::super::{CodecError, Skip};
use super::BLOCK;
use super::line::{ListLine, WIDTH_BITS, slot_width, slots, width_code, width_of};
use super::segment::range;

/// Words of `lrc`'s head, and of the fixed part of `lrc-seg`'s.
const HEAD_WORDS: usize = 3;

/// Words of the codes of `blocks` widths.
pub fn widths_words(blocks: usize) -> usize {
    (blocks * WIDTH_BITS as usize).div_ceil(32)
}

/// The width of block `index`, whose code is one of those that start at word `at`.
pub fn block_width(words: &[u32], at: usize, index: usize) -> Result<u32, CodecError> {
    let codes = words.get(at..).ok_or(CodecError::Truncated)?;
    get_bits(codes, index * WIDTH_BITS as usize, WIDTH_BITS).map(width_of).ok_or(CodecError::Truncated)
}

/// Appends the codes of `widths`.
pub fn push_widths(widths: impl Iterator<Item = u32>, out: &mut Vec<u32>) {
    let mut writer = BitWriter::new(out);
    widths.for_each(|width| writer.push(width_code(width), WIDTH_BITS));
    writer.finish();
}

/// Appends slots of one width, from a whole word on.
pub fn push_slots(slots: &[u32], width: u32, out: &mut Vec<u32>) {
    let start = out.len();
    let words = (slots.len() * width as usize).div_ceil(32);
    out.resize(start + words + 2, 0);
    let mut packer = Packer::new(&mut out[start..]);
    packer.push_all(slots, width);
    packer.finish();
    out.truncate(start + words);
}

/// Vertical deviations of a block that starts at position `start`.
fn deviations(line: ListLine, start: usize, block: &[u32]) -> impl Iterator<Item = i64> {
    block.iter().zip(start..).map(move |(&doc, p)| i64::from(doc) - i64::from(line.at(p)))
}

/// Width and least deviation of a block in `lrc-seg`.
fn block_form(line: ListLine, start: usize, block: &[u32]) -> (u32, i64) {
    let (low, high) = range(deviations(line, start, block));
    // No more than the list's range, which fits.
    (slot_width((high - low) as u32), low)
}

/// The blocks of a list, each with the position where it starts.
pub fn blocks_of(list: &[u32]) -> impl Iterator<Item = (usize, &[u32])> {
    (0..).step_by(BLOCK).zip(list.chunks(BLOCK))
}

/// How many words a list takes up in `lrc`, or with `seg` in `lrc-seg`.
pub fn size(list: &[u32], seg: bool) -> usize {
    let (line, _) = ListLine::fit(list);
    let words = |n: usize, width: u32| (n * width as usize).div_ceil(32);
    if !seg {
        return HEAD_WORDS + words(list.len(), line.width);
    }
    let slots = blocks_of(list).map(|(start, block)| words(block.len(), block_form(line, start, block).0));
    HEAD_WORDS + 1 + widths_words(list.len().div_ceil(BLOCK)) + slots.sum::<usize>()
}

/// Appends the words of a list in `lrc`, or with `seg` in `lrc-seg`.
pub fn encode(list: &[u32], seg: bool, out: &mut Vec<u32>, skips: &mut Vec<Skip>) {
    let (line, low) = ListLine::fit(list);
    let start_of_list = out.len();
    out.push(low as u32);
    out.extend(line.words());
    if seg {
        out.push(list.len().div_ceil(BLOCK) as u32);
        push_widths(blocks_of(list).map(|(start, block)| block_form(line, start, block).0), out);
    }
    let mut buffer = [0; BLOCK];
    for (start, block) in blocks_of(list) {
        let offset = if start == 0 { 0 } else { out.len() - start_of_list };
        skips.push(Skip { first: block[0], offset: offset as u32, bound: 0 });
        let (width, low) = if seg { block_form(line, start, block) } else { (line.width, low) };
        let slots = &mut buffer[..block.len()];
        slots.iter_mut().zip(deviations(line, start, block)).for_each(|(slot, d)| *slot = (d - low) as u32);
        push_slots(slots, width, out);
    }
}

/// Decodes block `index` of a list in `lrc`, or with `seg` in `lrc-seg`.
pub fn decode(list: &[u32], skip: &Skip, index: usize, seg: bool, out: &mut [u32]) -> Result<usize, CodecError> {
    let line = ListLine::read(list, 1)?;
    let (head, width) = if seg {
        let blocks = *list.get(HEAD_WORDS).ok_or(CodecError::Truncated)? as usize;
        (HEAD_WORDS + 1 + widths_words(blocks), block_width(list, HEAD_WORDS + 1, index)?)
    } else {
        (HEAD_WORDS, line.width)
    };
    let head = if index == 0 { head } else { 0 };
    let at = skip.offset as usize + head;
    let words = list.get(at..).ok_or(CodecError::Truncated)?;
    let slots = slots(words, 0, width, out.len())?;
    let start = index * BLOCK;
    let base = if seg { skip.first.wrapping_sub(line.at(start)).wrapping_sub(slots[0]) } else { list[0] };
    add_line(line, base, start, out, &slots);
    Ok(head + (out.len() * width as usize).div_ceil(32))
}

fn add_line(line: ListLine, base: u32, start: usize, out: &mut [u32], slots: &[u32]) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has the feature that the function is compiled for.
        return unsafe { add_line_avx2(line, base, start, out, slots) };
    }
    line.add_to(base, start, out, slots);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn add_line_avx2(line: ListLine, base: u32, start: usize, out: &mut [u32], slots: &[u32]) {
    line.add_to(base, start, out, slots);
}
