//! Blocks of up to 512 docIDs cut into partitions, each with a width of its own: what `pef` and `best` share.
//!
//! A *cell* is the docIDs at positions `8 c .. 8 c + 7` of a block, a *partition* one or more neighbouring cells that
//! share a width. In a partition of width `b` the low `b` bits of a number are in the block's low part, and the rest,
//! in unary, in its high part; the codec chooses the numbers. [`RUN`] stands for a partition of consecutive docIDs,
//! which has no bits at all. With width 0 the high part is the characteristic bit vector of the partition.
//!
//! | bits | what |
//! |---|---|
//! | 0..5 | width of the first partition, 0 to 30, or 31 for a run |
//! | then | 1 bit, 1 if there are more partitions; only in blocks of more than one cell |
//! | then | 1 bit, 1 if numbers have low bits only, all of them; only in blocks of more than one cell, not in `pef` |
//! | then | `c` bits, only if there are more: the `i`-th is set if cell `i + 1` starts a partition; `c` is the number of cells less one |
//! | then | 5 bits per further partition: its width |
//! | then | low part: the low bits of every number, in order |
//! | then | high part: per number as many zeros as its codec says, and a one; then zeros up to the next word |
//!
//! The one of the last number ends the high part. A partition's docIDs start behind the last docID of the partition
//! before.
//!
//! # How the partitions are chosen
//! The cost of a cell is taken to be additive, so the best widths are a shortest path over (cell, width): 32 states a
//! cell; staying costs nothing, a new partition five bits. One pass with all states side by side in vector registers
//! finds it, in about ten instructions a docID. A block takes a single width where that is not longer.
//!
//! # Why blocks of 512 and cells of 8
//! A skip entry has 96 bits: 0.75 bits a docID in blocks of 128, 0.19 in blocks of 512. Shorter blocks would follow the
//! density of a list more closely, but partitions do that. One more cell is one more bit of a mask, in blocks that have
//! one. The table gives bits a docID, with skip entries, or with the word that replaces them in a list of one block. It
//! covers all lists of two docIDs and more of a crawl of 373,705 pages, in crawl order (as good as random) and sorted
//! by URL:
//!
//! | blocks, cells | `pef`, crawl | `pef`, URL | `best`, crawl | `best`, URL |
//! |---|---|---|---|---|
//! | 128, 8 | 9.31 | 5.66 | 8.97 | 5.53 |
//! | 256, 8 | 8.92 | 5.26 | 8.58 | 5.13 |
//! | **512, 8** | 8.73 | 5.07 | 8.39 | 4.94 |
//! | 512, 16 | 8.73 | 5.25 | 8.39 | 5.12 |
//! | `para-ef` | 9.53 | 7.01 | | |
//!
//! The price: a search for one docID decodes 512, in about 0.3 µs on the CPU.

pub(super) mod best;
mod decode;
mod encode;
pub(super) mod pef;
#[cfg(target_arch = "x86_64")]
mod simd;

use super::{CodecError, Shader};
use crate::base::bits::{Packer, get_bits};
use crate::gpu::{Assembler, Text};

/// DocIDs of a whole block.
const BLOCK: usize = 512;
/// DocIDs of a cell.
const CELL: usize = 8;
/// Cells of a whole block.
const CELLS: usize = BLOCK / CELL;
/// The width of a run: each docID follows the one before.
const RUN: u32 = 31;
/// Bits of a width.
const WIDTH_BITS: u32 = 5;
/// Widths, [`RUN`] among them.
const WIDTHS: usize = 1 << WIDTH_BITS;
/// The unit of costs: this is one bit.
const BIT: u32 = 16;
/// The greatest cost of a cell; no width with a cost near it is ever chosen.
const MAX_COST: u32 = 1 << 20;
/// The most words that the high part of a block touches. In the best width of a partition there are at most two zeros
/// to a one, or the next width would be better; numbers that even the greatest width cuts short add three more.
const MAX_HIGH_WORDS: usize = (3 * BLOCK + 3 + 31).div_ceil(32);

