//! Intersections of lists that are in no index, by the methods of [`crate::query::and`] on a GPU.

use super::candidates::{Candidates, Rows, Want, passes};
use super::placed::placed_at;
use super::plan_rows::term_row;
use super::report::Report;
use super::rows::TermRow;
use super::slot::{Outside, Slot};
use crate::codec::Codec;
use crate::gpu::{Arena, Gpu, Memory};
use crate::postings::ListWords;
use crate::query::Scores;
use crate::{Error, Result};
use std::sync::Arc;

fn full() -> Error {
    Error::Invalid { what: "the lists".to_owned(), why: "do not fit the memory of the device".to_owned() }
}

/// Intersects lists that are in no index, by one method.
pub struct ListIntersector<'a> {
    gpu: Gpu,
    candidates: Candidates,
    arena: Arena,
    slot: Slot,
    lists: Vec<(ListWords<'a>, TermRow)>,
    codec: Arc<dyn Codec>,
    timed: bool,
}

impl<'a> ListIntersector<'a> {
    /// Brings `lists` to the device: all words of each, but no frequencies. The lists are of `codec`, their docIDs are
    /// less than `documents`, and [`ListWords::in_memory`] makes such lists.
    ///
    /// # Errors
    /// As of [`super::GpuEngine::new`].
    pub fn new(
        gpu: &Gpu,
        codec: &Arc<dyn Codec>,
        lists: &[ListWords<'a>],
        documents: u32,
        spec: &str,
        timed: bool,
    ) -> Result<Self> {
        let words: usize = lists.iter().map(|list| 3 * list.skips.len() + list.words.len()).sum();
        let mut arena = Arena::new(gpu, Memory::ONE, words as u64 + 4)?;
        let candidates =
            Candidates::new(gpu, Arc::clone(codec), arena.memory(), (documents, Scores::Bm25), None, spec)?;
        let mut placed = Vec::new();
        for list in lists {
            let parts: [&[u32]; 2] = [bytemuck::cast_slice(list.skips), list.words];
            let total = u32::try_from(parts[0].len() + parts[1].len()).map_err(|_| full())?;
            let at = arena.take(total)?.ok_or_else(full)?;
            let words = at + parts[0].len() as u32;
            arena.send(&[(at, parts[0]), (words, parts[1])])?;
            let place = placed_at(list, words, at, 0, false);
            placed.push((list.clone(), term_row(&place, 0, 0)));
        }
        let (gpu, slot, codec) = (gpu.clone(), Slot::new(gpu), Arc::clone(codec));
        let mut intersector = Self { gpu, candidates, arena, slot, lists: placed, codec, timed };
        intersector.add_tables()?;
        Ok(intersector)
    }

    fn add_tables(&mut self) -> Result<()> {
        for (number, (list, row)) in (0..).zip(&mut self.lists) {
            if list.blocks() > 1 && !self.candidates.add_table(row, number, list)? {
                return Err(full());
            }
        }
        Ok(())
    }

    /// Goes on by another method.
    ///
    /// # Errors
    /// As of [`Self::new`].
    pub fn change(&mut self, spec: &str) -> Result<()> {
        self.candidates.change(spec)?;
        self.add_tables()
    }

    /// The codec of the lists.
    pub fn codec(&self) -> &dyn Codec {
        self.codec.as_ref()
    }

    /// For each query the docIDs that all its lists have, in increasing order. A query is the numbers of its lists. One
    /// without lists gets no docIDs.
    ///
    /// # Errors
    /// [`Error::Gpu`] if the device fails.
    ///
    /// # Panics
    /// If there is no list of a number.
    pub fn intersect(&mut self, queries: &[Vec<usize>]) -> Result<(Vec<Vec<u32>>, Report)> {
        let mut report = Report::default();
        let mut results = vec![Vec::new(); queries.len()];
        let asked: Vec<usize> = (0..queries.len()).filter(|&query| !queries[query].is_empty()).collect();
        let mut next = 0;
        while next < asked.len() {
            let mut rows = Rows::default();
            for &query in &asked[next..] {
                let mut terms: Vec<TermRow> = queries[query].iter().map(|&list| self.lists[list].1).collect();
                terms.sort_by_key(|row| row.df);
                if !self.candidates.add(&mut rows, terms) {
                    break;
                }
            }
            let outside = Outside { buffers: self.arena.buffers().collect(), stamp: [self.arena.stamp(), 0, 0] };
            let (pending, sent) = self.candidates.send(&mut self.slot, &outside, &rows, Want::Docs, self.timed)?;
            let found = passes::finish(&self.gpu, &mut self.slot, pending, sent)?;
            report.add(&found);
            for (place, &query) in asked[next..next + rows.count()].iter().enumerate() {
                results[query] = found.pairs(place).into_iter().flatten().map(|(doc, _)| doc).collect();
            }
            next += rows.count();
        }
        Ok((results, report))
    }
}
