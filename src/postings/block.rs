//! The blocks of a list in any order: one decoded block of docIDs and one of frequencies at a time.

use super::find::{Picked, pick};
use super::list::List;
use super::scratch::Scratch;
use super::tf;
use crate::base::bits::set_places;
use crate::base::simd::prefetch;
use crate::error::damaged;
use crate::{Error, Result};
use std::path::Path;

/// A list, a decoded block of its docIDs, and a decoded block of its frequencies. The two have lengths of their own.
///
/// Positions count the postings of the list from 0 on.
pub struct Blocks<'a> {
    list: List<'a>,
    block_len: usize,
    /// The block of docIDs that is decoded, and its length.
    loaded: usize,
    len: usize,
    decoded: u32,
    /// The block of frequencies that is decoded.
    tf_loaded: usize,
    /// The block of frequencies that was last read one by one, and how many were read.
    tf_asked: usize,
    tf_times: u32,
    buffers: Scratch,
}

/// So many frequencies of a block are read one by one; the next request decodes the whole block.
const SINGLY: u32 = 2;

/// No block.
const NONE: usize = usize::MAX;

impl<'a> Blocks<'a> {
    /// With no block decoded. A term's only posting counts as decoded, since it comes from the dictionary.
    pub fn new(list: List<'a>) -> Self {
        let mut buffers = Scratch::take();
        let (block_len, loaded, tf_loaded) = match &list {
            List::Single { doc, tf } => {
                (buffers.docs[0], buffers.tfs[0]) = (*doc, *tf);
                (1, 0, 0)
            }
            List::Blocks(list) => (list.codec.block_len(), NONE, NONE),
        };
        Self { list, block_len, loaded, len: 1, decoded: 0, tf_loaded, tf_asked: NONE, tf_times: 0, buffers }
    }