/// The partitions of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Plan {
    /// Bit `c` is set if cell `c > 0` starts a partition.
    starts: u64,
    /// Their widths, in order.
    widths: [u8; CELLS],
    /// Whether numbers have low bits only.
    packed: bool,
}

/// One of them.
#[derive(Clone, Copy, Debug)]
struct Partition {
    /// Position in the block of its first number; positions start at 1, since the first docID is not stored.
    start: usize,
    /// Position behind its last.
    end: usize,
    /// Bits of a low part, or [`RUN`].
    width: u32,
}

impl Partition {
    /// How many numbers it stores.
    fn stored(&self) -> usize {
        if self.width == RUN { 0 } else { self.end - self.start }
    }

    /// Bits in the low part.
    fn low_bits(&self) -> usize {
        self.stored() * self.width as usize
    }
}

impl Plan {
    /// One partition.
    fn single(width: u32) -> Self {
        let mut widths = [0; CELLS];
        widths[0] = width as u8;
        Self { starts: 0, widths, packed: false }
    }

    /// The partitions of a block of `n` docIDs.
    #[inline(always)]
    fn partitions(&self, n: usize) -> impl Iterator<Item = Partition> {
        let mut starts = self.starts;
        let mut next = Some(1);
        let mut widths = self.widths.iter();
        std::iter::from_fn(move || {
            let start = next?;
            next = (starts != 0).then(|| starts.trailing_zeros() as usize * CELL);
            starts &= starts.wrapping_sub(1);
            Some(Partition { start, end: next.unwrap_or(n), width: u32::from(*widths.next()?) })
        })
    }

    /// Bits before the low part, in a block of `n` docIDs. `FORMS` says whether blocks may be packed.
    fn head_bits<const FORMS: bool>(&self, n: usize) -> usize {
        let split = if self.starts == 0 { 0 } else { n.div_ceil(CELL) - 1 };
        WIDTH_BITS as usize * (1 + self.starts.count_ones() as usize)
            + if n > CELL { tags(FORMS) as usize } else { 0 }
            + split
    }

    /// Writes them.
    #[inline(always)]
    fn write<const FORMS: bool>(&self, n: usize, packer: &mut Packer<'_>) {
        packer.push(self.widths[0].into(), WIDTH_BITS);
        if n <= CELL {
            return;
        }
        packer.push(u64::from(self.starts != 0) | u64::from(self.packed) << 1, tags(FORMS));
        if self.starts != 0 {
            packer.push(self.starts >> 1, n.div_ceil(CELL) as u32 - 1);
            for &width in &self.widths[1..=self.starts.count_ones() as usize] {
                packer.push(width.into(), WIDTH_BITS);
            }
        }
    }

    /// What [`Self::write`] wrote for a block of `n` docIDs, and how many bits.
    #[inline(always)]
    fn read<const FORMS: bool>(words: &[u32], n: usize) -> Result<(Self, usize), CodecError> {
        let field = |at, width| get_bits(words, at, width).ok_or(CodecError::Truncated);
        let mut plan = Self { starts: 0, widths: [0; CELLS], packed: false };
        let head = *words.first().ok_or(CodecError::Truncated)?;
        plan.widths[0] = (head % WIDTHS as u32) as u8;
        if n <= CELL {
            return Ok((plan, WIDTH_BITS as usize));
        }
        let mut at = (WIDTH_BITS + tags(FORMS)) as usize;
        plan.packed = FORMS && head >> (WIDTH_BITS + 1) & 1 != 0;
        if head >> WIDTH_BITS & 1 != 0 {
            let splits = n.div_ceil(CELL) as u32 - 1;
            let low = field(at, splits.min(32))?;
            let high = field(at + 32, splits.saturating_sub(32))?;
            plan.starts = (u64::from(low) | u64::from(high) << 32) << 1;
            at += splits as usize;
            for width in &mut plan.widths[1..=plan.starts.count_ones() as usize] {
                *width = field(at, WIDTH_BITS)? as u8;
                at += WIDTH_BITS as usize;
            }
        }
        Ok((plan, at))
    }
}

