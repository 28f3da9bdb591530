//! What is kept of a long list.

use super::super::scorer::{Scorer, Weight};
use super::super::simd::prefetch;
use crate::Result;
use crate::codec::MAX_BLOCK_LEN;
use crate::index::ListWords;

/// DocIDs of a range: their lengths fill a cache line.
pub(super) const RANGE: usize = 16;
/// Ranges that are looked at together.
pub(super) const GROUP: usize = 64;
/// Words of bits that are counted together: a cache line of them.
const LINE: usize = 8;

/// Which documents a list has, where, and what they add at most.
pub(in super::super) struct Table {
    /// Per range, in whole groups: 0 if it has no document of the list, else how many steps no part exceeds.
    maxima: Vec<u8>,
    /// A step, for a weight with a factor of 1.
    step: f32,
    /// One bit per document, in whole groups.
    bits: Vec<u64>,
    /// Per line of bits, how many are set before it.
    ranks: Vec<u32>,
}

/// More than rounding can take from a product or two.
const ROOM: f32 = 1.0 + 1e-6;

impl Table {
    /// Reads a whole list.
    pub(super) fn new(list: &ListWords<'_>, weight: &Weight<'_>, scorer: &impl Scorer) -> Result<Self> {
        let unit = weight.unit();
        let most = scorer.bound(&unit, list.bound) * ROOM;
        let (step, steps) = (most * ROOM / 255.0, 255.0 / most);
        let ranges = ranges(list.documents as usize);
        let mut maxima = vec![0u8; ranges];
        let mut bits = vec![0u64; ranges * RANGE / 64];
        let (mut docs, mut parts) = ([0; MAX_BLOCK_LEN], [0.0; MAX_BLOCK_LEN]);
        for block in 0..list.blocks() {
            let n = list.block_len(block);
            list.decode(block, &mut docs)?;
            scorer.parts(&unit, list, block * list.codec.block_len(), &docs[..n], &mut parts[..n])?;
            for (&doc, &part) in docs[..n].iter().zip(&parts[..n]) {
                // Up to the next step; the cast stops at 255, which is the bound of the whole list.
                let steps = ((part * steps) as u8).saturating_add(1);
                // Decoded docIDs are below the number of documents.
                let doc = doc as usize;
                maxima[doc / RANGE] = steps.max(maxima[doc / RANGE]);
                bits[doc / 64] |= 1 << (doc % 64);
            }
        }
        let mut before = 0;
        let rank = |line: &[u64; LINE]| {
            let rank = before;
            before += line.iter().map(|word| word.count_ones()).sum::<u32>();
            rank
        };
        let ranks = bits.as_chunks().0.iter().map(rank).collect();
        Ok(Self { maxima, step, bits, ranks })
    }

    /// What a step adds to a score at this weight.
    pub(super) fn step(&self, weight: &Weight<'_>) -> f32 {
        weight.factor * self.step
    }

    /// Steps of all ranges, in whole groups.
    #[inline(always)]
    pub(super) fn maxima(&self) -> &[u8] {
        &self.maxima
    }

    /// Asks for the documents of a range.
    #[inline(always)]
    pub(super) fn prefetch(&self, range: usize) {
        prefetch(&self.bits[range / 4..], 1);
        prefetch(&self.ranks[range / (4 * LINE)..], 1);
    }

    /// One bit for each document of a range.
    #[inline(always)]
    pub(super) fn documents(&self, range: usize) -> u16 {
        (self.bits[range / 4] >> (range % 4 * RANGE)) as u16
    }

    /// Whether the list has a document.
    #[inline(always)]
    pub(super) fn has(&self, doc: u32) -> bool {
        self.bits[doc as usize / 64] >> (doc % 64) & 1 != 0
    }

    /// How many documents of the list come before one.
    #[inline(always)]
    pub(super) fn position(&self, doc: u32) -> usize {
        let (line, word) = (doc as usize / 64 / LINE, doc as usize / 64 % LINE);
        let mut position = self.ranks[line];
        for (i, bits) in self.bits.as_chunks::<LINE>().0[line].iter().enumerate() {
            // All words of the line are counted, since how many there are before the document is a matter of luck.
            let before = match i.cmp(&word) {
                std::cmp::Ordering::Less => u64::MAX,
                std::cmp::Ordering::Equal => (1 << (doc % 64)) - 1,
                std::cmp::Ordering::Greater => 0,
            };
            position += (bits & before).count_ones();
        }
        position as usize
    }
}

/// Ranges of so many documents, in whole groups.
fn ranges(documents: usize) -> usize {
    documents.div_ceil(RANGE * GROUP) * GROUP
}

/// Bytes of a table over so many documents.
pub(super) fn bytes(documents: usize) -> usize {
    let ranges = ranges(documents);
    ranges + ranges * RANGE / 8 + ranges * RANGE / 64 / LINE * 4
}
