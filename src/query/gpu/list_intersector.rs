//! Intersections of lists that are in no index, by the methods of [`crate::query::intersect`] on a GPU.

use super::arena::Arena;
use super::candidates::{Candidates, Want};
use super::intersector::{BATCH_CANDIDATES, BATCH_QUERIES, IntersectReport};
use super::residence::placed_at;
use super::slot::TermRow;
use super::term_row;
use crate::codec::{Codec, Memory};
use crate::gpu::Gpu;
use crate::index::ListWords;
use crate::query::Scores;
use crate::{Error, Result};
use std::sync::Arc;

fn full() -> Error {
    Error::Invalid { what: "the lists".to_owned(), why: "do not fit the memory of the device".to_owned() }
}

/// Intersects lists that are in no index, by one method.
pub struct ListIntersector<'a> {
    candidates: Candidates,
    arena: Arena,
    lists: Vec<(ListWords<'a>, TermRow)>,
    codec: Arc<dyn Codec>,
}

impl<'a> ListIntersector<'a> {
    /// Brings `lists` to the device, all of the codec `codec` and with docIDs less than `documents`, as [`ListWords::in_memory`] makes
    /// them: all words of each are brought, and no frequencies.
    ///
    /// # Errors
    /// As of [`super::GpuIntersector::new`].
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
        let candidates = Candidates::new(gpu, Arc::clone(codec), &arena, (documents, Scores::Bm25), spec, timed)?;
        let mut placed = Vec::new();
        for list in lists {
            let parts: [&[u32]; 2] = [bytemuck::cast_slice(list.skips), list.words];
            let total = u32::try_from(parts[0].len() + parts[1].len()).map_err(|_| full())?;
            let at = arena.take(total).ok_or_else(full)?;
            arena.write(at, &parts.concat())?;
            let place = placed_at(list, at + parts[0].len() as u32, at, 0, false);
            placed.push((list.clone(), term_row(&place, 0, 0)));
        }
        let mut intersector = Self { candidates, arena, lists: placed, codec: Arc::clone(codec) };
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

    /// The docIDs that all lists of each query have, in increasing order; a query is the numbers of its lists. No lists have none.
    ///
    /// # Errors
    /// [`Error::Gpu`] if the device fails.
    ///
    /// # Panics
    /// If there is no list of a number.
    pub fn intersect(&mut self, queries: &[Vec<usize>]) -> Result<(Vec<Vec<u32>>, IntersectReport)> {
        let mut report = IntersectReport::default();
        let mut results = vec![Vec::new(); queries.len()];
        let asked: Vec<usize> = (0..queries.len()).filter(|&query| !queries[query].is_empty()).collect();
        let mut next = 0;
        while next < asked.len() {
            let (mut rows, mut sum) = (Vec::new(), 0);
            for &query in asked[next..].iter().take(BATCH_QUERIES) {
                let mut terms: Vec<TermRow> = queries[query].iter().map(|&list| self.lists[list].1).collect();
                terms.sort_by_key(|row| row[3]);
                sum += u64::from(terms[0][3]);
                rows.push(terms);
                if sum >= BATCH_CANDIDATES {
                    break;
                }
            }
            let flight = self.candidates.submit(&self.arena, &rows, Want::Docs)?;
            let found = self.candidates.finish(flight)?;
            report.add(&found);
            for place in 0..rows.len() {
                results[asked[next + place]] = found.docs(place);
            }
            next += rows.len();
        }
        Ok((results, report))
    }
}