    /// The list.
    pub fn list(&self) -> &List<'a> {
        &self.list
    }

    /// Blocks decoded so far.
    pub fn decoded(&self) -> u32 {
        self.decoded
    }

    /// The position of the first posting of a block.
    #[inline]
    pub fn start(&self, block: usize) -> usize {
        block * self.block_len
    }

    /// Whether this block is decoded.
    #[inline]
    pub(super) fn has(&self, block: usize) -> bool {
        self.loaded == block
    }

    /// The docIDs of the block that was decoded last.
    #[inline]
    pub(super) fn docs(&self) -> &[u32] {
        &self.buffers.docs[..self.len]
    }

    /// The docIDs of a block, and the position of the first. Decodes the block unless it was the last one asked for.
    ///
    /// # Errors
    /// [`Error::Damaged`].
    #[inline]
    pub fn load(&mut self, block: usize) -> Result<(&[u32], usize)> {
        if self.loaded != block {
            self.decode(block)?;
        }
        Ok((self.docs(), self.start(block)))
    }

    pub(super) fn decode(&mut self, block: usize) -> Result<()> {
        if let List::Blocks(list) = &self.list {
            // If anything fails, the buffers no longer hold the old block.
            self.loaded = NONE;
            list.decode(block, &mut self.buffers.docs)?;
            self.len = list.block_len(block);
            self.loaded = block;
            self.decoded += 1;
        }
        Ok(())
    }

    /// Appends the docIDs of a block to `out`, or nothing if they are damaged.
    ///
    /// # Errors
    /// [`Error::Damaged`].
    pub fn append(&mut self, block: usize, out: &mut Vec<u32>) -> Result<()> {
        let List::Blocks(list) = &self.list else {
            out.extend_from_slice(self.docs());
            return Ok(());
        };
        let start = out.len();
        out.resize(start + list.block_len(block), 0);
        self.decoded += 1;
        list.decode_into(block, &mut out[start..]).inspect_err(|_| out.truncate(start))?;
        Ok(())
    }

    /// All docIDs, in place of what is in `out`.
    ///
    /// # Errors
    /// [`Error::Damaged`].
    pub fn all(&mut self, out: &mut Vec<u32>) -> Result<()> {
        out.clear();
        match &self.list {
            List::Single { doc, .. } => out.push(*doc),
            List::Blocks(list) => {
                list.decode_all(out)?;
                self.decoded += list.blocks() as u32;
            }
        }
        Ok(())
    }

    /// The frequency at a position if its block is decoded.
    #[inline]
    pub(super) fn known_tf(&self, position: usize) -> Option<u32> {
        (position / tf::BLOCK == self.tf_loaded).then(|| self.buffers.tfs[position % tf::BLOCK])
    }

    /// The frequency at a position, alone or with its block; `None` if it is damaged.
    // Compiled with the caller's processor features.
    #[inline(always)]
    pub fn tf(&mut self, position: usize) -> Option<u32> {
        if let Some(tf) = self.known_tf(position) {
            return Some(tf);
        }
        let List::Blocks(list) = &self.list else { return None };
        let (block, at) = (position / tf::BLOCK, position % tf::BLOCK);
        if block != self.tf_asked {
            (self.tf_asked, self.tf_times) = (block, 0);
        }
        self.tf_times += 1;
        if self.tf_times <= SINGLY {
            return list.tf.block(block)?.get(at);
        }
        self.decode_tfs(block)?.get(at).copied()
    }

    /// Decodes a block of frequencies.
    fn decode_tfs(&mut self, block: usize) -> Option<&[u32]> {
        let List::Blocks(list) = &self.list else { return None };
        self.tf_loaded = NONE;
        let n = list.tf.block(block)?.decode(&mut self.buffers.tfs)?;
        self.tf_loaded = block;
        Some(&self.buffers.tfs[..n])
    }

    /// The frequencies from a position on, as many as their block has; at least one.
    ///
    /// # Errors
    /// [`Error::Damaged`].
    pub fn tfs_from(&mut self, position: usize) -> Result<&[u32]> {
        let (block, at) = (position / tf::BLOCK, position % tf::BLOCK);
        let n = (self.list.df() as usize).saturating_sub(block * tf::BLOCK).min(tf::BLOCK);
        if at >= n || (self.tf_loaded != block && self.decode_tfs(block).is_none()) {
            return Err(self.bad_tf(position));
        }
        Ok(&self.buffers.tfs[at..n])
    }

    /// The frequencies from a position on, as many as `out` holds.
    ///
    /// # Errors
    /// [`Error::Damaged`].
    pub fn copy_tfs(&mut self, position: usize, out: &mut [u32]) -> Result<()> {
        let mut done = 0;
        while done < out.len() {
            let tfs = self.tfs_from(position + done)?;
            let n = tfs.len().min(out.len() - done);
            out[done..done + n].copy_from_slice(&tfs[..n]);
            done += n;
        }
        Ok(())
    }

    /// The frequencies at the places of a block of docIDs whose bits are set, in their order, at the front of `out`.
    /// What stands behind them may change. Only for blocks of at most 128 docIDs.
    ///
    /// # Errors
    /// [`Error::Damaged`].
    #[inline(always)]
    pub fn tfs_of(&mut self, block: usize, places: u128, out: &mut Picked) -> Result<()> {
        let start = self.start(block);
        if self.block_len != tf::BLOCK {
            for (out, place) in out.iter_mut().zip(set_places(places)) {
                *out = self.tf(start + place).ok_or(start + place).map_err(|at| self.bad_tf(at))?;
            }
            return Ok(());
        }
        if self.tf_loaded != block {
            if let (List::Blocks(list), true) = (&self.list, places.count_ones() <= 16) {
                let tfs = list.tf.block(block).and_then(|tfs| tfs.decode_some(places, out));
                return tfs.ok_or_else(|| self.bad_tf(start));
            }
            if self.decode_tfs(block).is_none() {
                return Err(self.bad_tf(start));
            }
        }
        pick(places, &self.buffers.tfs[..tf::BLOCK], out);
        Ok(())
    }

    /// The docIDs of the block that is decoded and their frequencies, from a position of it on: as many as are in one
    /// block of frequencies.
    ///
    /// # Errors
    /// [`Error::Damaged`].
    #[inline(always)]
    pub fn postings_from(&mut self, at: usize) -> Result<(&[u32], &[u32])> {
        let from = self.start(self.loaded) + at;
        let n = self.tfs_from(from)?.len().min(self.len - at);
        Ok((&self.buffers.docs[at..at + n], &self.buffers.tfs[from % tf::BLOCK..][..n]))
    }

    /// Prefetches what is read first to decode a block of docIDs and one of frequencies.
    #[inline(always)]
    pub(super) fn prefetch(&self, block: usize) {
        if let List::Blocks(list) = &self.list {
            prefetch(list.words.get(list.skip(block).offset as usize..).unwrap_or(&[]), 2);
            list.tf.start_of(block).iter().for_each(|words| prefetch(words, 1));
        }
    }

    /// Prefetches the frequencies of a block of docIDs, if the two have the same length.
    #[inline(always)]
    pub fn prefetch_tfs(&self, block: usize) {
        if let (List::Blocks(list), true) = (&self.list, self.block_len == tf::BLOCK) {
            prefetch(list.tf.words_of(block), 1);
        }
    }

    /// An error about the frequency at a position.
    #[cold]
    pub fn bad_tf(&self, position: usize) -> Error {
        match &self.list {
            List::Blocks(list) => list.bad_tf(position),
            List::Single { .. } => {
                damaged(Path::new("terms.bin"), 0, format!("a term of one document has no posting {position}"))
            }
        }
    }
}
