//! Plans as a device reads them: a row for each query, a row for each term, scores in whole numbers.

use super::ranges::kernels::{BOUND_BITS, BUCKETS};
use super::residence::Placed;
use super::rows::{self, QueryRow, TermRow};
use crate::index::Place;
use crate::query::{Plan, PlannedTerm, Searcher};
use crate::score::{greatest_share, share};

pub(super) fn term_row(placed: &Placed, weight: u32, most: u32) -> TermRow {
    let table = placed.table.unwrap_or(rows::NONE);
    let kind = placed.kind as u32;
    let Placed { list, skips, blocks, df, first, tf, .. } = *placed;
    TermRow { list, skips, blocks, df, first, tf, kind, table, weight, kept: [most, 0, 0] }
}

/// `most` as [`Searcher::greatest_score`]; `least` as [`QueryRow::least`].
pub(super) fn query_row((first, terms): (u32, u32), all: bool, k: u32, most: u32, least: u32) -> QueryRow {
    let bound_shift = (u32::BITS - most.leading_zeros()).saturating_sub(BOUND_BITS);
    let (class_times, class_shift) = classes(most, BUCKETS);
    QueryRow { first, terms, all: all.into(), k, bound_shift, class_times, class_shift, least }
}

/// How scores of up to `most`, less than 2^24, fall into so many classes, a power of two up to 1,024: the class is the
/// score times the first number, shifted right by the second. The first one has 8 bits, so that the product has 32, and
/// all classes but 1 in 128 are used.
pub(super) fn classes(most: u32, classes: u32) -> (u32, u32) {
    if most < classes {
        return (1, 0);
    }
    let times = |shift: u32| ((u64::from(classes) << shift) - 1) / u64::from(most);
    let shift = (0..32).find(|&shift| times(shift) >= 128).unwrap_or(0);
    (times(shift) as u32, shift)
}

impl Searcher<'_> {
    /// A score that no document of a query exceeds, with its [`Self::bias`].
    pub(super) fn greatest_score(&self, plan: &Plan) -> u32 {
        plan.terms.iter().map(|term| self.bound_of(term)).sum::<f32>() as u32 + u32::from(plan.has_negative())
    }

    /// What a device adds to every score of a query: with negative weights scores are at least 1, as without.
    pub(super) fn bias(&self, plan: &Plan) -> u32 {
        let taken = plan.terms.iter().filter(|term| term.negative).map(|term| self.bound_of(term)).sum::<f32>();
        taken as u32 + u32::from(plan.has_negative())
    }

    /// A term's row.
    pub(super) fn row_of(&self, term: &PlannedTerm, placed: &Placed) -> TermRow {
        let weight = if self.impacts().is_some() { term.weight as u32 } else { term.weight.to_bits() };
        term_row(placed, weight, self.bound_of(term).to_bits())
    }

    /// A score that no document exceeds by this term alone, the sign of its weight left out. For a list it is the
    /// stored bound, for a single posting its own score.
    pub(super) fn bound_of(&self, term: &PlannedTerm) -> f32 {
        if let Some(impacts) = self.impacts() {
            return term.weight * f32::from(impacts.bound(&term.info));
        }
        match term.info.place {
            Place::Single { doc } => {
                let len = self.index().lens().get(doc as usize).copied().unwrap_or(0);
                share(term.weight, term.info.tf_max, self.norm().k(len))
            }
            Place::List { bound, .. } => greatest_share(term.weight, self.bounds().impact(bound)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::score::SCORE_BITS;

    #[test]
    fn test_scores_fall_into_classes() {
        for most in (1..5000).chain([1 << 20, (1 << 20) + 1, 12_345_678, (1 << SCORE_BITS) - 1]) {
            let (times, shift) = classes(most, 1024);
            let class = |score: u32| score.checked_mul(times).unwrap() >> shift;
            // as `class_edge` in shaders/shared/classes.wgsl
            let edge = |class: u32| ((class << shift).checked_add(times - 1).unwrap()) / times;
            assert!(class(most) < 1024 && (most < 1024 || class(most) >= 1015), "{most}: {}", class(most));
            for number in 1..=class(most) {
                let edge = edge(number);
                assert!(class(edge) >= number && class(edge - 1) < number, "{most}: class {number} from {edge}");
            }
        }
    }
}
