//! Lists of a block and more with one line. In `lrc` all slots have one width and least deviation; in `lrc-seg` each
//! block has its own.
//!
//! The first block starts with the head of the list.
//!
//! | words | what |
//! |---|---|
//! | 0 | `base`, modulo 2^32: the least vertical deviation of the list from a line that starts at 0 |
//! | 1, 2 | [`ListLine`]: slope and width `w` of the list |
//! | 3.. | `lrc-seg` without exceptions: the [`Table`] of the blocks' widths |
//!
//! In `lrc` position `p` of the list holds `base + line(p) + slot[p]`, and slot `p` is bits `p w ..` behind the head: a
//! whole block has `4 w` words. In `lrc-seg` position `i` of a block that starts at position `s` holds `first + line(s
//! + i) - line(s) + slot[i] - slot[0]`, with the width of the block. Where exceptions may be, each block's slots are a
//! [`parapfor`](super::super::parapfor) segment in both.

use super::super::{CodecError, Skip};
use super::BLOCK;
use super::line::{Bounds, ListLine};
use super::segment::range;
use super::slots::{self, Slots, Table, blocks_of};
use crate::base::simd;

/// Words of the head, without the table.
const HEAD_WORDS: usize = 3;

/// Which of the codecs, with which parameter.
#[derive(Clone, Copy)]
pub struct Global {
    /// Whether it is `lrc-seg`.
    pub seg: bool,
    /// Hundredths of the slots that may be exceptions.
    pub exceptions: u32,
}

impl Global {
    /// Computes the slots of the block at position `start` of a list with `line` and the least deviation `low`.
    fn slots(self, (line, low): (ListLine, i64), start: usize, block: &[u32], room: &mut [u32; BLOCK]) -> Slots {
        let slots = &mut room[..block.len()];
        let deviations = || block.iter().zip(start..).map(move |(&doc, p)| i64::from(doc) - i64::from(line.at(p)));
        let low = if self.seg { range(deviations()).0 } else { low };
        slots.iter_mut().zip(deviations()).for_each(|(slot, d)| *slot = (d - low) as u32);
        match self.exceptions {
            0 if !self.seg => Slots::Fields(line.width),
            _ => Slots::choose(slots, self.exceptions),
        }
    }

    fn table_words(self, blocks: usize) -> usize {
        if self.seg { Table::words(blocks, self.exceptions) } else { 0 }
    }

    /// How many words a list takes up.
    pub fn size(self, list: &[u32]) -> usize {
        let fit = ListLine::fit(list);
        let mut room = [0; BLOCK];
        let mut words =
            |(start, block): (usize, &[u32])| self.slots(fit, start, block, &mut room).bits(block.len()).div_ceil(32);
        let slots = match self {
            // a whole block is whole words
            Self { seg: false, exceptions: 0 } => (list.len() * fit.0.width as usize).div_ceil(32),
            _ => blocks_of(list).map(&mut words).sum(),
        };
        HEAD_WORDS + self.table_words(list.len().div_ceil(BLOCK)) + slots
    }

    /// Appends the words of a list.
    pub fn encode(self, list: &[u32], out: &mut Vec<u32>, skips: &mut Vec<Skip>) {
        let fit = ListLine::fit(list);
        let mut room = [0; BLOCK];
        let start_of_list = out.len();
        out.push(fit.1 as u32);
        out.extend(fit.0.words());
        if self.seg && self.exceptions == 0 {
            Table::append(blocks_of(list).map(|(start, block)| self.slots(fit, start, block, &mut room)), out);
        }
        for (start, block) in blocks_of(list) {
            let offset = if start == 0 { 0 } else { out.len() - start_of_list };
            skips.push(Skip { first: block[0], offset: offset as u32, bound: 0 });
            self.slots(fit, start, block, &mut room).append(&room[..block.len()], out);
        }
    }

    /// Decodes block `index` of a list.
    pub fn decode(self, list: &[u32], skip: &Skip, index: usize, out: &mut [u32]) -> Result<usize, CodecError> {
        let line = ListLine::read(list, 1)?;
        let (table, width) = match self {
            Self { seg: false, exceptions: 0 } => (0, Some(line.width)),
            Self { seg: false, .. } => (0, None),
            Self { seg: true, exceptions } => {
                let table = Table::read(list, HEAD_WORDS, exceptions, index)?;
                (table.words, table.width)
            }
        };
        let head = if index == 0 { HEAD_WORDS + table } else { 0 };
        let words = list.get(skip.offset as usize + head..).ok_or(CodecError::Truncated)?;
        let start = index * BLOCK;
        let end = slots::read(words, 0, width, out.len(), |slots, end| {
            let base = match self.seg {
                true => skip.first.wrapping_sub(line.at(start)).wrapping_sub(slots[0]),
                false => list[0],
            };
            add_line(line, base, start, out, slots);
            end
        })?;
        Ok(head + end.div_ceil(32))
    }
}

/// Bounds of the docIDs of a list of `lrc` or `lrc-seg` with 128 docIDs or more. The list starts with `words` and its
/// first docID is `first`: see "Where a docID can be" in the docs of the folder.
///
/// # Errors
/// The words are not the head of such a list.
pub fn list_bounds(words: &[u32], first: u32) -> Result<Bounds, CodecError> {
    let base = *words.first().ok_or(CodecError::Truncated)?;
    let line = ListLine::read(words, 1)?;
    // `base` is modulo 2^32, and the least deviation may be below 0
    let low = f64::from(first) - f64::from(first.wrapping_sub(base));
    Ok(Bounds { slope: line.slope(), low, span: f64::from(line.width).exp2() })
}

simd::avx2! {
    /// [`ListLine::add_to`], as fast as the processor can.
    fn add_line(line: ListLine, base: u32, start: usize, out: &mut [u32], slots: &[u32]) {
        line.add_to(base, start, out, slots)
    }
}
