//! A list whose blocks are decoded one at a time, in any order.

use crate::Result;
use crate::index::{List, Scratch};

/// A list, and the block of it that is decoded.
pub(super) struct Blocks<'a> {
    list: List<'a>,
    block_len: usize,
    loaded: usize,
    len: usize,
    buffers: Scratch,
    decoded: u64,
}

impl<'a> Blocks<'a> {
    /// With no block decoded.
    pub(super) fn new(list: List<'a>) -> Self {
        let block_len = match &list {
            List::Single { .. } => 1,
            List::Blocks(list) => list.codec.block_len(),
        };
        Self { list, block_len, loaded: usize::MAX, len: 0, buffers: Scratch::take(), decoded: 0 }
    }

    /// Number of postings.
    pub(super) fn df(&self) -> u32 {
        match &self.list {
            List::Single { .. } => 1,
            List::Blocks(list) => list.df,
        }
    }

    /// Number of blocks, at least 1.
    pub(super) fn count(&self) -> usize {
        match &self.list {
            List::Single { .. } => 1,
            List::Blocks(list) => list.blocks(),
        }
    }

    /// Blocks decoded so far.
    pub(super) fn decoded(&self) -> u64 {
        self.decoded
    }

    /// First docID of a block, or `None` behind the last block.
    #[inline]
    pub(super) fn first(&self, block: usize) -> Option<u32> {
        match &self.list {
            List::Blocks(list) if !list.skips.is_empty() => list.skips.get(block).map(|skip| skip.first),
            List::Blocks(list) => (block == 0).then_some(list.first),
            List::Single { doc, .. } => (block == 0).then_some(*doc),
        }
    }

    /// True if a block starts at or before `doc`; none does behind the last.
    #[inline]
    pub(super) fn starts_by(&self, block: usize, doc: u32) -> bool {
        self.first(block).is_some_and(|first| first <= doc)
    }

    /// The docIDs of a block, which is decoded unless it was the last one asked for, and the position of the first of them.
    pub(super) fn load(&mut self, block: usize) -> Result<(&[u32], usize)> {
        if self.loaded != block {
            match &self.list {
                List::Single { doc, .. } => {
                    self.buffers.docs[0] = *doc;
                    self.len = 1;
                }
                List::Blocks(list) => {
                    self.loaded = usize::MAX;
                    list.decode(block, &mut self.buffers.docs)?;
                    self.len = list.block_len(block);
                    self.decoded += 1;
                }
            }
            self.loaded = block;
        }
        Ok((&self.buffers.docs[..self.len], block * self.block_len))
    }

    /// All docIDs, in place of what is in `out`.
    pub(super) fn all(&mut self, out: &mut Vec<u32>) -> Result<()> {
        out.clear();
        match &self.list {
            List::Single { doc, .. } => out.push(*doc),
            List::Blocks(list) => {
                list.decode_all(out)?;
                self.decoded += list.blocks() as u64;
            }
        }
        Ok(())
    }

    /// The last block from `from` on that starts at or before `doc`, by steps that double and then by halves; `from` if none
    /// does.
    #[inline]
    pub(super) fn gallop(&self, from: usize, doc: u32) -> usize {
        let (mut low, mut step) = (from, 1);
        while self.starts_by(low + step, doc) {
            low += step;
            step *= 2;
        }
        self.halve(low, (low + step).min(self.count()), doc)
    }

    /// The last block of `low..high` that starts at or before `doc`, by halves; `low` if none does.
    #[inline]
    pub(super) fn halve(&self, mut low: usize, mut high: usize, doc: u32) -> usize {
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if self.starts_by(middle, doc) { low = middle } else { high = middle }
        }
        low
    }
}
