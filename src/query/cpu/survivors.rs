//! Documents that some terms have, on their way through the other terms.

use super::feed::Feed;
use super::simd::Hope;
use super::{Scored, Scorer, Sum};
use crate::query::topk::{Hit, TopK};
use std::ops::Range;

/// Documents in increasing order with the sum of their parts so far.
#[derive(Default)]
pub(in crate::query) struct Survivors {
    docs: Vec<u32>,
    sums: Vec<f32>,
    /// The number of each when it was added.
    slots: Vec<u32>,
    added: u32,
    /// For each term looked up, its part for each slot.
    columns: Vec<Vec<f32>>,
    looked_up: Vec<usize>,
}

/// So many are looked up at a time: later ones will meet a higher threshold.
pub(in crate::query) const BATCH: usize = 128;

impl Survivors {
    /// Adds one.
    #[inline]
    pub(in crate::query) fn push(&mut self, doc: u32, sum: f32) {
        self.slots.push(self.added);
        self.added += 1;
        self.docs.push(doc);
        self.sums.push(sum);
    }

    /// Adds the postings of a feed's window that have hope.
    pub(in crate::query) fn push_all(&mut self, feed: &Feed, hope: Hope) {
        self.push_some(feed, 0..feed.docs().len(), hope);
    }

    /// As [`Self::push_all`] for a part of the window.
    pub(in crate::query) fn push_some(&mut self, feed: &Feed, range: Range<usize>, hope: Hope) {
        for at in range.clone().step_by(64) {
            let end = (at + 64).min(range.end);
            let parts = &feed.parts()[at..end];
            let docs = &feed.docs()[at..end];
            let mut hits = hope.mask(parts);
            while hits != 0 {
                let i = hits.trailing_zeros() as usize;
                hits &= hits - 1;
                self.push(docs[i], parts[i]);
            }
        }
    }

    /// How many were added.
    pub(in crate::query) fn len(&self) -> usize {
        self.added as usize
    }

    /// Forgets all.
    pub(in crate::query) fn clear(&mut self) {
        self.docs.clear();
        self.sums.clear();
        self.slots.clear();
        self.looked_up.clear();
        self.added = 0;
    }

    /// Looks them up in the list of `term`; drops hopeless ones, and with `required` those that the list lacks. `hope`
    /// covers the terms after this one; `bound` is the most that this one adds.
    pub(in crate::query) fn look_up(
        &mut self,
        index: usize,
        term: &mut Scored<'_>,
        bound: f32,
        required: bool,
        hope: Hope,
        scorer: &impl Scorer,
    ) {
        if self.columns.len() <= self.looked_up.len() {
            self.columns.push(Vec::new());
        }
        let column = &mut self.columns[self.looked_up.len()];
        self.looked_up.push(index);
        column.clear();
        column.resize(self.added as usize, 0.0);
        let (mut kept, mut at) = (0, 0);
        while at < self.docs.len() {
            // Those in the reach of one block of the list.
            let (of_block, end) = term.bound_at(self.docs[at], scorer);
            let local = Hope { more: hope.more + of_block.min(bound), ..hope };
            let (start, mut highest) = (at, 0.0f32);
            while at < self.docs.len() && self.docs[at] < end {
                highest = if self.sums[at] > highest { self.sums[at] } else { highest };
                at += 1;
            }
            if !local.has(highest) {
                continue;
            }
            let (which, parts) = term.look_up(&self.docs[start..at], scorer);
            for (&i, &part) in which.iter().zip(parts) {
                let i = start + i as usize;
                let (sum, slot) = (self.sums[i] + part, self.slots[i]);
                column[slot as usize] = part;
                self.sums[i] = sum;
                if required {
                    (self.docs[kept], self.sums[kept], self.slots[kept]) = (self.docs[i], sum, slot);
                    kept += usize::from(hope.has(sum));
                }
            }
            if !required {
                for i in start..at {
                    let sum = self.sums[i];
                    (self.docs[kept], self.sums[kept], self.slots[kept]) = (self.docs[i], sum, self.slots[i]);
                    kept += usize::from(hope.has(sum));
                }
            }
        }
        self.docs.truncate(kept);
        self.sums.truncate(kept);
        self.slots.truncate(kept);
    }

    /// Pushes those that pass the threshold. For terms not looked up, the feeds have the parts.
    pub(in crate::query) fn finish(
        &mut self,
        terms: &[Scored<'_>],
        fed: &[usize],
        slack: f32,
        sums: &mut Sum,
        top: &mut TopK,
    ) {
        for ((&doc, &sum), &slot) in self.docs.iter().zip(&self.sums).zip(&self.slots) {
            if sum * slack <= top.threshold() {
                continue;
            }
            for &term in fed {
                let feed = &terms[term].feed;
                if let Ok(at) = feed.docs().binary_search(&doc) {
                    sums.put(terms[term].order, feed.parts()[at]);
                }
            }
            for (&term, column) in self.looked_up.iter().zip(&self.columns) {
                sums.put(terms[term].order, column[slot as usize]);
            }
            top.push(Hit { doc, score: sums.take() });
        }
    }
}
