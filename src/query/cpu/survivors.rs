//! Documents that some terms have, on their way through the other terms.

use super::feed::Feed;
use super::simd::Hope;
use super::{Scored, Scorer};
use crate::query::topk::{Hit, TopK};
use std::ops::Range;

/// Documents in increasing order with the sum of their parts so far.
#[derive(Default)]
pub(in crate::query) struct Survivors {
    docs: Vec<u32>,
    sums: Vec<f32>,
}

/// So many are looked up at a time: later ones will meet a higher threshold.
pub(in crate::query) const BATCH: usize = 128;

impl Survivors {
    /// Adds one.
    #[inline]
    pub(in crate::query) fn push(&mut self, doc: u32, sum: f32) {
        self.docs.push(doc);
        self.sums.push(sum);
    }

    /// Adds the postings of a feed's window that have hope.
    pub(in crate::query) fn push_all(&mut self, feed: &Feed, hope: Hope) {
        self.push_some(feed, 0..feed.docs().len(), hope);
    }

    /// As [`Self::push_all`] for a part of the window.
    pub(in crate::query) fn push_some(&mut self, feed: &Feed, range: Range<usize>, hope: Hope) {
        let (docs, parts) = (&feed.docs()[range.clone()], &feed.parts()[range]);
        hope.keep(docs, parts, (&mut self.docs, &mut self.sums));
    }

    /// How many are left.
    pub(in crate::query) fn len(&self) -> usize {
        self.docs.len()
    }

    /// Forgets all.
    pub(in crate::query) fn clear(&mut self) {
        self.docs.clear();
        self.sums.clear();
    }

    /// Looks them up in the list of `term`; drops hopeless ones, and with `required` those that the list lacks. `hope`
    /// covers the terms after this one; `bound` is the most that this one adds.
    pub(in crate::query) fn look_up(
        &mut self,
        term: &mut Scored<'_>,
        bound: f32,
        required: bool,
        hope: Hope,
        scorer: &impl Scorer,
    ) {
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
                let sum = self.sums[i] + part;
                self.sums[i] = sum;
                if required {
                    (self.docs[kept], self.sums[kept]) = (self.docs[i], sum);
                    kept += usize::from(hope.has(sum));
                }
            }
            if !required {
                for i in start..at {
                    let sum = self.sums[i];
                    (self.docs[kept], self.sums[kept]) = (self.docs[i], sum);
                    kept += usize::from(hope.has(sum));
                }
            }
        }
        self.docs.truncate(kept);
        self.sums.truncate(kept);
    }

    /// Pushes those that pass the threshold, and forgets all.
    pub(in crate::query) fn finish(&mut self, top: &mut TopK<'_>) {
        for (&doc, &score) in self.docs.iter().zip(&self.sums) {
            if score > top.threshold() {
                top.push(Hit { doc, score });
            }
        }
        self.clear();
    }
}
