//! A conjunction list after list, which may stop between two lists and hand over what it has.

use super::pairwise::{Filter, Found};
use super::{Request, Scored, Scorer, Scoring, by_impacts, open_one};
use crate::Result;
use crate::postings::Blocks;
use crate::query::topk::{Hit, NewTopK};

/// A conjunction on its way through the CPU: the documents that all lists so far have.
pub(in crate::query) struct Steps<'a> {
    request: Request<'a>,
    /// Increasing.
    docs: Vec<u32>,
    /// What some of the lists have added to the score of each document, in whole numbers.
    sums: Vec<f32>,
    /// The other lists, and the position there of each document. Only documents that stay are scored.
    unscored: Vec<(Scored<'a>, Vec<u32>)>,
    found: Found,
}

impl<'a> Steps<'a> {
    /// Has no documents yet.
    pub(in crate::query) fn new(request: Request<'a>) -> Self {
        let found = Found { with_positions: true, ..Found::default() };
        Self { request, docs: Vec::new(), sums: Vec::new(), unscored: Vec::new(), found }
    }

    /// How many documents there are.
    pub(in crate::query) fn count(&self) -> usize {
        self.docs.len()
    }

    fn open(&self, term: usize) -> Result<Scored<'a>> {
        let Request { index, codec, plan, scoring, .. } = &self.request;
        open_one(index, *codec, (term, &plan.terms[term]), scoring)
    }

    /// Begins with the documents of a term of the plan, given by its number.
    ///
    /// # Errors
    /// [`crate::Error::Damaged`]
    pub(in crate::query) fn start(&mut self, term: usize) -> Result<()> {
        let term = self.open(term)?;
        Blocks::new(term.cursor.list().clone()).all(&mut self.docs)?;
        self.sums = vec![0.0; self.docs.len()];
        self.unscored = vec![(term, (0..self.docs.len() as u32).collect())];
        Ok(())
    }

    /// Keeps the documents that a term of the plan has.
    ///
    /// # Errors
    /// [`crate::Error::Damaged`]
    pub(in crate::query) fn intersect(&mut self, term: usize, filter: Filter) -> Result<()> {
        let term = self.open(term)?;
        self.found.docs.clear();
        self.found.kept.clear();
        self.found.positions.clear();
        filter(&self.docs, &mut Blocks::new(term.cursor.list().clone()), &mut self.found)?;
        std::mem::swap(&mut self.docs, &mut self.found.docs);
        self.found.keep(&mut self.sums);
        self.unscored.iter_mut().for_each(|(_, positions)| self.found.keep(positions));
        self.unscored.push((term, std::mem::take(&mut self.found.positions)));
        Ok(())
    }

    /// Goes on with documents, and with what the lists so far have added to their scores.
    pub(in crate::query) fn put(&mut self, docs: Vec<u32>, sums: Vec<f32>) {
        (self.docs, self.sums) = (docs, sums);
        self.unscored.clear();
    }

    /// Hands over the documents, and what all lists so far have added to their scores.
    ///
    /// # Errors
    /// [`crate::Error::Damaged`]
    pub(in crate::query) fn take(&mut self) -> Result<(Vec<u32>, Vec<f32>)> {
        match &self.request.scoring {
            Scoring::Bm25(scorer) => score(&mut self.unscored, &self.docs, &mut self.sums, scorer),
            Scoring::Impacts(_) => {
                score(&mut self.unscored, &self.docs, &mut self.sums, &by_impacts(self.request.index));
            }
        }
        let damage = self.unscored.iter_mut().find_map(|(term, _)| term.cursor.damage());
        self.unscored.clear();
        damage.map_or_else(|| Ok((std::mem::take(&mut self.docs), std::mem::take(&mut self.sums))), Err)
    }

    /// The best `k` documents, at least 1; scores are still whole numbers.
    ///
    /// # Errors
    /// [`crate::Error::Damaged`]
    pub(in crate::query) fn best(&mut self, k: usize, topk: NewTopK) -> Result<Vec<Hit>> {
        let (docs, sums) = self.take()?;
        let mut top = topk(k, self.request.index.input_places());
        docs.into_iter().zip(sums).for_each(|(doc, score)| top.push(Hit { doc, score }));
        Ok(top.into_sorted())
    }
}

/// Adds what lists add to the scores of documents, list by list, so that each block of frequencies is decoded once.
fn score(lists: &mut [(Scored<'_>, Vec<u32>)], docs: &[u32], sums: &mut [f32], scorer: &impl Scorer) {
    for (term, positions) in lists {
        for ((sum, &doc), &position) in sums.iter_mut().zip(docs).zip(&*positions) {
            *sum += term.score_at(doc, position as usize, scorer);
        }
    }
}
