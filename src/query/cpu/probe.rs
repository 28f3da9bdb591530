//! Documents looked up in a list, a block at a time, and their parts of the score.

use super::{Scorer, Weight};
use crate::base::bits::set_places;
use crate::postings::{Cursor, PICKED, common, matches, pick};

/// So many documents are looked up at a time, at most.
pub(in crate::query) const MOST: usize = 128;
/// To look up no more than so many in a block takes less time than to fetch its frequencies, which are prefetched then.
const FEW: usize = 8;
/// Room for what two look-ups find, and for a register behind it.
const ROOM: usize = MOST + PICKED;

/// Documents that were looked up and are there, one after the other. Slots behind them have any numbers.
pub(in crate::query) struct Probe {
    found: usize,
    docs: [u32; ROOM],
    /// Their frequencies, and their parts of the score: by position those are known at once, else by [`Self::score`].
    tfs: [u32; ROOM],
    parts: [f32; ROOM],
    /// In blocks of more docIDs than [`MOST`], which of the requested documents they are, and their places.
    which: [u32; MOST],
    places: [u32; MOST],
}

impl Default for Probe {
    fn default() -> Self {
        let (all, some) = ([0; ROOM], [0; MOST]);
        Self { found: 0, docs: all, tfs: all, parts: [0.0; ROOM], which: some, places: some }
    }
}

impl Probe {
    /// How many were found since they were last forgotten.
    #[inline(always)]
    pub(in crate::query) fn found(&self) -> usize {
        self.found
    }

    /// Forgets them.
    #[inline(always)]
    pub(in crate::query) fn clear(&mut self) {
        self.found = 0;
    }

    /// Looks up increasing documents, at most [`MOST`], all in the reach of a block. Adds those that are there to those
    /// that were found, of which there are at most [`MOST`] before, and returns a bit for each of them. A list with
    /// damage has none.
    #[inline(always)]
    pub(in crate::query) fn look_up<S: Scorer>(
        &mut self,
        cursor: &mut Cursor<'_>,
        weight: &Weight<'_>,
        (block, docs): (usize, &[u32]),
        scorer: &S,
    ) -> u128 {
        let at = self.found;
        assert!(at <= MOST);
        if !S::BY_POSITION && docs.len() <= FEW {
            cursor.blocks().prefetch_tfs(block);
        }
        let there = cursor.docs_of(block);
        if there.len() > MOST {
            return self.look_up_far(cursor, weight, (block, docs), scorer);
        }
        let (those, these) = matches(there, docs);
        let n = those.count_ones() as usize;
        if n == 0 {
            return 0;
        }
        let start = cursor.blocks().start(block);
        if S::BY_POSITION {
            for (part, place) in self.parts[at..].iter_mut().zip(set_places(these)) {
                *part = scorer.part(weight, 0, 0, start + place);
            }
        } else if n == 1 {
            self.docs[at] = docs[those.trailing_zeros() as usize];
            self.tfs[at] = cursor.tf_at(start + these.trailing_zeros() as usize);
        } else {
            let room = self.tfs[at..].first_chunk_mut().expect("room for a look-up");
            if let Err(error) = cursor.blocks().tfs_of(block, these, room) {
                cursor.fail(error);
                return 0;
            }
            pick(those, docs, self.docs[at..].first_chunk_mut().expect("room for a look-up"));
        }
        self.found += n;
        those
    }

    /// As [`Self::look_up`] in a block of more docIDs than that.
    fn look_up_far<S: Scorer>(
        &mut self,
        cursor: &mut Cursor<'_>,
        weight: &Weight<'_>,
        (block, docs): (usize, &[u32]),
        scorer: &S,
    ) -> u128 {
        let n = common(cursor.docs_of(block), docs, &mut self.which, &mut self.places);
        let start = cursor.blocks().start(block);
        let mut those = 0;
        for (&which, &place) in self.which[..n].iter().zip(&self.places) {
            let position = start + place as usize;
            if S::BY_POSITION {
                self.parts[self.found] = scorer.part(weight, 0, 0, position);
            } else {
                (self.docs[self.found], self.tfs[self.found]) = (docs[which as usize], cursor.tf_at(position));
            }
            self.found += 1;
            those |= 1 << which;
        }
        those
    }

    /// The parts of all that were found.
    #[inline(always)]
    pub(in crate::query) fn score<S: Scorer>(&mut self, weight: &Weight<'_>, scorer: &S) -> &[f32] {
        let n = self.found;
        if !S::BY_POSITION {
            scorer.parts(weight, &self.docs[..n], &self.tfs[..n], 0, &mut self.parts[..n]);
        }
        &self.parts[..n]
    }

    /// Puts the sums whose bits are set behind those of `out`, for documents that were just found.
    #[inline(always)]
    pub(in crate::query) fn pick_behind(those: u128, from: &[u32], out: &mut [u32; ROOM], at: usize) {
        pick(those, from, out[at..].first_chunk_mut().expect("room for a look-up"));
    }
}

/// As many numbers as [`Probe::pick_behind`] puts together.
pub(in crate::query) type Gathered = [u32; ROOM];
/// Without numbers.
pub(in crate::query) const NONE_GATHERED: Gathered = [0; ROOM];
