//! Walks a list of postings: block skips, frequencies on demand.

use super::bound::Bound;
use super::find::find;
use super::format::damaged;
use super::posting_list::{List, ListWords};
use super::scratch::Scratch;
use super::tf::{self, FrequencyBlock};
use crate::Error;
use crate::codec::Skip;

/// What a cursor stands on after the last posting; no docID is that great.
pub const END: u32 = u32::MAX;

/// Walks the postings of one term in docID order.
///
/// Stands before the first posting when new. A block is decoded when a docID other than its first is
/// asked for. Damage ends the list; [`Cursor::damage`] then has the error, and whoever walks to
/// [`END`] must ask for it.
pub struct Cursor<'a> {
    doc: u32,
    position: usize,
    block: usize,
    /// Docs of `docs` that count; 0 if the block is not decoded.
    decoded: usize,
    blocks: usize,
    block_len: usize,
    buffers: Scratch,
    list: Option<ListWords<'a>>,
    tf_block: Option<(usize, FrequencyBlock<'a>)>,
    tf_uses: u32,
    /// The block of frequencies that the buffers hold.
    tf_decoded: usize,
    blocks_decoded: u32,
    single_tf: u32,
    damage: Option<Box<Error>>,
}

impl<'a> Cursor<'a> {
    /// On the first posting of `list`.
    pub fn new(list: List<'a>) -> Self {
        let (doc, list, single_tf) = match list {
            List::Single { doc, tf } => (doc, None, tf),
            List::Blocks(list) => (list.first, Some(list), 0),
        };
        let mut cursor = Self {
            doc,
            position: 0,
            block: 0,
            decoded: 0,
            blocks: list.as_ref().map_or(1, ListWords::blocks),
            block_len: list.as_ref().map_or(1, |list| list.codec.block_len()),
            buffers: Scratch::take(),
            list,
            tf_block: None,
            tf_uses: 0,
            tf_decoded: usize::MAX,
            blocks_decoded: 0,
            single_tf,
            damage: None,
        };
        if cursor.list.as_ref().is_some_and(|list| doc >= list.documents) {
            cursor.decode();
        }
        cursor
    }

    /// The docID that it stands on, or [`END`].
    #[inline]
    pub fn doc(&self) -> u32 {
        self.doc
    }

    /// Number of postings of the list.
    pub fn df(&self) -> u32 {
        self.list.as_ref().map_or(1, |list| list.df)
    }

    /// Number of blocks of the list.
    pub fn blocks(&self) -> usize {
        self.blocks
    }

    /// How many of them were decoded.
    pub fn blocks_decoded(&self) -> u32 {
        self.blocks_decoded
    }

    /// The error that ended the list early, if there was one.
    pub fn damage(&mut self) -> Option<Error> {
        self.damage.take().map(|error| *error)
    }

    #[cold]
    fn fail(&mut self, error: Error) {
        self.damage = Some(Box::new(error));
        self.finish();
    }

    #[cold]
    fn finish(&mut self) {
        self.doc = END;
        self.block = self.blocks;
        self.decoded = 0;
    }

    /// Decodes the current block; false if that failed or there is nothing to decode.
    fn decode(&mut self) -> bool {
        let Some(list) = &self.list else { return false };
        match list.decode(self.block, &mut self.buffers.docs) {
            Ok(_) => {
                self.blocks_decoded += 1;
                self.decoded = list.block_len(self.block);
                true
            }
            Err(error) => {
                self.fail(error);
                false
            }
        }
    }

    /// Stands on the first posting of a block without decoding it.
    #[inline]
    fn enter(&mut self, block: usize) -> u32 {
        let first = match &self.list {
            Some(list) if block < self.blocks => list.skip(block).first,
            _ => {
                self.finish();
                return END;
            }
        };
        // A first docID that is out of order would let the cursor walk backwards.
        if first <= self.doc || first >= self.documents() {
            self.fail_order(block);
            return END;
        }
        self.block = block;
        self.position = 0;
        self.decoded = 0;
        self.doc = first;
        first
    }

    fn documents(&self) -> u32 {
        self.list.as_ref().map_or(END, |list| list.documents)
    }

    #[cold]
    fn fail_order(&mut self, block: usize) {
        if let Some(list) = &self.list {
            let what = format!("block {block} of list {} starts with a docID out of order", list.number);
            let error = damaged(list.postings_path, 4 * list.postings_at, what);
            self.fail(error);
        }
    }

