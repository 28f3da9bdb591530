//! The scored postings of a term, a window of docIDs at a time.

use super::{Scorer, Weight};
use crate::Error;
use crate::index::{Bound, END, List};

/// Whole blocks of a list with what each posting adds, from some docID on. Windows only move forward.
pub(super) struct Feed<'a> {
    list: List<'a>,
    weight: Weight<'a>,
    /// DocIDs and parts of the blocks read, as far as they are not behind the window.
    docs: Vec<u32>,
    parts: Vec<f32>,
    /// Those inside the window.
    inside: std::ops::Range<usize>,
    /// The next block to be read.
    next: usize,
    /// The block that the last question for a bound began with.
    hint: usize,
    pub(super) scored: u64,
    pub(super) decoded: u32,
    pub(super) damage: Option<Error>,
}

impl<'a> Feed<'a> {
    /// Before the first posting.
    pub(super) fn new(list: List<'a>, weight: Weight<'a>) -> Self {
        let (docs, parts) = (Vec::new(), Vec::new());
        Self { list, weight, docs, parts, inside: 0..0, next: 0, hint: 0, scored: 0, decoded: 0, damage: None }
    }

    /// The docIDs of the window.
    #[inline]
    pub(super) fn docs(&self) -> &[u32] {
        &self.docs[self.inside.clone()]
    }

    /// What each of them adds.
    #[inline]
    pub(super) fn parts(&self) -> &[f32] {
        &self.parts[self.inside.clone()]
    }

    /// Number of blocks.
    pub(super) fn blocks(&self) -> usize {
        match &self.list {
            List::Single { .. } => 1,
            List::Blocks(list) => list.blocks(),
        }
    }

    /// First docID of a block, [`END`] behind the last.
    #[inline]
    pub(super) fn first(&self, block: usize) -> u32 {
        match &self.list {
            List::Blocks(list) if block < list.blocks() => list.skip(block).first,
            List::Single { doc, .. } if block == 0 => *doc,
            _ => END,
        }
    }

    /// A docID not greater than that of the first posting from `from` on, and at least `from`.
    pub(super) fn next_from(&mut self, from: u32) -> u32 {
        match self.docs.last() {
            Some(&last) if last >= from => self.docs[self.docs.partition_point(|&doc| doc < from)],
            _ => {
                self.skip(from);
                self.first(self.next).max(from)
            }
        }
    }

    /// Passes over blocks that end before `from`.
    fn skip(&mut self, from: u32) {
        if let List::Blocks(list) = &self.list {
            let ended = |block: usize| list.skips.get(block + 1).is_some_and(|next| next.first <= from);
            while ended(self.next) {
                self.next += 1;
            }
        }
    }

    /// What one posting of `from..end` can add at most. `from` never falls.
    pub(super) fn bound(&mut self, from: u32, end: u32, scorer: &impl Scorer) -> f32 {
        let bound = match &self.list {
            List::Single { doc, tf } => {
                return if (from..end).contains(doc) { scorer.part(&self.weight, *doc, *tf, 0) } else { 0.0 };
            }
            List::Blocks(list) if list.skips.is_empty() => {
                if list.first >= end {
                    return 0.0;
                }
                list.bound
            }
            List::Blocks(list) => {
                let skips = &list.skips[self.hint..];
                let before = skips.iter().take_while(|skip| skip.first <= from).count().saturating_sub(1);
                self.hint += before;
                let inside = skips[before..].iter().take_while(|skip| skip.first < end);
                match inside.map(|skip| Bound(skip.bound)).reduce(Bound::join) {
                    Some(bound) => bound,
                    None => return 0.0,
                }
            }
        };
        scorer.bound(&self.weight, bound)
    }

    /// Reads on so that the window is `from..end`, and leaves out blocks that end before it. Neither ever falls.
    pub(super) fn window(&mut self, from: u32, end: u32, scorer: &impl Scorer) {
        let behind = self.inside.start + self.docs[self.inside.start..].partition_point(|&doc| doc < from);
        self.docs.copy_within(behind.., 0);
        self.parts.copy_within(behind.., 0);
        self.docs.truncate(self.docs.len() - behind);
        self.parts.truncate(self.docs.len());
        self.skip(from);
        while self.first(self.next) < end {
            if let Err(error) = self.read(scorer) {
                self.damage = Some(error);
                self.next = self.blocks();
                self.docs.clear();
                self.parts.clear();
            }
        }
        let start = self.docs.partition_point(|&doc| doc < from);
        self.inside = start..start + self.docs[start..].partition_point(|&doc| doc < end);
    }

    /// Reads the next block.
    fn read(&mut self, scorer: &impl Scorer) -> Result<(), Error> {
        let start = self.docs.len();
        let block = self.next;
        self.next += 1;
        let list = match &self.list {
            List::Single { doc, tf } => {
                self.docs.push(*doc);
                self.parts.push(scorer.part(&self.weight, *doc, *tf, 0));
                self.scored += 1;
                return Ok(());
            }
            List::Blocks(list) => list,
        };
        let n = list.block_len(block);
        self.docs.resize(start + n, 0);
        self.parts.resize(start + n, 0.0);
        list.decode_into(block, &mut self.docs[start..])?;
        self.decoded += 1;
        self.scored += n as u64;
        let position = block * list.codec.block_len();
        scorer.parts(&self.weight, list, position, &self.docs[start..], &mut self.parts[start..])
    }
}
