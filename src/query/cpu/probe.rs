//! Looks documents up in a list, a block at a time.

use super::{Scorer, Weight};
use crate::Error;
use crate::index::{Bound, END, List, Scratch, common, tf};

/// A list, and the block of it that the last documents were looked up in. Documents only grow.
pub(super) struct Probe<'a> {
    list: List<'a>,
    weight: Weight<'a>,
    block: usize,
    /// First docID of the next block.
    end: u32,
    loaded: bool,
    /// The block of frequencies that the buffers hold.
    tf_loaded: usize,
    buffers: Scratch,
    /// Which of the documents asked for are there, where, how often, and what that adds.
    which: Vec<u32>,
    places: Vec<u32>,
    docs: Vec<u32>,
    tfs: Vec<u32>,
    parts: Vec<f32>,
    pub(super) scored: u64,
    pub(super) decoded: u32,
    pub(super) damage: Option<Error>,
}

impl<'a> Probe<'a> {
    /// Before the first posting.
    pub(super) fn new(list: List<'a>, weight: Weight<'a>) -> Self {
        let end = match &list {
            List::Blocks(list) => list.skips.get(1).map_or(END, |skip| skip.first),
            List::Single { .. } => END,
        };
        Self {
            list,
            weight,
            block: 0,
            end,
            loaded: false,
            tf_loaded: usize::MAX,
            buffers: Scratch::take(),
            which: Vec::new(),
            places: Vec::new(),
            docs: Vec::new(),
            tfs: Vec::new(),
            parts: Vec::new(),
            scored: 0,
            decoded: 0,
            damage: None,
        }
    }

    /// The list.
    pub(super) fn list(&self) -> &List<'a> {
        &self.list
    }

    /// Goes to the block that may have `doc`, and returns the first docID that it cannot have, and what its postings add at
    /// most.
    #[inline]
    pub(super) fn seek(&mut self, doc: u32, scorer: &impl Scorer) -> (u32, f32) {
        let list = match &self.list {
            List::Blocks(list) => list,
            List::Single { doc, tf } => return (END, scorer.part(&self.weight, *doc, *tf, 0)),
        };
        if doc >= self.end {
            let starts_by = |block: usize| list.skips.get(block).is_some_and(|skip| skip.first <= doc);
            let (mut low, mut step) = (self.block + 1, 1);
            while starts_by(low + step) {
                low += step;
                step *= 2;
            }
            let high = (low + step).min(list.skips.len());
            self.block = low + list.skips[low + 1..high].partition_point(|skip| skip.first <= doc);
            self.end = list.skips.get(self.block + 1).map_or(END, |skip| skip.first);
            self.loaded = false;
        }
        let bound = list.skips.get(self.block).map_or(list.bound, |skip| Bound(skip.bound));
        (self.end, scorer.bound(&self.weight, bound))
    }

    /// Looks up increasing documents, all of the block that it is at, and returns which of them are there and what that adds to
    /// each. A list with damage has none.
    pub(super) fn look_up(&mut self, docs: &[u32], scorer: &impl Scorer) -> (&[u32], &[f32]) {
        if self.which.len() < docs.len() {
            for room in [&mut self.which, &mut self.places, &mut self.docs, &mut self.tfs] {
                room.resize(docs.len(), 0);
            }
            self.parts.resize(docs.len(), 0.0);
        }
        let found = match self.find(docs, scorer) {
            Ok(found) => found,
            Err(error) => {
                self.damage.get_or_insert(error);
                self.loaded = false;
                0
            }
        };
        self.scored += found as u64;
        (&self.which[..found], &self.parts[..found])
    }

    fn find<S: Scorer>(&mut self, docs: &[u32], scorer: &S) -> Result<usize, Error> {
        let list = match &self.list {
            List::Blocks(list) => list,
            List::Single { doc, tf } => {
                let Ok(at) = docs.binary_search(doc) else { return Ok(0) };
                self.which[0] = at as u32;
                self.parts[0] = scorer.part(&self.weight, *doc, *tf, 0);
                return Ok(1);
            }
        };
        let n = list.block_len(self.block);
        if !self.loaded {
            list.decode(self.block, &mut self.buffers.docs)?;
            self.decoded += 1;
            self.loaded = true;
        }
        let found = common(&self.buffers.docs[..n], docs, &mut self.which, &mut self.places);
        if found == 0 {
            return Ok(0);
        }
        let start = self.block * list.codec.block_len();
        if !S::BY_POSITION && found <= ALONE {
            for (&which, (&place, part)) in self.which[..found].iter().zip(self.places.iter().zip(&mut self.parts)) {
                let position = start + place as usize;
                let (block, at) = (position / tf::BLOCK, position % tf::BLOCK);
                let tf = match block == self.tf_loaded {
                    true => Some(self.buffers.tfs[at]),
                    false => list.tf.block(block).and_then(|words| words.get(at)),
                };
                let tf = tf.ok_or_else(|| list.bad_tf(position))?;
                *part = scorer.part(&self.weight, docs[which as usize], tf, position);
            }
            return Ok(found);
        }
        let looked_at = if S::BY_POSITION { 0 } else { found };
        for i in 0..looked_at {
            let position = start + self.places[i] as usize;
            let (block, at) = (position / tf::BLOCK, position % tf::BLOCK);
            if block != self.tf_loaded {
                let decoded = list.tf.block(block).and_then(|words| words.decode(&mut self.buffers.tfs));
                decoded.ok_or_else(|| list.bad_tf(position))?;
                self.tf_loaded = block;
            }
            self.tfs[i] = self.buffers.tfs[at];
            self.docs[i] = docs[self.which[i] as usize];
        }
        let (docs, tfs, places) = (&self.docs[..found], &self.tfs[..found], &self.places[..found]);
        scorer.scattered(&self.weight, docs, tfs, start, places, &mut self.parts[..found]);
        Ok(found)
    }
}

/// With no more matches than this in a block, they are read and scored one by one.
const ALONE: usize = 1;
