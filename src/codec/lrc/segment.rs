//! A block with a line of its own, or without one: all of `seg-lrc`, and the lists of less than a block of the others.
//!
//! With `first` the block's first docID, position `i` holds `first + i + line(i) + slot[i] - slot[0]`: the line
//! starts at `first`, and `slot[0]` is what the least vertical deviation is below 0. A block of one docID has no words.
//!
//! | bits | what |
//! |---|---|
//! | 0 | 1 if there is a line |
//! | 1..6 | code of the width `w`: 31 stands for 32 |
//! | 6..22 | with a line: its [`Slope`] |
//! | 22.. | with a line: slots 0 to `n - 1`, `w` bits each |
//! | 6.. | without: slots 1 to `n - 1`; slot 0 and the line are 0 |

use super::super::CodecError;
use super::super::bits::Packer;
use super::BLOCK;
use super::line::{Slope, WIDTH_BITS, least_squares, slot_width, slots, width_code, width_of};

const PLAIN_BITS: usize = 1 + WIDTH_BITS as usize;
const LINE_BITS: usize = PLAIN_BITS + Slope::BITS as usize;

/// How a block is stored.
struct Form {
    /// The line, and the least deviation from it.
    line: Option<(Slope, i64)>,
    /// Bits of a slot.
    width: u32,
    /// Words of the block.
    words: usize,
}

impl Form {
    /// The shorter one; without a line if both are as long.
    fn choose(block: &[u32]) -> Self {
        let m = block.len() - 1;
        let width = slot_width(block[m] - block[0] - m as u32);
        let plain = Self { line: None, width, words: (PLAIN_BITS + m * width as usize).div_ceil(32) };
        // The line takes a slot and its own bits: what a slot then saves must make up for them.
        if m < 3 {
            return plain;
        }
        let slope = Slope::nearest(least_squares(block) - 1.0, m as u32);
        let (low, high) = range(slope.deviations(block[0].into(), block));
        // Neither docIDs nor the line rise by 2^32 in a block, so the range fits.
        let width = slot_width((high - low) as u32);
        let words = (LINE_BITS + block.len() * width as usize).div_ceil(32);
        if words < plain.words { Self { line: Some((slope, low)), width, words } } else { plain }
    }
}

/// The least and the greatest of some numbers.
pub fn range(numbers: impl Iterator<Item = i64>) -> (i64, i64) {
    numbers.fold((i64::MAX, i64::MIN), |(low, high), number| (low.min(number), high.max(number)))
}

/// How many words `block` takes up.
pub fn size(block: &[u32]) -> usize {
    if block.len() == 1 { 0 } else { Form::choose(block).words }
}

/// Appends the words of `block`.
pub fn encode(block: &[u32], out: &mut Vec<u32>) {
    // Most lists are short; clearing a buffer for a whole block would cost more than encoding them.
    match block.len() {
        1 => {}
        2..=16 => encode_with::<16>(block, out),
        _ => encode_with::<BLOCK>(block, out),
    }
}

fn encode_with<const N: usize>(block: &[u32], out: &mut Vec<u32>) {
    let form = Form::choose(block);
    let start = out.len();
    out.resize(start + form.words + 2, 0);
    let mut packer = Packer::new(&mut out[start..]);
    let mut slots = [0; N];
    let slots = &mut slots[..block.len()];
    let head = u64::from(width_code(form.width) << 1);
    match form.line {
        Some((slope, low)) => {
            slots
                .iter_mut()
                .zip(slope.deviations(block[0].into(), block))
                .for_each(|(slot, d)| *slot = (d - low) as u32);
            packer.push(head | 1 | u64::from(slope.code()) << PLAIN_BITS, LINE_BITS as u32);
            packer.push_all(slots, form.width);
        }
        None => {
            let numbers = (0..).zip(block).map(|(i, &doc)| doc - block[0] - i);
            slots.iter_mut().zip(numbers).for_each(|(slot, number)| *slot = number);
            packer.push(head, PLAIN_BITS as u32);
            packer.push_all(&slots[1..], form.width);
        }
    }
    packer.finish();
    out.truncate(start + form.words);
}

/// Decodes a block of at most 128 docIDs at the start of `words`, and returns how many words it takes up.
pub fn decode(words: &[u32], first: u32, out: &mut [u32]) -> Result<usize, CodecError> {
    if let [slot] = out {
        *slot = first;
        return Ok(0);
    }
    let head = *words.first().ok_or(CodecError::Truncated)?;
    let width = width_of(head >> 1 & 31);
    let line = head & 1 == 1;
    let (origin, skipped) = if line { (LINE_BITS, 0) } else { (PLAIN_BITS, 1) };
    let n = out.len() - skipped;
    let slots = slots(words, origin, width, n)?;
    out[0] = first;
    if line {
        add_line(Slope::from_code(head >> PLAIN_BITS), first.wrapping_sub(slots[0]), out, &slots);
    } else {
        add_line(Slope::default(), first.wrapping_add(1), &mut out[1..], &slots);
    }
    Ok((origin + n * width as usize).div_ceil(32))
}

/// [`Slope::add_to`], as fast as the processor can.
pub fn add_line(slope: Slope, base: u32, out: &mut [u32], slots: &[u32]) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has the feature that the function is compiled for.
        return unsafe { add_line_avx2(slope, base, out, slots) };
    }
    slope.add_to(base, out, slots);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn add_line_avx2(slope: Slope, base: u32, out: &mut [u32], slots: &[u32]) {
    slope.add_to(base, out, slots);
}
