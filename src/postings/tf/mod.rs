//! `tf.bin`: the term frequencies of every list, shared by all codecs, readable at any position, behind the list's
//! [`Thresholds`](crate::score::Thresholds).
//!
//! After Ding et al. (WWW 2009, section 8.2): each frequency has a slot of fixed width, and bits that do not fit go to
//! a separate array. So one frequency is found without decoding its neighbours.
//!
//! A term with one document keeps its tf in `terms.bin`. A list whose frequencies are all 1
//! (cf = df) has no other words here. Any other list is cut into blocks of 128, whatever its codec's block length:
//!
//! ```text
//! list of one block:     [head] [block 0]
//! list of more blocks:   [word offset of each group but the first] [entry of each block] [group 0] [group 1] …
//! ```
//!
//! 32 blocks are a group. A group starts at a word, each of its blocks at a byte; zeros fill the rest. Offsets count
//! from the first word of these. The entry of a block, or the head of a list's only block, gives the meaning of its
//! bits:
//!
//! | entry, bits | head, bits | what |
//! |---|---|---|
//! | 0..14 | | the block's first byte, from the start of its group |
//! | 14..19 | 0..5 | `w`, slot width, 0 to 31 |
//! | 19..27 | as wide as the number `n` | `e`, number of exceptions, 0 to `n` |
//! | 27..32 | 5, or none if `e` is 0 | `v`, overflow width, 0 to 31; 0 if `e` is 0 |
//!
//! A block of `n` frequencies stores `tf - 1`, bit after bit:
//!
//! | bits | what |
//! |---|---|
//! | `n` × `w` | slots: the low `w` bits |
//! | `e` × `p`, or `n` | positions of the exceptions, increasing, each as wide as the number `n - 1`; or, if that is less, one bit for each frequency, 1 if it is one |
//! | `e` × `v` | their remaining high bits, which are never all 0, less 1 |
//!
//! `w` is the width that makes the block smallest, the greater one of equals. (Brisaboa, Ladra and Navarro's directly
//! addressable codes have one bit each between their levels, SPIRE 2009, doi:10.1007/978-3-642-03784-9_12.)

mod block;
#[cfg(target_arch = "x86_64")]
mod wide;

pub use block::FrequencyBlock;

use crate::base::bits::Packer;
use crate::base::simd;
use block::Shape;

/// Frequencies per block.
pub const BLOCK: usize = 128;

/// Blocks of a group: as many as [`OFFSET_BITS`] can give a first byte.
const GROUP: usize = 32;
const OFFSET_BITS: u32 = 14;
/// Bits of `w`, and of `v`.
const WIDTH_BITS: u32 = 5;
const COUNT_BITS: u32 = 8;

simd::avx2! {
    /// Appends the frequencies of one list (each at least 1) to `out`.
    pub fn encode(tfs: &[u32], out: &mut Vec<u32>) {
        encode_list(tfs, out);
    }
}

#[inline(always)]
fn encode_list(tfs: &[u32], out: &mut Vec<u32>) {
    let mut more = 0;
    for &tf in tfs {
        more |= tf ^ 1;
    }
    if more == 0 {
        return;
    }
    if tfs.len() <= BLOCK {
        // Most lists are short; clearing a buffer for a whole block would cost more than encoding them.
        return if tfs.len() <= 16 { encode_short::<16>(tfs, out) } else { encode_short::<BLOCK>(tfs, out) };
    }
    let start = out.len();
    let blocks = tfs.len().div_ceil(BLOCK);
    let directory = Directory::of(blocks);
    out.resize(start + directory.words(), 0);
    let mut values = [0; BLOCK * GROUP];
    for (g, group) in tfs.chunks(BLOCK * GROUP).enumerate() {
        let first = out.len();
        if g > 0 {
            // The writer refuses a list over the limit of its window, so the cast loses nothing.
            out[start + g - 1] = (first - start) as u32;
        }
        for (value, &tf) in values.iter_mut().zip(group) {
            *value = tf - 1;
        }
        let mut shapes = [Shape::default(); GROUP];
        let mut bytes = 0;
        for (b, block) in values[..group.len()].chunks(BLOCK).enumerate() {
            shapes[b] = Shape::of(block, 0);
            out[start + directory.groups - 1 + g * GROUP + b] = bytes as u32 | shapes[b].entry() << OFFSET_BITS;
            bytes += shapes[b].bits(block.len()).div_ceil(8);
        }
        out.resize(first + bytes.div_ceil(4) + 2, 0);
        let mut packer = Packer::new(&mut out[first..]);
        for (block, shape) in values[..group.len()].chunks(BLOCK).zip(&shapes) {
            shape.pack(block, &mut packer);
            packer.align(8);
        }
        packer.finish();
        out.truncate(first + bytes.div_ceil(4));
    }
}

