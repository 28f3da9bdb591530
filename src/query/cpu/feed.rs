//! The postings of a term, a window of docIDs at a time, and their parts of the score.

use super::simd::Hope;
use super::{Scorer, Weight};
use crate::postings::{Cursor, Postings};
use crate::score::Bound;
use std::ops::Range;

/// Postings from some docID on, not scored yet. Windows only move forward.
#[derive(Default)]
pub(in crate::query) struct Feed {
    /// DocIDs and frequencies that were read and are not behind the window. Scores by position need no frequencies, and
    /// then there are none.
    docs: Vec<u32>,
    tfs: Vec<u32>,
    /// The position of the first.
    position: usize,
    /// Those inside the window.
    inside: Range<usize>,
    /// Those of the window that were scored, and their parts.
    pub(super) scored_docs: Vec<u32>,
    pub(super) parts: Vec<f32>,
    pub(in crate::query) scored: u64,
}

impl Feed {
    /// How many postings the window has.
    #[inline]
    pub(in crate::query) fn len(&self) -> usize {
        self.inside.len()
    }

    /// The docIDs of the window.
    #[inline]
    pub(in crate::query) fn docs(&self) -> &[u32] {
        &self.docs[self.inside.clone()]
    }

    /// The part of each of them, once [`Self::score`] has run.
    #[inline]
    pub(in crate::query) fn parts(&self) -> &[f32] {
        &self.parts
    }

    /// A docID from `from` on, not greater than that of the first posting there.
    pub(in crate::query) fn next_from(&self, cursor: &mut Cursor<'_>, from: u32) -> u32 {
        match self.docs.last() {
            Some(&last) if last >= from => self.docs[self.docs.partition_point(|&doc| doc < from)],
            _ => cursor.skip_to(from).max(from),
        }
    }

    /// Reads on so that the window is `from..end`, and drops earlier postings. Neither ever falls.
    pub(in crate::query) fn window<S: Scorer>(&mut self, cursor: &mut Cursor<'_>, from: u32, end: u32) {
        let behind = self.inside.start + self.docs[self.inside.start..].partition_point(|&doc| doc < from);
        self.docs.copy_within(behind.., 0);
        self.docs.truncate(self.docs.len() - behind);
        let old = self.docs.len();
        let position = cursor.window(from, end, &mut self.docs);
        // Postings between those that are left and the new ones are none, unless none is left.
        self.position = if old == 0 { position } else { self.position + behind };
        if !S::BY_POSITION {
            self.tfs.copy_within(behind.., 0);
            self.tfs.resize(self.docs.len(), 1);
            // Behind the last posting the position is the end of a whole block, which the list need not have.
            if let Err(error) = cursor.blocks().copy_tfs(position, &mut self.tfs[old..]) {
                cursor.fail(error);
            }
        }
        let start = self.docs.partition_point(|&doc| doc < from);
        self.inside = start..start + self.docs[start..].partition_point(|&doc| doc < end);
    }

    /// Scores the whole window.
    pub(in crate::query) fn score<S: Scorer>(&mut self, weight: &Weight<'_>, scorer: &S) {
        let Range { start, end } = self.inside;
        let tfs = if S::BY_POSITION { &[] } else { &self.tfs[start..end] };
        self.parts.resize(end - start, 0.0);
        scorer.parts(weight, &self.docs[start..end], tfs, self.position + start, &mut self.parts);
        self.scored += (end - start) as u64;
    }

    /// Scores those postings of a part of the window that can pass the threshold by a bound from their frequencies;
    /// `bound` is one of the window, and `hope` that of a document before this term. Returns their docIDs and parts.
    pub(in crate::query) fn promising<S: Scorer>(
        &mut self,
        range: Range<usize>,
        weight: &Weight<'_>,
        bound: Bound,
        hope: Hope,
        scorer: &S,
    ) -> (&[u32], &[f32]) {
        let (start, end) = (self.inside.start + range.start, self.inside.start + range.end);
        let docs = &self.docs[start..end];
        let tfs = if S::BY_POSITION { &[] } else { &self.tfs[start..end] };
        let room = (&mut self.scored_docs, &mut self.parts);
        self.scored += scorer.promising(weight, (docs, tfs, self.position + start), bound, hope, room);
        (&self.scored_docs, &self.parts)
    }
}
