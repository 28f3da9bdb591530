//! Walks a list of postings: block skips, frequencies on demand.

use super::block::Blocks;
use super::find::find;
use super::list::{END, List};
use super::skip::{gallop, linear};
use crate::Error;
use crate::error::damaged;
use crate::score::bound::Bound;

/// The postings of a term in docID order, seen from one of them.
///
/// Stands on the first posting when new, and on [`END`] behind the last one. Methods for queries are compiled for each
/// kind of postings, so that their inner loops make no unknown calls.
pub trait Postings {
    /// The docID of the current posting, or [`END`].
    fn doc(&self) -> u32;

    /// How many postings come before the current one.
    fn position(&self) -> usize;

    /// Moves on by one posting and returns its docID, or [`END`].
    fn advance(&mut self) -> u32;

    /// Moves to the first posting whose docID is at least `target`, which may be the current one, and returns its
    /// docID, or [`END`].
    fn seek(&mut self, target: u32) -> u32;

    /// The frequency at the current posting; 1 at [`END`].
    fn tf(&mut self) -> u32;

    /// An upper bound of scores in the block that may contain `doc`, and the first docID after that block. Nothing
    /// moves; from one call to the next `doc` never falls.
    fn bound_at(&mut self, doc: u32) -> (Bound, u32);

    /// Appends the docIDs of consecutive postings to `docs`, among them all unread ones in `from..end`, and returns the
    /// position of the first. Then moves to the posting after them. Neither end of the window ever falls.
    fn window(&mut self, from: u32, end: u32, docs: &mut Vec<u32>) -> usize;
}

/// Walks the blocks of a list. The first request for a docID other than its first decodes a block.
///
/// Damage ends the list; [`Cursor::damage`] then has the error, and a caller that walks to [`END`] must ask for it.
pub struct Cursor<'a> {
    blocks: Blocks<'a>,
    doc: u32,
    /// The current block, and the place in it.
    block: usize,
    at: usize,
    /// The block of [`Postings::bound_at`].
    near: usize,
    damage: Option<Box<Error>>,
}

impl<'a> Cursor<'a> {
    /// On the first posting of `list`.
    pub fn new(list: List<'a>) -> Self {
        let (doc, documents) = (list.first(0), list.documents());
        let mut cursor = Self { blocks: Blocks::new(list), doc, block: 0, at: 0, near: 0, damage: None };
        if doc >= documents {
            cursor.decode();
        }
        cursor
    }

