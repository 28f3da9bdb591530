//! The postings of one term as they lie in the files: where they are, and how one block is decoded.

use super::tf::{self, Frequencies};
use crate::base::bits::UNPACKED;
use crate::codec::{Codec, MAX_BLOCK_LEN, Ranges, Skip, strictly_increasing};
use crate::error::damaged;
use crate::score::bound::Bound;
use crate::score::range::RangeBounds;
use crate::score::threshold::Thresholds;
use crate::{Error, Result};
use std::path::Path;

/// The first docID behind the last posting; all docIDs are less.
pub const END: u32 = u32::MAX;

/// The postings of one term, not decoded yet.
#[derive(Clone)]
pub enum List<'a> {
    /// One posting.
    Single {
        /// Its docID.
        doc: u32,
        /// Its frequency.
        tf: u32,
    },
    /// Blocks of a codec.
    Blocks(ListWords<'a>),
}

impl<'a> List<'a> {
    /// Number of postings.
    pub fn df(&self) -> u32 {
        match self {
            Self::Single { .. } => 1,
            Self::Blocks(list) => list.df,
        }
    }

    /// Number of blocks, at least 1.
    pub fn blocks(&self) -> usize {
        self.skips().len().max(1)
    }

    /// The skip entries; none if there is but one block.
    #[inline]
    pub fn skips(&self) -> &'a [Skip] {
        match self {
            Self::Single { .. } => &[],
            Self::Blocks(list) => list.skips,
        }
    }

    /// First docID of a block, or [`END`] behind the last block.
    #[inline]
    pub fn first(&self, block: usize) -> u32 {
        match self {
            Self::Single { doc, .. } if block == 0 => *doc,
            Self::Blocks(list) if block < list.blocks() => list.skip(block).first,
            _ => END,
        }
    }

    /// The bound of a block's scores; a single posting has none.
    #[inline]
    pub fn bound(&self, block: usize) -> Bound {
        match self {
            Self::Single { .. } => Bound::NONE,
            Self::Blocks(list) => list.skips.get(block).map_or(list.bound, |skip| Bound(skip.bound)),
        }
    }

    /// The bounds of its ranges, if it has some.
    pub fn range_bounds(&self) -> Option<RangeBounds<'a>> {
        let Self::Blocks(list) = self else { return None };
        list.ranges.and_then(|(ranges, words)| RangeBounds::new(words, ranges, list.bound))
    }

    /// What its best postings reach; nothing is known of a single posting.
    pub fn thresholds(&self) -> Thresholds<'a> {
        match self {
            Self::Single { .. } => Thresholds::default(),
            Self::Blocks(list) => list.thresholds,
        }
    }

    /// All docIDs are less.
    #[inline]
    pub fn documents(&self) -> u32 {
        match self {
            Self::Single { .. } => END,
            Self::Blocks(list) => list.documents,
        }
    }
}

/// Where the parts of a list are, as checked slices.
#[derive(Clone)]
pub struct ListWords<'a> {
    /// The codec.
    pub codec: &'a dyn Codec,
    /// From the list's first word to the end of its window.
    pub words: &'a [u32],
    /// One per block; none for a list of one block.
    pub skips: &'a [Skip],
    /// First docID.
    pub first: u32,
    /// Of all postings.
    pub bound: Bound,
    /// Number of postings.
    pub df: u32,
    /// Documents of the index; all docIDs are less.
    pub documents: u32,
    /// Number of the list.
    pub number: u32,
    /// Ranges of docIDs and the words of their bounds, of a codec that has some.
    pub ranges: Option<(Ranges, &'a [u32])>,
    /// What its best postings reach.
    pub thresholds: Thresholds<'a>,
    /// Its frequencies.
    pub tf: Frequencies<'a>,
    /// Offset of its first word in `postings.bin`, in words.
    pub postings_at: u64,
    /// Offset of its skip entries in `lists.bin`, in words; of no meaning if there are none.
    pub skips_at: u64,
    /// Offset of its frequencies in `tf.bin`, in words, right behind its thresholds; of no meaning if it has neither.
    pub tf_at: u64,
    pub(crate) postings_path: &'a Path,
    pub(crate) tf_path: &'a Path,
}

impl<'a> ListWords<'a> {
    /// A list outside an index, of `df` postings whose frequencies are all 1. `words` and `skips` hold only what
    /// [`Codec::encode`] wrote. DocIDs are less than `documents`. `None` if there is no block.
    pub fn in_memory(
        codec: &'a dyn Codec,
        words: &'a [u32],
        skips: &'a [Skip],
        df: u32,
        documents: u32,
    ) -> Option<Self> {
        Some(Self {
            codec,
            words,
            skips: if skips.len() == 1 { &[] } else { skips },
            first: skips.first()?.first,
            bound: Bound::NONE,
            df,
            documents,
            number: 0,
            ranges: None,
            thresholds: Thresholds::default(),
            tf: Frequencies::new(&[], df, true),
            postings_path: Path::new("(list in memory)"),
            postings_at: 0,
            skips_at: 0,
            tf_path: Path::new("(list in memory)"),
            tf_at: 0,
        })
    }

