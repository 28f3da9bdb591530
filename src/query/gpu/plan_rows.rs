//! Plans as a device reads them: a row for each query, a row for each term, scores in fixed point.

use super::kernels::SCORE_BITS;
use super::ranges::kernels::{BOUND_BITS, BUCKETS};
use super::residence::Placed;
use super::rows::{self, QueryRow, TermRow};
use crate::index::Place;
use crate::query::{Plan, PlannedTerm, Searcher};

/// The sum of a query's bounds in fixed point: 30 bits, with some room for what rounding adds.
const FULL_SCORE: f64 = (1u64 << 30) as f64 * 0.999;

/// A bound is multiplied with this, because single precision may round it down.
const ROOM: f64 = 1.000_001;

pub(super) fn term_row(placed: &Placed, weight: u32, most: u32) -> TermRow {
    let table = placed.table.unwrap_or(rows::NONE);
    let kind = placed.kind as u32;
    let Placed { list, skips, blocks, df, first, tf, .. } = *placed;
    TermRow { list, skips, blocks, df, first, tf, kind, table, weight, kept: [most, 0, 0] }
}

pub(super) fn query_row(first: u32, terms: u32, all: bool, k: u32) -> QueryRow {
    let bound_shift = SCORE_BITS - BOUND_BITS;
    let bucket_shift = SCORE_BITS - BUCKETS.ilog2();
    QueryRow { first, terms, all: all.into(), k, bound_shift, bucket_shift, ..QueryRow::default() }
}

impl Searcher<'_> {
    /// The scores of a query are multiplied with this number, so that they fill their bits.
    pub(super) fn scale_of(&self, plan: &Plan) -> f64 {
        let bounds: f64 = plan.terms.iter().map(|term| f64::from(self.bound_of(term))).sum();
        match self.impacts() {
            // a power of two: sums of whole numbers stay exact
            Some(_) => (FULL_SCORE / bounds.max(1.0)).log2().floor().exp2(),
            None => FULL_SCORE / bounds.max(f64::MIN_POSITIVE),
        }
    }

    /// A term's row.
    pub(super) fn row_of(&self, term: &PlannedTerm, placed: &Placed, scale: f64) -> TermRow {
        let most = (f64::from(self.bound_of(term)) * scale * ROOM) as f32;
        let weight = (f64::from(term.weight) * scale) as f32;
        let weight = if self.impacts().is_some() { weight as u32 } else { weight.to_bits() };
        term_row(placed, weight, most.to_bits())
    }

    /// A score that no document exceeds by this term alone. For a list it is the stored bound, for a single posting its
    /// own score.
    pub(super) fn bound_of(&self, term: &PlannedTerm) -> f32 {
        if let Some(impacts) = self.impacts() {
            return term.weight * f32::from(impacts.bound(&term.info));
        }
        match term.info.place {
            Place::Single { doc } => {
                let len = self.index().lens().get(doc as usize).copied().unwrap_or(0);
                term.weight * self.norm().impact(term.info.tf_max, len)
            }
            Place::List { bound, .. } => term.weight * self.bounds().impact(bound),
        }
    }
}
