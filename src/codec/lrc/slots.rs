//! The slots of a block: fields of one width, or with exceptions a segment of [`parapfor`](super::super::parapfor).

use super::super::CodecError;
use super::super::parapfor::segment;
use super::BLOCK;
use crate::base::bits::{BitWriter, Packer, UNPACKED, bits_of, get_bits, unpack};

/// Bits of the code of a width.
pub const WIDTH_BITS: u32 = 5;

/// The width of fields for numbers up to `top`; never 31, since five bits tell 32 widths.
#[inline]
pub fn field_width(top: u32) -> u32 {
    match bits_of(top) {
        31 => 32,
        width => width,
    }
}

/// The width that a code stands for.
#[inline]
pub fn width_of(code: u32) -> u32 {
    if code == 31 { 32 } else { code }
}

/// How the slots of one block are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slots {
    /// Fields of this width.
    Fields(u32),
    /// A segment, which says itself what it is.
    Segment(segment::Form),
}

impl Slots {
    /// Fields if no hundredth of `slots` may be exceptions, or else a segment.
    pub fn choose(slots: &[u32], exceptions: u32) -> Self {
        match exceptions {
            0 => Self::Fields(field_width(slots.iter().fold(0, |all, slot| all | slot))),
            _ => Self::Segment(segment::Form::choose(slots, exceptions)),
        }
    }

    /// Bits of `n` slots, without the code of a width.
    pub fn bits(self, n: usize) -> usize {
        match self {
            Self::Fields(width) => n * width as usize,
            Self::Segment(form) => form.bits(n),
        }
    }

    /// The code of the width of fields, five bits; a segment has none.
    pub fn code(self) -> Option<u32> {
        match self {
            Self::Fields(width) => Some(width.min(31)),
            Self::Segment(_) => None,
        }
    }

    /// Appends `slots`.
    pub fn pack(self, slots: &[u32], packer: &mut Packer<'_>) {
        match self {
            Self::Fields(width) => packer.push_all(slots, width),
            Self::Segment(form) => form.pack(slots, packer),
        }
    }

    /// Appends `slots` from a whole word on.
    pub fn append(self, slots: &[u32], out: &mut Vec<u32>) {
        let start = out.len();
        let words = self.bits(slots.len()).div_ceil(32);
        out.resize(start + words + 2, 0);
        let mut packer = Packer::new(&mut out[start..]);
        self.pack(slots, &mut packer);
        packer.finish();
        out.truncate(start + words);
    }
}

/// Reads `n` slots from bit `at` of `words`, fields of `width` bits, or a segment if there is no width; hands them on
/// together with the first bit behind them.
#[inline(always)]
pub fn read<T>(
    words: &[u32],
    at: usize,
    width: Option<u32>,
    n: usize,
    use_slots: impl FnOnce(&[u32], usize) -> T,
) -> Result<T, CodecError> {
    match width {
        Some(width) => {
            let mut slots = [0; UNPACKED];
            unpack(words, at, width, n, &mut slots).ok_or(CodecError::Truncated)?;
            Ok(use_slots(&slots[..n], at + n * width as usize))
        }
        None => {
            let mut slots = [0; segment::SLOTS];
            let end = segment::Form::unpack(words, at, n, &mut slots)?;
            Ok(use_slots(&slots[..n], end))
        }
    }
}

/// The widths of a list's blocks, in its head: a word with their number, then five bits each; the rest of the last word
/// is zero. Absent where slots are segments.
pub struct Table {
    /// Words it takes up.
    pub words: usize,
    /// The width of the block that was asked for.
    pub width: Option<u32>,
}

impl Table {
    /// Words of the table of `blocks` blocks.
    pub fn words(blocks: usize, exceptions: u32) -> usize {
        if exceptions > 0 { 0 } else { 1 + (blocks * WIDTH_BITS as usize).div_ceil(32) }
    }

    /// Appends the table of blocks whose slots are fields.
    pub fn append(blocks: impl ExactSizeIterator<Item = Slots>, out: &mut Vec<u32>) {
        out.push(blocks.len() as u32);
        let mut writer = BitWriter::new(out);
        blocks.filter_map(Slots::code).for_each(|code| writer.push(code, WIDTH_BITS));
        writer.finish();
    }

    /// Reads what the table at word `at` of `list` says of block `index`.
    pub fn read(list: &[u32], at: usize, exceptions: u32, index: usize) -> Result<Self, CodecError> {
        if exceptions > 0 {
            return Ok(Self { words: 0, width: None });
        }
        let (&blocks, codes) = list.get(at..).and_then(<[u32]>::split_first).ok_or(CodecError::Truncated)?;
        let code = get_bits(codes, index * WIDTH_BITS as usize, WIDTH_BITS).ok_or(CodecError::Truncated)?;
        Ok(Self { words: Self::words(blocks as usize, 0), width: Some(width_of(code)) })
    }
}

/// The blocks of a list, each with the position where it starts.
pub fn blocks_of(list: &[u32]) -> impl ExactSizeIterator<Item = (usize, &[u32])> {
    list.chunks(BLOCK).enumerate().map(|(i, block)| (i * BLOCK, block))
}
