//! Scores of found documents: first bounds of all, from the tables in memory, then frequencies of the best.

use super::super::Scorer;
use super::super::simd::Hope;
use super::reader::Reader;
use crate::query::topk::{Hit, TopK};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Documents that are handled together: data of one comes near while others are handled.
const BATCH: usize = 64;
/// When so many documents wait for their scores, they are scored.
const WAITING: usize = 1024;
/// A list lacks the document.
const NONE: u32 = u32::MAX;

/// The terms of a query, for scoring documents.
pub(super) struct Query<'t, 'a> {
    /// The terms whose postings are read.
    pub(super) readers: Vec<Reader<'t, 'a>>,
    /// A score that the best `k` are known to reach.
    pub(super) floor: f32,
}

impl Query<'_, '_> {
    /// The test of complete sums.
    #[inline(always)]
    pub(super) fn hope(&self, top: &TopK<'_>) -> Hope {
        Hope { more: 0.0, threshold: top.threshold_in_any_order().max(self.floor.next_down()) }
    }
}

/// Documents with the sums of their known parts, and their places in the readers' lists.
#[derive(Default)]
struct Documents {
    docs: Vec<u32>,
    known: Vec<f32>,
    positions: Vec<u32>,
}

impl Documents {
    fn clear(&mut self) {
        self.docs.clear();
        self.known.clear();
        self.positions.clear();
    }
}

/// Documents on their way to a score.
#[derive(Default)]
pub(super) struct Batch {
    /// Documents of which only the places are known.
    new: Documents,
    /// Documents that have hope by the bound of each posting.
    waiting: Documents,
    /// An upper bound of the score of each of these.
    bounds: Vec<f32>,
    /// The greatest lower bounds of scores, as bits, which are in the same order: up to `k`.
    least: BinaryHeap<Reverse<u32>>,
    order: Vec<usize>,
    rest: Vec<f32>,
}

impl Batch {
    /// Adds a new document; [`Self::place`] follows for each reader.
    #[inline(always)]
    pub(super) fn push(&mut self, doc: u32, known: f32) {
        self.new.docs.push(doc);
        self.new.known.push(known);
    }

    /// Gives the last document's place in the list of the next reader.
    #[inline(always)]
    pub(super) fn place(&mut self, reader: &Reader<'_, '_>, position: Option<usize>) {
        if let Some(position) = position {
            reader.prefetch_bound(position);
        }
        self.new.positions.push(position.map_or(NONE, |position| position as u32));
    }

    /// Whether it is time for [`Self::flush`]: later documents will meet a higher floor.
    #[inline(always)]
    pub(super) fn is_full(&self) -> bool {
        self.new.docs.len() >= BATCH
    }

    /// Bounds the scores of the documents from below and above, and forgets documents without hope.
    #[inline(always)]
    pub(super) fn flush(&mut self, query: &mut Query<'_, '_>, scorer: &impl Scorer, top: &mut TopK<'_>) {
        let n = query.readers.len();
        let hope = query.hope(top);
        for (i, &doc) in self.new.docs.iter().enumerate() {
            let positions = &self.new.positions[i * n..][..n];
            let sum = self.new.known[i];
            let (mut least, mut most) = (sum, sum);
            for (reader, &position) in query.readers.iter().zip(positions) {
                if position != NONE {
                    let (low, high) = reader.bounds_at(position as usize);
                    least += low;
                    most += high;
                }
            }
            if !hope.has(most) || !top.takes(doc) {
                continue;
            }
            self.waiting.docs.push(doc);
            self.waiting.known.push(sum);
            self.waiting.positions.extend_from_slice(positions);
            self.bounds.push(most);
            note(&mut self.least, least, top.k());
        }
        self.new.clear();
        if let Some(&Reverse(least)) = self.least.peek().filter(|_| self.least.len() >= top.k()) {
            query.floor = query.floor.max(f32::from_bits(least));
        }
        if self.waiting.docs.len() >= WAITING {
            self.settle(query, scorer, top);
        }
    }

    /// Scores the waiting documents that still have hope, those with the greatest bounds first, and forgets all.
    #[inline(always)]
    fn settle(&mut self, query: &mut Query<'_, '_>, scorer: &impl Scorer, top: &mut TopK<'_>) {
        let n = query.readers.len();
        let Self { waiting, bounds, order, rest, .. } = self;
        let hope = query.hope(top);
        order.clear();
        order.extend((0..bounds.len()).filter(|&i| hope.has(bounds[i])));
        order.sort_unstable_by(|&a, &b| bounds[b].total_cmp(&bounds[a]));
        for some in order.chunks(BATCH) {
            let postings = |i: usize| {
                let there = query.readers.iter().zip(&waiting.positions[i * n..][..n]);
                there.filter(|&(_, &position)| position != NONE).map(|(reader, &position)| (reader, position as usize))
            };
            for &i in some {
                scorer.prefetch(waiting.docs[i]);
                postings(i).for_each(|(reader, position)| reader.prefetch_start(position));
            }
            for &i in some {
                postings(i).for_each(|(reader, position)| reader.prefetch_posting(position));
            }
            for &i in some {
                let positions = &waiting.positions[i * n..][..n];
                rest.clear();
                rest.resize(n, 0.0);
                let mut more = 0.0;
                for ((reader, &position), rest) in query.readers.iter().zip(positions).zip(&mut *rest).rev() {
                    more += if position == NONE { 0.0 } else { reader.bounds_at(position as usize).1 };
                    *rest = more;
                }
                score(query, waiting.docs[i], waiting.known[i], positions, rest, scorer, top);
            }
        }
        waiting.clear();
        bounds.clear();
    }

    /// Does the rest of a query.
    #[inline(always)]
    pub(super) fn finish(&mut self, query: &mut Query<'_, '_>, scorer: &impl Scorer, top: &mut TopK<'_>) {
        self.flush(query, scorer, top);
        self.settle(query, scorer, top);
        self.least.clear();
    }
}

/// Keeps the `k` greatest.
#[inline(always)]
fn note(greatest: &mut BinaryHeap<Reverse<u32>>, least: f32, k: usize) {
    let least = Reverse(least.max(0.0).to_bits());
    if greatest.len() < k {
        greatest.push(least);
    } else if let Some(mut lowest) = greatest.peek_mut()
        && least < *lowest
    {
        *lowest = least;
    }
}

/// Scores a document, unless it turns out to have no hope; `rest` is the most that a reader and those after it add.
#[inline(always)]
fn score(
    query: &mut Query<'_, '_>,
    doc: u32,
    known: f32,
    positions: &[u32],
    rest: &[f32],
    scorer: &impl Scorer,
    top: &mut TopK<'_>,
) {
    let hope = query.hope(top);
    let mut sum = known;
    for (at, (&position, &more)) in positions.iter().zip(rest).enumerate() {
        if !(Hope { more, ..hope }).has(sum) {
            return;
        }
        if position != NONE {
            sum += query.readers[at].part(doc, position as usize, scorer);
        }
    }
    if hope.has(sum) {
        top.push(Hit { doc, score: sum });
    }
}
