//! Parts of single postings.

use super::super::Scored;
use super::super::scorer::{Scorer, Weight};
use super::super::simd::prefetch;
use super::table::Table;
use crate::postings::{Cursor, List, tf};

/// A list whose postings are read by their positions.
pub(super) struct Reader<'t, 'a> {
    cursor: &'t mut Cursor<'a>,
    weight: Weight<'a>,
    pub(super) table: &'t Table,
    /// The part of one step of the table.
    step: f32,
    scored: &'t mut u64,
}

impl<'t, 'a> Reader<'t, 'a> {
    /// Of a term with a table.
    pub(super) fn new(term: &'t mut Scored<'a>) -> Option<Self> {
        let Scored { cursor, weight, table, scored, .. } = term;
        let table = table.as_deref()?;
        Some(Self { cursor, weight: *weight, table, step: table.step(weight), scored })
    }

    /// The steps of all ranges, and the part of one step.
    pub(super) fn maxima(&self) -> (&[u8], f32) {
        (self.table.maxima(), self.step)
    }

    /// The greatest part of a posting in a range.
    #[inline(always)]
    pub(super) fn bound(&self, range: usize) -> f32 {
        self.step * f32::from(self.table.maxima()[range])
    }

    /// Prefetches the data of [`Self::bounds_at`].
    #[inline(always)]
    pub(super) fn prefetch_bound(&self, position: usize) {
        self.table.prefetch_steps(position);
    }

    /// The least and the greatest part of the posting at a position.
    #[inline(always)]
    pub(super) fn bounds_at(&self, position: usize) -> (f32, f32) {
        let steps = f32::from(self.table.steps(position));
        (self.step * (steps - 1.0), self.step * steps)
    }

    /// Prefetches the start of the data of [`Self::prefetch_posting`].
    #[inline(always)]
    pub(super) fn prefetch_start(&self, position: usize) {
        if let List::Blocks(list) = self.cursor.list() {
            list.tf.start_of(position / tf::BLOCK).iter().for_each(|words| prefetch(words, 1));
        }
    }

    /// Prefetches the data of a posting.
    #[inline(always)]
    pub(super) fn prefetch_posting(&self, position: usize) {
        if let List::Blocks(list) = self.cursor.list() {
            prefetch(list.tf.words_of(position / tf::BLOCK), 2);
        }
    }

    /// The part of the posting at a position; 0 where its frequency is damaged.
    #[inline(always)]
    pub(super) fn part<S: Scorer>(&mut self, doc: u32, position: usize, scorer: &S) -> f32 {
        *self.scored += 1;
        if S::BY_POSITION {
            return scorer.part(&self.weight, doc, 0, position);
        }
        match self.cursor.blocks().tf(position) {
            Some(tf) => scorer.part(&self.weight, doc, tf, position),
            None => {
                let error = self.cursor.blocks().bad_tf(position);
                self.cursor.fail(error);
                0.0
            }
        }
    }
}
