//! Parts of single postings.

use super::super::scorer::{Scorer, Weight};
use super::super::simd::prefetch;
use super::table::Table;
use crate::Error;
use crate::index::{ListWords, Scratch, tf};
use std::sync::Arc;

/// A list of which postings are read by their positions.
pub(super) struct Reader<'a> {
    list: ListWords<'a>,
    weight: Weight<'a>,
    table: Arc<Table>,
    /// What a step of the table adds.
    step: f32,
    /// The block of frequencies that was asked for last, and how often.
    asked: usize,
    times: u32,
    /// The one that is decoded.
    decoded: usize,
    buffers: Scratch,
    pub(super) scored: u64,
    pub(super) damage: Option<Error>,
}

/// A block of frequencies that is asked for so many times is decoded.
const OFTEN: u32 = 4;

impl<'a> Reader<'a> {
    /// Of a list and its table.
    pub(super) fn new(list: ListWords<'a>, weight: Weight<'a>, table: Arc<Table>) -> Self {
        let step = table.step(&weight);
        Self {
            list,
            weight,
            table,
            step,
            asked: usize::MAX,
            times: 0,
            decoded: usize::MAX,
            buffers: Scratch::take(),
            scored: 0,
            damage: None,
        }
    }

    /// The steps of all ranges, and what one adds.
    pub(super) fn maxima(&self) -> (&[u8], f32) {
        (self.table.maxima(), self.step)
    }

    /// What no posting in a range exceeds.
    #[inline(always)]
    pub(super) fn bound(&self, range: usize) -> f32 {
        self.step * f32::from(self.table.maxima()[range])
    }

    /// Asks for what [`Self::bounds_at`] reads.
    #[inline(always)]
    pub(super) fn prefetch_bound(&self, position: usize) {
        self.table.prefetch_steps(position);
    }

    /// What the posting at a position adds at least and at most.
    #[inline(always)]
    pub(super) fn bounds_at(&self, position: usize) -> (f32, f32) {
        let steps = f32::from(self.table.steps(position));
        (self.step * (steps - 1.0), self.step * steps)
    }

    /// Asks for the start of what [`Self::prefetch_posting`] asks for.
    #[inline(always)]
    pub(super) fn prefetch_start(&self, position: usize) {
        self.list.tf.start_of(position / tf::BLOCK).iter().for_each(|words| prefetch(words, 1));
    }

    /// Asks for what a posting is read from.
    #[inline(always)]
    pub(super) fn prefetch_posting(&self, position: usize) {
        prefetch(self.list.tf.words_of(position / tf::BLOCK), 2);
    }

    /// What the posting at a position adds.
    #[inline(always)]
    pub(super) fn part<S: Scorer>(&mut self, doc: u32, position: usize, scorer: &S) -> f32 {
        self.scored += 1;
        let tf = if S::BY_POSITION { Some(0) } else { self.tf(position) };
        match tf {
            Some(tf) => scorer.part(&self.weight, doc, tf, position),
            None => {
                self.damage.get_or_insert_with(|| self.list.bad_tf(position));
                0.0
            }
        }
    }

    #[inline(always)]
    fn tf(&mut self, position: usize) -> Option<u32> {
        let (block, at) = (position / tf::BLOCK, position % tf::BLOCK);
        if block == self.decoded {
            return Some(self.buffers.tfs[at]);
        }
        if block != self.asked {
            (self.asked, self.times) = (block, 0);
        }
        self.times += 1;
        let words = self.list.tf.block(block)?;
        if self.times < OFTEN {
            return words.get(at);
        }
        // Whatever else fails, the buffers hold another block no more.
        self.decoded = usize::MAX;
        let n = words.decode(&mut self.buffers.tfs)?;
        self.decoded = block;
        self.buffers.tfs[..n].get(at).copied()
    }
}
