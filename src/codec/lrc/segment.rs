//! A block with a line of its own, or without one: all of `seg-lrc`, and the lists of less than a block of the others.
//!
//! With `first` the block's first docID, position `i` holds `first + i + line(i) + slot[i] - slot[0]`: the line starts
//! at `first`, and `slot[0]` is how far the least vertical deviation is below 0. A block of one docID has no words.
//!
//! | bits | what |
//! |---|---|
//! | 0 | 1 if there is a line |
//! | 1..17 | with a line: its [`Slope`] |
//! | 17..22 | with a line: code of the width `w` of slots, 31 for 32 |
//! | 22.. | with a line: slots 0 to `n - 1`, `w` bits each |
//! | 17.. | with a line, where exceptions may be: slots 0 to `n - 1` as a [`parapfor`](super::super::parapfor) segment |
//! | 1..6 | without: the code of `w` |
//! | 6.. | without: slots 1 to `n - 1`, `w` bits each; slot 0 and the line are 0 |

use super::super::CodecError;
use super::BLOCK;
use super::line::{Slope, least_squares};
use super::slots::{self, Slots, WIDTH_BITS, field_width, width_of};
use crate::base::bits::{Packer, get_bits};
use crate::base::simd;

const PLAIN_BITS: usize = 1 + WIDTH_BITS as usize;
const LINE_BITS: usize = 1 + Slope::BITS as usize;

/// How a block is stored.
struct Form {
    line: Option<Slope>,
    slots: Slots,
    /// Words of the block.
    words: usize,
}

impl Form {
    /// The shorter form, without a line if both are equal; `numbers` become its slots.
    fn choose(block: &[u32], exceptions: u32, numbers: &mut [u32]) -> Self {
        let m = block.len() - 1;
        let width = field_width(block[m] - block[0] - m as u32);
        let plain =
            Self { line: None, slots: Slots::Fields(width), words: (PLAIN_BITS + m * width as usize).div_ceil(32) };
        // A line takes a slot and its own bits: with fewer than three other slots it cannot save as many.
        if m >= 3 {
            let slope = Slope::nearest(least_squares(block) - 1.0, m as u32);
            let first = i64::from(block[0]);
            // Neither docIDs nor the line rise by 2^32 in a block, so deviations are less than that apart.
            let (low, _) = range(slope.deviations(first, block));
            numbers.iter_mut().zip(slope.deviations(first + low, block)).for_each(|(slot, d)| *slot = d as u32);
            let slots = Slots::choose(numbers, exceptions);
            let code = if exceptions > 0 { 0 } else { WIDTH_BITS as usize };
            let words = (LINE_BITS + code + slots.bits(block.len())).div_ceil(32);
            if words < plain.words {
                return Self { line: Some(slope), slots, words };
            }
        }
        (0..).zip(block).zip(numbers).for_each(|((i, &doc), number)| *number = doc - block[0] - i);
        plain
    }
}

/// The least and the greatest of some numbers.
pub fn range(numbers: impl Iterator<Item = i64>) -> (i64, i64) {
    numbers.fold((i64::MAX, i64::MIN), |(low, high), number| (low.min(number), high.max(number)))
}

/// Runs `work` with room for the slots of `block`. Most lists are short; clearing a buffer for a whole block would cost
/// more than encoding them.
fn with_room<T>(block: &[u32], work: impl FnOnce(&mut [u32]) -> T) -> T {
    match block.len() {
        n @ ..=16 => work(&mut [0; 16][..n]),
        n => work(&mut [0; BLOCK][..n]),
    }
}

/// How many words `block` takes up.
pub fn size(block: &[u32], exceptions: u32) -> usize {
    if block.len() == 1 { 0 } else { with_room(block, |numbers| Form::choose(block, exceptions, numbers).words) }
}

/// Appends the words of `block`.
pub fn encode(block: &[u32], exceptions: u32, out: &mut Vec<u32>) {
    if block.len() > 1 {
        with_room(block, |numbers| encode_with(block, exceptions, numbers, out));
    }
}

fn encode_with(block: &[u32], exceptions: u32, numbers: &mut [u32], out: &mut Vec<u32>) {
    let form = Form::choose(block, exceptions, numbers);
    let start = out.len();
    out.resize(start + form.words + 2, 0);
    let mut packer = Packer::new(&mut out[start..]);
    if let Some(slope) = form.line {
        packer.push(1 | u64::from(slope.code()) << 1, LINE_BITS as u32);
    } else {
        packer.push(0, 1);
    }
    if let Some(code) = form.slots.code() {
        packer.push(code.into(), WIDTH_BITS);
    }
    form.slots.pack(if form.line.is_some() { numbers } else { &numbers[1..] }, &mut packer);
    packer.finish();
    out.truncate(start + form.words);
}

/// Decodes a block of at most 128 docIDs at the start of `words`, and returns how many words it takes up.
pub fn decode(words: &[u32], first: u32, exceptions: u32, out: &mut [u32]) -> Result<usize, CodecError> {
    if let [slot] = out {
        *slot = first;
        return Ok(0);
    }
    let head = *words.first().ok_or(CodecError::Truncated)?;
    if head & 1 == 0 {
        let (n, width) = (out.len() - 1, width_of(head >> 1 & 31));
        out[0] = first;
        if n <= SHORT {
            return decode_short(words, first, width, &mut out[1..]);
        }
        return slots::read(words, PLAIN_BITS, Some(width), n, |slots, end| {
            add_line(Slope::default(), first.wrapping_add(1), &mut out[1..], slots);
            end.div_ceil(32)
        });
    }
    let (at, width) = match exceptions {
        0 => (LINE_BITS + WIDTH_BITS as usize, Some(width_of(head >> LINE_BITS & 31))),
        _ => (LINE_BITS, None),
    };
    slots::read(words, at, width, out.len(), |slots, end| {
        add_line(Slope::from_code(head >> 1), first.wrapping_sub(slots[0]), out, slots);
        end.div_ceil(32)
    })
}

/// Up to so many slots it does not pay to unpack them together.
const SHORT: usize = 6;

fn decode_short(words: &[u32], first: u32, width: u32, out: &mut [u32]) -> Result<usize, CodecError> {
    let mut at = PLAIN_BITS;
    for (i, slot) in (1u32..).zip(out) {
        let number = get_bits(words, at, width).ok_or(CodecError::Truncated)?;
        *slot = first.wrapping_add(i).wrapping_add(number);
        at += width as usize;
    }
    Ok(at.div_ceil(32))
}

simd::avx2! {
    /// [`Slope::add_to`], as fast as the processor can.
    pub fn add_line(slope: Slope, base: u32, out: &mut [u32], slots: &[u32]) {
        slope.add_to(base, out, slots)
    }
}
