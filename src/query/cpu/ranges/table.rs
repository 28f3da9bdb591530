//! The table of a long list.

use super::super::scorer::{Scorer, Weight};
use super::super::simd::prefetch;
use crate::Result;
use crate::codec::MAX_BLOCK_LEN;
use crate::postings::{Blocks, List, ListWords};

/// DocIDs of a range: the lengths of their documents fill a cache line.
pub(super) const RANGE: usize = 16;
/// Ranges that are handled together.
pub(super) const GROUP: usize = 64;
/// Documents whose bits stand in a word, above the count of the list's earlier documents.
const WORD: usize = 32;

/// The documents of a list, their places, and the most that they add.
pub(in crate::query) struct Table {
    /// Per range, in whole groups: 0 if it has no document of the list, else an upper bound of the parts, in steps.
    maxima: Vec<u8>,
    /// Per posting, an upper bound of its part in steps: one more than its whole steps.
    steps: Vec<u8>,
    /// The part of a step at a weight of 1.
    step: f32,
    /// One bit per document, in whole groups: the upper half of a word. The lower half counts the bits set before it.
    bits: Vec<u64>,
}

/// More than rounding can take from one or two products.
const ROOM: f32 = 1.0 + 1e-6;

impl Table {
    /// Reads a whole list.
    pub(super) fn new(list: &ListWords<'_>, weight: &Weight<'_>, scorer: &impl Scorer) -> Result<Self> {
        let most = scorer.impact_bound(weight, list.bound) * ROOM;
        let (step, steps) = (most * ROOM / 255.0, 255.0 / most);
        let ranges = ranges(list.documents as usize);
        let mut maxima = vec![0u8; ranges];
        let mut each = Vec::with_capacity(list.df as usize);
        let mut bits = vec![0u64; ranges * RANGE / WORD];
        let (mut docs, mut parts) = ([0; MAX_BLOCK_LEN], [0.0; MAX_BLOCK_LEN]);
        let mut blocks = Blocks::new(List::Blocks(list.clone()));
        for block in 0..list.blocks() {
            let n = list.block_len(block);
            list.decode(block, &mut docs)?;
            let at = blocks.start(block);
            scorer.impacts(weight, &mut blocks, at, &docs[..n], &mut parts[..n])?;
            for (&doc, &part) in docs[..n].iter().zip(&parts[..n]) {
                // Up to the next step; the cast stops at 255, which is the bound of the whole list.
                let steps = ((part * steps) as u8).saturating_add(1);
                // Decoded docIDs are below the number of documents.
                let doc = doc as usize;
                maxima[doc / RANGE] = steps.max(maxima[doc / RANGE]);
                bits[doc / WORD] |= 1 << (WORD + doc % WORD);
                each.push(steps);
            }
        }
        let mut before = 0;
        for word in &mut bits {
            let here = word.count_ones();
            *word |= u64::from(before);
            before += here;
        }
        Ok(Self { maxima, steps: each, step, bits })
    }

    /// The part of a step in a score at this weight.
    pub(super) fn step(&self, weight: &Weight<'_>) -> f32 {
        weight.factor * self.step
    }

    /// Steps of all ranges, in whole groups.
    #[inline(always)]
    pub(super) fn maxima(&self) -> &[u8] {
        &self.maxima
    }

    /// Prefetches the data of [`Self::steps`].
    #[inline(always)]
    pub(super) fn prefetch_steps(&self, position: usize) {
        prefetch(&self.steps[position..], 1);
    }

    /// An upper bound of the part of the posting at a position, in steps; a step less is a lower bound.
    #[inline(always)]
    pub(super) fn steps(&self, position: usize) -> u8 {
        self.steps[position]
    }

    /// Prefetches the documents of a range.
    #[inline(always)]
    pub(super) fn prefetch(&self, range: usize) {
        prefetch(&self.bits[range * RANGE / WORD..], 1);
    }

    /// One bit for each document of a range.
    #[inline(always)]
    pub(super) fn documents(&self, range: usize) -> u16 {
        (self.bits[range * RANGE / WORD] >> (WORD + range * RANGE % WORD)) as u16
    }

    /// Whether the list has a document.
    #[inline(always)]
    pub(super) fn has(&self, doc: u32) -> bool {
        let doc = doc as usize;
        self.bits[doc / WORD] >> (WORD + doc % WORD) & 1 != 0
    }

    /// How many documents of the list come before one.
    #[inline(always)]
    pub(super) fn position(&self, doc: u32) -> usize {
        let doc = doc as usize;
        let word = self.bits[doc / WORD];
        let before = (word >> WORD) as u32 & ((1 << (doc % WORD)) - 1);
        (word as u32 + before.count_ones()) as usize
    }
}

/// Ranges of so many documents, in whole groups.
fn ranges(documents: usize) -> usize {
    documents.div_ceil(RANGE * GROUP) * GROUP
}

/// Bytes of the table of a list of `df` of so many documents.
pub(super) fn bytes(documents: usize, df: usize) -> usize {
    let ranges = ranges(documents);
    df + ranges + ranges * RANGE / WORD * 8
}