    /// Moves on by one posting and returns its docID, or [`END`].
    #[inline]
    pub fn advance(&mut self) -> u32 {
        if self.doc == END || (self.decoded == 0 && (self.list.is_none() || !self.decode())) {
            self.doc = END;
            return END;
        }
        if self.position + 1 < self.decoded {
            self.position += 1;
            self.doc = self.buffers.docs[self.position];
            return self.doc;
        }
        self.enter(self.block + 1)
    }

    /// Moves to the first posting whose docID is at least `target`, which may be the current one, and
    /// returns its docID, or [`END`]. Skipped blocks are not decoded.
    #[inline]
    pub fn next_geq(&mut self, target: u32) -> u32 {
        if target <= self.doc {
            return self.doc;
        }
        let list = match &self.list {
            Some(list) if target != END => list,
            _ => {
                self.finish();
                return END;
            }
        };
        if list.skips.get(self.block + 1).is_some_and(|next| next.first <= target) {
            let block = seek(list.skips, self.block + 1, target);
            if self.enter(block) >= target {
                return self.doc;
            }
        }
        if self.decoded == 0 && !self.decode() {
            return END;
        }
        let docs = &self.buffers.docs[..self.decoded];
        self.position = find(docs, self.position, target);
        if self.position < docs.len() {
            self.doc = docs[self.position];
            return self.doc;
        }
        if self.enter(self.block + 1) < target {
            self.fail_order(self.block);
        }
        self.doc
    }

    /// The frequency at the current posting. 1 at [`END`] and where `tf.bin` is damaged, which also ends the list.
    #[inline]
    pub fn tf(&mut self) -> u32 {
        self.tf_at(self.position())
    }

    /// Where in the list the current posting stands, from 0 on.
    #[inline]
    pub fn position(&self) -> usize {
        self.block * self.block_len + self.position
    }

    /// The frequency at any position of the list, as [`Self::tf`]; where it stands does not matter.
    #[inline]
    pub fn tf_at(&mut self, position: usize) -> u32 {
        if self.list.is_none() {
            return self.single_tf;
        }
        if position / tf::BLOCK == self.tf_decoded {
            return self.buffers.tfs[position % tf::BLOCK];
        }
        self.tf_of(position)
    }

    /// One frequency of a block that is not decoded; from the third on, the whole block is.
    fn tf_of(&mut self, position: usize) -> u32 {
        let Some(list) = &self.list else { return 1 };
        let (index, i) = (position / tf::BLOCK, position % tf::BLOCK);
        if self.tf_block.is_none_or(|(number, _)| number != index) {
            self.tf_block = list.tf.block(index).map(|block| (index, block));
            self.tf_uses = 0;
        }
        self.tf_uses += 1;
        let decode_all = self.tf_uses > 2;
        let tf = self.tf_block.and_then(|(_, block)| {
            if decode_all { block.decode(&mut self.buffers.tfs).map(|_| self.buffers.tfs[i]) } else { block.get(i) }
        });
        match tf {
            Some(tf) => {
                if decode_all {
                    self.tf_decoded = index;
                }
                tf
            }
            None => {
                if self.doc != END {
                    let error = list.bad_tf(position);
                    self.fail(error);
                }
                1
            }
        }
    }

    /// The bound of the block that would hold `target`, and the first docID after that block; nothing is
    /// decoded or moved. `target` is not less than the current docID.
    #[inline]
    pub fn bound_at(&self, target: u32, hint: &mut usize) -> (Bound, u32) {
        let Some(list) = &self.list else { return (Bound(u32::MAX), END) };
        if list.skips.is_empty() {
            return (list.bound, END);
        }
        let from = self.block.max(*hint).min(list.skips.len() - 1);
        let block = if list.skips.get(from + 1).is_some_and(|next| next.first <= target) {
            seek(list.skips, from + 1, target)
        } else {
            from
        };
        *hint = block;
        (Bound(list.skips[block].bound), list.skips.get(block + 1).map_or(END, |next| next.first))
    }
}

/// The last block from `from` on whose first docID is at most `target`; that of `from` is.
#[inline]
fn seek(skips: &[Skip], from: usize, target: u32) -> usize {
    let mut low = from;
    let mut step = 1;
    while skips.get(low + step).is_some_and(|skip| skip.first <= target) {
        low += step;
        step *= 2;
    }
    let end = (low + step).min(skips.len());
    low + skips[low + 1..end].partition_point(|skip| skip.first <= target)
}
