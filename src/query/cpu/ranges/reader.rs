//! Parts of single postings.

use super::super::Scored;
use super::super::scorer::{Scorer, Weight};
use super::tables::Found;
use crate::base::simd::prefetch;
use crate::postings::table::TableView;
use crate::postings::{Cursor, List, tf};

/// A list whose postings are read by their positions.
pub(super) struct Reader<'t, 'a> {
    cursor: &'t mut Cursor<'a>,
    weight: Weight<'a>,
    pub(super) table: TableView<'t>,
    found: &'t Found<'a>,
    /// What one step of the table adds at least, and at most.
    steps: (f32, f32),
    /// How far a part may be from its steps by rounding.
    rounding: f32,
    scored: &'t mut u64,
}

impl<'t, 'a> Reader<'t, 'a> {
    /// Of a term with a table, in a query of `terms` terms.
    pub(super) fn new(term: &'t mut Scored<'a>, terms: usize, scorer: &impl Scorer) -> Option<Self> {
        let Scored { cursor, weight, table, scored, .. } = term;
        let found = table.as_ref()?;
        let table = found.view();
        let (least, most) = table.step();
        let (least, most, rounding) = (weight.factor * least, weight.factor * most, scorer.rounding());
        // Sums of steps are no whole numbers: what single precision may lose in adding so many.
        let slack = 1.0 + (terms as f32 + 4.0) * 2.4e-7;
        // There is at least one step, and a part is at least 1.
        let most = (most + rounding).max(2.0 * rounding) * slack;
        Some(Self { cursor, weight: *weight, table, found, steps: (least / slack, most), rounding, scored })
    }

    /// The steps of all ranges, and the part of one step.
    pub(super) fn maxima(&self) -> (&'t [u8], f32) {
        (self.table.maxima(), self.steps.1)
    }

    /// The greatest part of a posting in a range.
    #[inline(always)]
    pub(super) fn bound(&self, range: usize) -> f32 {
        self.steps.1 * f32::from(self.table.maxima()[range])
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
        (self.steps.0 * (steps - 1.0) - self.rounding, self.steps.1 * steps)
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
                let of_table = match self.cursor.list() {
                    List::Blocks(list) => self.found.bad_position(position, list),
                    List::Single { .. } => None,
                };
                let error = of_table.unwrap_or_else(|| self.cursor.blocks().bad_tf(position));
                self.cursor.fail(error);
                0.0
            }
        }
    }
}