/// Bits behind the first width in blocks of more than one cell.
const fn tags(forms: bool) -> u32 {
    if forms { 2 } else { 1 }
}

/// The cheapest plan and its bits, without the five of its first width. `cost_of` says in [`BIT`]s, at most
/// [`MAX_COST`], what a cell costs in each of the `W` widths, the last of them [`RUN`]. `price` is the cost of a
/// further partition in bits, at least the five of its width.
#[inline(always)]
fn cheapest<const W: usize>(cells: usize, price: u32, mut cost_of: impl FnMut(usize, &mut [u32; W])) -> (Plan, usize) {
    const { assert!(W <= WIDTHS && W.is_power_of_two(), "a mask has a bit a width") };
    // Costs of the cells so far: in one width, and at best if the last cell has this width.
    let (mut alone, mut best) = ([0u32; W], [0u32; W]);
    // Bit `b`: at best, this cell starts a partition if it has width `b`; and the width before it.
    let (mut switches, mut before) = ([0u32; CELLS], [0u8; CELLS]);
    let mut least = 0;
    for cell in 0..cells {
        let mut cost = [0; W];
        cost_of(cell, &mut cost);
        before[cell] = (least % W as u32) as u8;
        // At the first cell more than the cost so far, so that it starts no partition.
        let switch = least / W as u32 + price * BIT;
        let mut switched = 0;
        for b in 0..W {
            alone[b] += cost[b];
            switched |= u32::from(switch < best[b]) << b;
            best[b] = best[b].min(switch) + cost[b];
        }
        switches[cell] = switched;
        least = least_of(&best);
    }
    let mut plan = Plan { starts: 0, widths: [0; CELLS], packed: false };
    let name = |width: u32| if width == W as u32 - 1 { RUN as u8 } else { width as u8 };
    let least_alone = least_of(&alone);
    let split = least / W as u32 + (cells as u32 - 1) * BIT;
    if least_alone / W as u32 <= split {
        plan.widths[0] = name(least_alone % W as u32);
        return (plan, (least_alone / W as u32).div_ceil(BIT) as usize);
    }
    let mut width = least % W as u32;
    let mut last = CELLS;
    for cell in (1..cells).rev() {
        if switches[cell] >> width & 1 != 0 {
            plan.starts |= 1 << cell;
            last -= 1;
            plan.widths[last] = name(width);
            width = before[cell].into();
        }
    }
    plan.widths.copy_within(last.., 1);
    plan.widths[0] = name(width);
    let bits = split - plan.starts.count_ones() * (price - WIDTH_BITS) * BIT;
    (plan, bits.div_ceil(BIT) as usize)
}

/// The least cost times `W`, plus its place, so that the least of several also says where it is.
#[inline(always)]
fn least_of<const W: usize>(costs: &[u32; W]) -> u32 {
    (0..W as u32).fold(u32::MAX, |least, b| least.min(costs[b as usize] * W as u32 + b))
}

/// The decoder in WGSL, with `text` as one codec's part and `columns` words of workgroup memory a cell.
fn shader<const FORMS: bool>(text: Text, columns: usize) -> Shader {
    let assembler = Assembler::new().constants(&[
        ("CELL", CELL as u32),
        ("CELLS", CELLS as u32),
        ("RUN", RUN),
        ("WIDTH_BITS", WIDTH_BITS),
        ("TAGS", tags(FORMS)),
    ]);
    Shader::of(text).with(&assembler).scratch(BLOCK + columns * CELLS)
}

#[cfg(test)]
mod tests;