    /// The list.
    pub fn list(&self) -> &List<'a> {
        self.blocks.list()
    }

    /// The blocks, which may be read in any order; the cursor stays where it is.
    #[inline]
    pub fn blocks(&mut self) -> &mut Blocks<'a> {
        &mut self.blocks
    }

    /// How many blocks were decoded.
    pub fn decoded(&self) -> u32 {
        self.blocks.decoded()
    }

    /// The error that ended the list early, if there was one.
    pub fn damage(&mut self) -> Option<Error> {
        self.damage.take().map(|error| *error)
    }

    /// Ends the list; the first error counts.
    #[cold]
    pub fn fail(&mut self, error: Error) {
        self.damage.get_or_insert(Box::new(error));
        self.finish();
    }

    #[cold]
    fn finish(&mut self) {
        self.doc = END;
        self.block = self.list().blocks();
    }

    /// Decodes the current block; false if that failed.
    #[inline]
    fn load(&mut self) -> bool {
        self.blocks.has(self.block) || self.decode()
    }

    fn decode(&mut self) -> bool {
        match self.blocks.decode(self.block) {
            Ok(()) => true,
            Err(error) => {
                self.fail(error);
                false
            }
        }
    }

    /// Moves to the first posting of a block without decoding it.
    #[inline]
    fn enter(&mut self, block: usize) -> u32 {
        let list = self.blocks.list();
        let first = list.first(block);
        if first == END && block >= list.blocks() {
            self.finish();
            return END;
        }
        // A first docID that is out of order would let the cursor walk backwards.
        if first <= self.doc || first >= list.documents() {
            self.fail_order(block);
            return END;
        }
        self.block = block;
        self.at = 0;
        self.doc = first;
        first
    }

    #[cold]
    fn fail_order(&mut self, block: usize) {
        if let List::Blocks(list) = self.list() {
            let what = format!("block {block} of list {} starts with a docID out of order", list.number);
            let error = damaged(list.postings_path, 4 * list.postings_at, what);
            self.fail(error);
        }
    }

    /// Leaves out blocks that end before `doc`, and returns the new current docID, which may be less, or [`END`].
    pub fn skip_to(&mut self, doc: u32) -> u32 {
        let block = linear(self.list().skips(), self.block, doc);
        if block != self.block {
            self.enter(block);
        }
        self.doc
    }

    /// The frequency at any position of the list, as [`Postings::tf`], wherever the cursor stands.
    #[inline]
    pub fn tf_at(&mut self, position: usize) -> u32 {
        match self.blocks.known_tf(position) {
            Some(tf) => tf,
            None => self.read_tf(position),
        }
    }

    fn read_tf(&mut self, position: usize) -> u32 {
        self.blocks.tf(position).unwrap_or_else(|| {
            if self.doc != END {
                self.fail(self.blocks.bad_tf(position));
            }
            1
        })
    }

    /// The block of the last [`Postings::bound_at`].
    #[inline]
    pub fn near(&self) -> usize {
        self.near
    }

    /// Prefetches what is read first to decode a block.
    #[inline(always)]
    pub fn prefetch(&self, block: usize) {
        self.blocks.prefetch(block);
    }

    /// The docIDs of a block; a damaged one has none. The cursor stays where it is.
    #[inline(always)]
    pub fn docs_of(&mut self, block: usize) -> &[u32] {
        if let Err(error) = self.blocks.load(block) {
            self.fail(error);
            return &[];
        }
        self.blocks.docs()
    }

    /// An upper bound of scores of postings in `from..end`; `None` if there are none. From one call to the next, `from`
    /// never falls.
    pub fn bound_in(&mut self, from: u32, end: u32) -> Option<Bound> {
        self.fold_bounds(from, end, Bound::join)
    }

    /// As [`Self::bound_in`], but only its impact is of meaning.
    pub fn impact_in(&mut self, from: u32, end: u32) -> Option<Bound> {
        self.fold_bounds(from, end, |a, b| Bound(a.0.max(b.0)))
    }

    #[inline(always)]
    fn fold_bounds(&mut self, from: u32, end: u32, join: impl Fn(Bound, Bound) -> Bound) -> Option<Bound> {
        let list = self.blocks.list();
        if matches!(list, List::Single { doc, .. } if *doc < from) {
            return None;
        }
        self.near = linear(list.skips(), self.near, from);
        let rest = list.skips().get(self.near + 1..).unwrap_or(&[]);
        let inside = rest.iter().take_while(|skip| skip.first < end).map(|skip| Bound(skip.bound));
        (list.first(self.near) < end).then(|| inside.fold(list.bound(self.near), join))
    }
}

impl Postings for Cursor<'_> {
    #[inline]
    fn doc(&self) -> u32 {
        self.doc
    }

    #[inline]
    fn position(&self) -> usize {
        self.blocks.start(self.block) + self.at
    }

    // A call would cost more than the step.
    #[inline(always)]
    fn advance(&mut self) -> u32 {
        if self.doc == END || !self.load() {
            return END;
        }
        let docs = self.blocks.docs();
        if self.at + 1 < docs.len() {
            self.at += 1;
            self.doc = docs[self.at];
            return self.doc;
        }
        self.enter(self.block + 1)
    }

    /// Skipped blocks are not decoded.
    #[inline]
    fn seek(&mut self, target: u32) -> u32 {
        if target <= self.doc {
            return self.doc;
        }
        if target == END {
            self.finish();
            return END;
        }
        let block = gallop(self.list().skips(), self.block, target);
        if block != self.block {
            self.near = self.near.max(block);
            if self.enter(block) >= target {
                return self.doc;
            }
        }
        if !self.load() {
            return END;
        }
        let docs = self.blocks.docs();
        self.at = find(docs, self.at, target);
        if self.at < docs.len() {
            self.doc = docs[self.at];
            return self.doc;
        }
        if self.enter(self.block + 1) < target {
            self.fail_order(self.block);
        }
        self.doc
    }

    #[inline]
    fn tf(&mut self) -> u32 {
        self.tf_at(self.position())
    }

    #[inline]
    fn bound_at(&mut self, doc: u32) -> (Bound, u32) {
        let list = self.blocks.list();
        self.near = gallop(list.skips(), self.near, doc);
        (list.bound(self.near), list.skips().get(self.near + 1).map_or(END, |next| next.first))
    }

    /// Reads whole blocks and leaves out those that end before the window.
    fn window(&mut self, from: u32, end: u32, docs: &mut Vec<u32>) -> usize {
        self.skip_to(from);
        let start = self.blocks.start(self.block);
        while self.doc < end {
            if let Err(error) = self.blocks.append(self.block, docs) {
                self.fail(error);
                break;
            }
            self.enter(self.block + 1);
        }
        start
    }
}
