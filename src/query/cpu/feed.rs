//! The scored postings of a term, a window of docIDs at a time.

use super::{Scorer, Weight};
use crate::postings::{Cursor, Postings};

/// Postings from some docID on, each with its part of the score. Windows only move forward.
#[derive(Default)]
pub(in crate::query) struct Feed {
    /// DocIDs and parts that were read and are not behind the window.
    docs: Vec<u32>,
    parts: Vec<f32>,
    /// Those inside the window.
    inside: std::ops::Range<usize>,
    pub(in crate::query) scored: u64,
}

impl Feed {
    /// The docIDs of the window.
    #[inline]
    pub(in crate::query) fn docs(&self) -> &[u32] {
        &self.docs[self.inside.clone()]
    }

    /// The part of each of them.
    #[inline]
    pub(in crate::query) fn parts(&self) -> &[f32] {
        &self.parts[self.inside.clone()]
    }

    /// A docID from `from` on, not greater than that of the first posting there.
    pub(in crate::query) fn next_from(&self, cursor: &mut Cursor<'_>, from: u32) -> u32 {
        match self.docs.last() {
            Some(&last) if last >= from => self.docs[self.docs.partition_point(|&doc| doc < from)],
            _ => cursor.skip_to(from).max(from),
        }
    }

    /// Reads on so that the window is `from..end`, and drops earlier postings. Neither ever falls.
    pub(in crate::query) fn window(
        &mut self,
        cursor: &mut Cursor<'_>,
        weight: &Weight<'_>,
        from: u32,
        end: u32,
        scorer: &impl Scorer,
    ) {
        let behind = self.inside.start + self.docs[self.inside.start..].partition_point(|&doc| doc < from);
        self.docs.copy_within(behind.., 0);
        self.parts.copy_within(behind.., 0);
        self.docs.truncate(self.docs.len() - behind);
        let old = self.docs.len();
        let position = cursor.window(from, end, &mut self.docs);
        self.parts.resize(self.docs.len(), 0.0);
        let (docs, parts) = (&self.docs[old..], &mut self.parts[old..]);
        self.scored += docs.len() as u64;
        // Behind the last posting the position is the end of a whole block, which the list need not have.
        let parts = if docs.is_empty() { Ok(()) } else { scorer.parts(weight, cursor.blocks(), position, docs, parts) };
        if let Err(error) = parts {
            cursor.fail(error);
        }
        let start = self.docs.partition_point(|&doc| doc < from);
        self.inside = start..start + self.docs[start..].partition_point(|&doc| doc < end);
    }
}