#[inline(always)]
fn encode_short<const N: usize>(tfs: &[u32], out: &mut Vec<u32>) {
    let mut values = [0; N];
    let values = &mut values[..tfs.len()];
    for (value, &tf) in values.iter_mut().zip(tfs) {
        *value = tf - 1;
    }
    let shape = Shape::of(values, WIDTH_BITS);
    let (head, head_bits) = shape.head(values.len());
    let words = (head_bits as usize + shape.bits(values.len())).div_ceil(32);
    let start = out.len();
    out.resize(start + words + 2, 0);
    let mut packer = Packer::new(&mut out[start..]);
    packer.push(head.into(), head_bits);
    shape.pack(values, &mut packer);
    packer.finish();
    out.truncate(start + words);
}

/// The words before the blocks of a list of more than one.
struct Directory {
    blocks: usize,
    groups: usize,
}

impl Directory {
    fn of(blocks: usize) -> Self {
        Self { blocks, groups: blocks.div_ceil(GROUP) }
    }

    fn words(&self) -> usize {
        self.groups - 1 + self.blocks
    }
}

/// The frequencies of one list.
#[derive(Clone, Copy, Debug)]
pub struct Frequencies<'a> {
    words: &'a [u32],
    len: u32,
    ones: bool,
}

impl<'a> Frequencies<'a> {
    /// A list of `len` postings whose words start at the start of `words`, which may run on past it;
    /// `ones`: all frequencies are 1 and there are no words.
    pub fn new(words: &'a [u32], len: u32, ones: bool) -> Self {
        Self { words, len, ones }
    }

    /// Block `index` (128 postings, the last block fewer), or `None` if the words hold no such block.
    #[inline(always)]
    pub fn block(&self, index: usize) -> Option<FrequencyBlock<'a>> {
        let first = index.checked_mul(BLOCK)?;
        let n = (self.len as usize).checked_sub(first)?.min(BLOCK);
        if self.ones {
            return Some(FrequencyBlock::ones(n));
        }
        if self.len as usize <= BLOCK {
            let (shape, bits) = Shape::from_head(*self.words.first()?, n);
            return FrequencyBlock::new(self.words, bits as usize, n, shape);
        }
        let (word, entry) = self.place(index)?;
        let bit = (entry as usize % 4) * 8;
        FrequencyBlock::new(self.words.get(word..)?, bit, n, Shape::from_entry(entry >> OFFSET_BITS))
    }

    /// The first word of a block of several, and its entry.
    #[inline(always)]
    fn place(&self, index: usize) -> Option<(usize, u32)> {
        let directory = Directory::of((self.len as usize).div_ceil(BLOCK));
        let entry = *self.words.get(directory.groups - 1 + index)?;
        let group = match index / GROUP {
            0 => directory.words(),
            later => *self.words.get(later - 1)? as usize,
        };
        Some((group + entry as usize % (1 << OFFSET_BITS) / 4, entry))
    }

    /// What is read first to read a block, to be prefetched: the words from its entry on, or those of the one block;
    /// and the words from its group's offset on.
    #[inline]
    pub fn start_of(&self, index: usize) -> [&'a [u32]; 2] {
        let groups = (self.len as usize).saturating_sub(1) / (BLOCK * GROUP);
        let from = |at: usize| self.words.get(at..).unwrap_or(&[]);
        [from(groups + index), from((index / GROUP).saturating_sub(1))]
    }

    /// What is read then: the words of the block and all after it; none for a block that there is not.
    #[inline]
    pub fn words_of(&self, index: usize) -> &'a [u32] {
        let several = self.len as usize > BLOCK;
        let at = if several { self.place(index).map_or(usize::MAX, |(word, _)| word) } else { 0 };
        self.words.get(at..).unwrap_or(&[])
    }

    /// Whether all are 1, so that there are no words.
    pub fn all_one(&self) -> bool {
        self.ones
    }

    /// How many words all of them take up; `None` if the words are damaged.
    pub fn len_words(&self) -> Option<usize> {
        let blocks = (self.len as usize).div_ceil(BLOCK);
        if self.ones || blocks == 0 {
            return Some(0);
        }
        let last = self.block(blocks - 1)?;
        // A block's words run to the end of all.
        Some(self.words.len() - last.words().len() + last.end().div_ceil(32))
    }

    /// The frequency at a position, or `None` if the words are damaged.
    pub fn get(&self, position: usize) -> Option<u32> {
        self.block(position / BLOCK)?.get(position % BLOCK)
    }
}

#[cfg(test)]
mod tests;