    /// Number of blocks.
    pub fn blocks(&self) -> usize {
        self.skips.len().max(1)
    }

    /// The skip entry of a block.
    #[inline]
    pub fn skip(&self, block: usize) -> Skip {
        self.skips.get(block).copied().unwrap_or(Skip {
            first: self.first,
            offset: self.codec.header_words() as u32,
            bound: self.bound.0,
        })
    }

    /// DocIDs of a block.
    #[inline]
    pub fn block_len(&self, block: usize) -> usize {
        let len = self.codec.block_len();
        (self.df as usize).saturating_sub(block * len).min(len)
    }

    /// The length of the list in words.
    ///
    /// # Errors
    /// [`Error::Damaged`]; only the last block is checked.
    pub fn len_words(&self) -> Result<usize> {
        let last = self.blocks() - 1;
        let used = self.decode(last, &mut [0; MAX_BLOCK_LEN])?;
        let end = (self.skip(last).offset as usize).saturating_add(used);
        if end <= self.words.len() { Ok(end) } else { Err(self.bad_block(last, "it ends outside the list")) }
    }

    /// Decodes a block into the front of `out`, checks that it increases and meets its neighbours, and returns its
    /// length in words.
    ///
    /// # Errors
    /// [`Error::Damaged`].
    pub fn decode(&self, block: usize, out: &mut [u32; MAX_BLOCK_LEN]) -> Result<usize> {
        self.decode_into(block, &mut out[..self.block_len(block)])
    }

    /// As [`Self::decode`], into a slice of just as many docIDs as the block has.
    ///
    /// # Errors
    /// [`Error::Damaged`].
    pub fn decode_into(&self, block: usize, out: &mut [u32]) -> Result<usize> {
        let skip = self.skip(block);
        let used = self.codec.decode_block(self.words, &skip, block, out);
        let used = used.map_err(|error| self.bad_block(block, &error.to_string()))?;
        self.check_increasing(block, out, self.codec.increases(used, out))?;
        Ok(used)
    }

    /// Decodes the whole list behind what is in `out`, with the checks of [`Self::decode`].
    ///
    /// # Errors
    /// [`Error::Damaged`].
    pub fn decode_all(&self, out: &mut Vec<u32>) -> Result<()> {
        let start = out.len();
        // A damaged df cannot ask for more than there are documents.
        out.resize(start + self.df as usize, 0);
        let docs = &mut out[start..];
        for (block, docs) in docs.chunks_mut(self.codec.block_len()).enumerate() {
            self.decode_into(block, docs)?;
        }
        Ok(())
    }

    /// Appends all frequencies. `room` is for those of a block, and what it has does not matter.
    ///
    /// # Errors
    /// [`Error::Damaged`].
    pub fn decode_tfs(&self, room: &mut [u32; UNPACKED], out: &mut Vec<u32>) -> Result<()> {
        let (start, len) = (out.len(), self.df as usize);
        if self.tf.all_one() {
            out.resize(start + len, 1);
            return Ok(());
        }
        for block in 0..len.div_ceil(tf::BLOCK) {
            let n = self.tf.block(block).and_then(|tfs| tfs.decode(room));
            let n = n.ok_or_else(|| self.bad_tf(block * tf::BLOCK))?;
            out.extend_from_slice(&room[..n]);
        }
        if out.len() == start + len { Ok(()) } else { Err(self.bad_tf(len)) }
    }

    /// Fails if these cannot be the docIDs of a block: those start as the skip entry says, increase, and end before the
    /// next block.
    pub(crate) fn check_block(&self, block: usize, docs: &[u32]) -> Result<()> {
        self.check_increasing(block, docs, strictly_increasing(docs))
    }

    /// As [`Self::check_block`], where it is known whether they increase.
    #[inline]
    fn check_increasing(&self, block: usize, docs: &[u32], increasing: bool) -> Result<()> {
        // The skip entry may be what is damaged.
        let limit = self.skips.get(block + 1).map_or(self.documents, |next| next.first.min(self.documents));
        if !increasing || docs.last().is_none_or(|&last| last >= limit) {
            return Err(self.bad_block(block, "docIDs do not increase up to the next block"));
        }
        if docs[0] != self.skip(block).first {
            return Err(self.bad_block(block, "the first docID is not that of the skip entry"));
        }
        Ok(())
    }

    pub(super) fn bad_block(&self, block: usize, what: &str) -> Error {
        let offset = 4 * (self.postings_at + u64::from(self.skip(block).offset));
        damaged(self.postings_path, offset, format!("block {block} of list {}: {what}", self.number))
    }

    /// An error about the frequencies.
    pub fn bad_tf(&self, position: usize) -> Error {
        let what = format!("the frequency at position {position} of list {} cannot be read", self.number);
        damaged(self.tf_path, self.tf_at.saturating_mul(4), what)
    }
}
