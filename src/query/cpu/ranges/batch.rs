//! Scores of documents that are found: some at a time, so that what one is made of comes near while others are looked at.

use super::super::simd::Hope;
use super::super::{Scorer, Sum};
use super::reader::Reader;
use super::table::RANGE;
use crate::query::topk::{Hit, TopK};

/// Documents that are scored together.
const BATCH: usize = 64;
/// A list lacks the document.
const NONE: u32 = u32::MAX;

/// The terms of a query, as far as documents are scored.
pub(super) struct Query<'a> {
    /// Those of which postings are read.
    pub(super) readers: Vec<Reader<'a>>,
    /// Places in the query: of the terms whose parts are known, then of the readers'.
    pub(super) orders: Vec<usize>,
    /// Room for rounding, more than 1.
    pub(super) slack: f32,
    pub(super) sum: Sum,
}

impl Query<'_> {
    /// The test of sums to which nothing is added.
    #[inline(always)]
    pub(super) fn hope(&self, top: &TopK) -> Hope {
        // Documents come in any order, and of two with the same score the first is better: the slack lets equals pass.
        Hope { more: 0.0, slack: self.slack, threshold: top.threshold() }
    }
}

/// Documents with the parts that are known, and where the readers' lists have them.
#[derive(Default)]
pub(super) struct Batch {
    docs: Vec<u32>,
    known: Vec<f32>,
    positions: Vec<u32>,
    /// Per reader, what it and those after it add to a document at most.
    rest: Vec<f32>,
}

impl Batch {
    /// Adds a document; [`Self::place`] follows for each reader.
    #[inline(always)]
    pub(super) fn push(&mut self, doc: u32, known: &[f32], scorer: &impl Scorer) {
        self.docs.push(doc);
        self.known.extend_from_slice(known);
        scorer.prefetch(doc);
    }

    /// Says where the list of the next reader has the last document.
    #[inline(always)]
    pub(super) fn place(&mut self, reader: &Reader<'_>, position: Option<usize>) {
        if let Some(position) = position {
            reader.prefetch_start(position);
        }
        self.positions.push(position.map_or(NONE, |position| position as u32));
    }

    /// Whether it is time for [`Self::flush`]: later documents will meet a higher threshold.
    #[inline(always)]
    pub(super) fn is_full(&self) -> bool {
        self.docs.len() >= BATCH
    }

    /// Scores the documents, as far as they have hope, and forgets them.
    #[inline(always)]
    pub(super) fn flush(&mut self, query: &mut Query<'_>, scorer: &impl Scorer, top: &mut TopK) {
        let n = query.readers.len();
        let known = query.orders.len() - n;
        for positions in self.positions.chunks_exact(n) {
            for (reader, &position) in query.readers.iter().zip(positions) {
                if position != NONE {
                    reader.prefetch_posting(position as usize);
                }
            }
        }
        self.rest.clear();
        self.rest.resize(n + 1, 0.0);
        'docs: for (i, &doc) in self.docs.iter().enumerate() {
            let hope = query.hope(top);
            let positions = &self.positions[i * n..][..n];
            for (at, &position) in positions.iter().enumerate().rev() {
                let bound = if position == NONE { 0.0 } else { query.readers[at].bound(doc as usize / RANGE) };
                self.rest[at] = self.rest[at + 1] + bound;
            }
            let mut sum = 0.0;
            query.sum.clear();
            for (&part, &order) in self.known[i * known..][..known].iter().zip(&query.orders) {
                sum += part;
                query.sum.put(order, part);
            }
            for (at, &position) in positions.iter().enumerate() {
                if !(Hope { more: self.rest[at], ..hope }).has(sum) {
                    continue 'docs;
                }
                if position != NONE {
                    let part = query.readers[at].part(doc, position as usize, scorer);
                    sum += part;
                    query.sum.put(query.orders[known + at], part);
                }
            }
            if hope.has(sum) {
                top.push(Hit { doc, score: query.sum.take() });
            }
        }
        self.docs.clear();
        self.known.clear();
        self.positions.clear();
    }
}
