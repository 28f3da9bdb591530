//! Documents looked up in a list, a block at a time, and their parts of the score.

use super::{Scorer, Weight};
use crate::postings::Cursor;

/// Buffers for the documents of a block. They only grow.
#[derive(Default)]
pub(in crate::query) struct Probe {
    /// Which of the requested documents are there, where, how often, and their parts.
    which: Vec<u32>,
    places: Vec<u32>,
    docs: Vec<u32>,
    tfs: Vec<u32>,
    parts: Vec<f32>,
    pub(in crate::query) scored: u64,
}

impl Probe {
    /// Looks up increasing documents, all in the block of the cursor's last bound. Returns which of them are there, and
    /// their parts. A list with damage has none.
    pub(in crate::query) fn look_up<S: Scorer>(
        &mut self,
        cursor: &mut Cursor<'_>,
        weight: &Weight<'_>,
        docs: &[u32],
        scorer: &S,
    ) -> (&[u32], &[f32]) {
        if self.which.len() < docs.len() {
            for room in [&mut self.which, &mut self.places, &mut self.docs, &mut self.tfs] {
                room.resize(docs.len(), 0);
            }
            self.parts.resize(docs.len(), 0.0);
        }
        let (mut found, start) = cursor.look_up(docs, &mut self.which, &mut self.places);
        if !S::BY_POSITION && found == 1 {
            let position = start + self.places[0] as usize;
            self.parts[0] = scorer.part(weight, docs[self.which[0] as usize], cursor.tf_at(position), position);
        } else if found > 0 {
            let places = &self.places[..found];
            if !S::BY_POSITION {
                for (doc, &which) in self.docs.iter_mut().zip(&self.which[..found]) {
                    *doc = docs[which as usize];
                }
                if let Err(error) = cursor.blocks().tfs_at(start, places, &mut self.tfs) {
                    cursor.fail(error);
                    found = 0;
                }
            }
            let (docs, tfs, places) = (&self.docs[..found], &self.tfs[..found], &places[..found]);
            scorer.scattered(weight, docs, tfs, start, places, &mut self.parts[..found]);
        }
        self.scored += found as u64;
        (&self.which[..found], &self.parts[..found])
    }
}
