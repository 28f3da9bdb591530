//! Plans as a device reads them: a row for each query, a row for each term, scores in whole numbers.

use super::placed::Placed;
use super::ranges::kernels::{BOUND_BITS, BUCKETS};
use super::rows::{self, QueryRow, TermRow};
use crate::index::Place;
use crate::query::{Plan, PlannedTerm, Searcher};
use crate::score::{Thresholds, greatest_share, share};

pub(super) fn term_row(placed: &Placed, weight: u32, most: u32) -> TermRow {
    let table = placed.table.unwrap_or(rows::NONE);
    let kind = placed.kind as u32;
    let Placed { list, skips, blocks, df, first, tf, .. } = *placed;
    let kept = [most, 0, placed.by_range.unwrap_or(rows::NONE)];
    TermRow { list, skips, blocks, df, first, tf, kind, table, weight, kept }
}

/// `most` as [`Searcher::greatest_score`]; `least` as [`QueryRow::least`]. Without steps, which accumulators do not
/// need.
pub(super) fn query_row((first, terms): (u32, u32), all: bool, k: u32, most: u32, least: u32) -> QueryRow {
    let bound_shift = (u32::BITS - most.leading_zeros()).saturating_sub(BOUND_BITS);
    let (class_times, class_shift) = classes(most, BUCKETS);
    QueryRow { first, terms, all: all.into(), k, bound_shift, class_times, class_shift, least, ..QueryRow::default() }
}

/// Gives the terms of a query their steps. A range maximum is a byte: so many 255ths of the term's weight, rounded up,
/// or with `impacts` so many times the weight. A kernel adds whole numbers faster than floats, and sums have to fit a
/// word: so a step is a whole number of the smallest fraction of a score that lets them.
pub(super) fn add_steps(impacts: bool, query: &mut QueryRow, terms: &mut [TermRow]) {
    // a byte that is not 0 stands for no more than the term's greatest share
    let step = |term: &TermRow| match impacts {
        true => f64::from(term.weight),
        false => (f64::from(f32::from_bits(term.weight)) / 255.0).min(f32::from_bits(term.kept[0]).into()),
    };
    let all: f64 = terms.iter().map(step).sum();
    let most = f64::from(u32::MAX) - 256.0 * (terms.len() + 1) as f64;
    let bits = exponent(most / (255.0 * all).max(1.0)).clamp(-(query.bound_shift as i32), 14);
    query.step_shift = (query.bound_shift as i32 + bits) as u32;
    let times = f64::from_bits(((EXPONENT_BIAS + bits) as u64) << 52);
    terms.iter_mut().for_each(|term| term.kept[1] = (step(term) * times).ceil() as u32);
}

/// Of an `f64`.
const EXPONENT_BIAS: i32 = 1023;

/// The binary logarithm of a positive number, rounded down.
fn exponent(number: f64) -> i32 {
    (number.to_bits() >> 52) as i32 - EXPONENT_BIAS
}

/// How scores of up to `most`, less than 2^24, fall into so many classes, a power of two up to 1,024: the class is the
/// score times the first number, shifted right by the second. The first one has 8 bits, so that the product has 32, and
/// all classes but 1 in 128 are used.
pub(super) fn classes(most: u32, classes: u32) -> (u32, u32) {
    if most < classes {
        return (1, 0);
    }
    // the first shift whose product is 128 or more, by one division: a batch has a thousand queries
    let shift = (128 * u64::from(most) + 1).div_ceil(classes.into()).next_power_of_two().trailing_zeros();
    ((((u64::from(classes) << shift) - 1) / u64::from(most)) as u32, shift)
}

/// A score that no document of a query exceeds, with its [`Searcher::bias`]; `bounds` of its terms as
/// [`Searcher::bound_of`].
pub(super) fn greatest_score(plan: &Plan, bounds: impl Iterator<Item = f32>) -> u32 {
    bounds.sum::<f32>() as u32 + u32::from(plan.has_negative())
}

impl Searcher<'_> {
    /// As [`greatest_score`].
    pub(super) fn greatest_score(&self, plan: &Plan) -> u32 {
        greatest_score(plan, plan.terms.iter().map(|term| self.bound_of(term)))
    }

    /// What a device adds to every score of a query: with negative weights scores are at least 1, as without.
    pub(super) fn bias(&self, plan: &Plan) -> u32 {
        let taken = plan.terms.iter().filter(|term| term.negative).map(|term| self.bound_of(term)).sum::<f32>();
        taken as u32 + u32::from(plan.has_negative())
    }

    /// The row of a term with this [`Self::bound_of`].
    pub(super) fn row_of(&self, term: &PlannedTerm, bound: f32, placed: &Placed) -> TermRow {
        let weight = if self.impacts().is_some() { term.weight as u32 } else { term.weight.to_bits() };
        term_row(placed, weight, bound.to_bits())
    }

    /// A score that `k` documents reach by this term alone, deleted ones among them as in the answers of a device; 0 if
    /// none is known.
    pub(super) fn least_of(&self, term: &PlannedTerm, placed: &Placed, k: u32) -> u32 {
        match self.impacts() {
            Some(_) => 0,
            None => Thresholds(&placed.thresholds).least_share(term.weight, k as usize, &self.bounds()) as u32,
        }
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
    fn test_sums_of_steps_bound_every_score() {
        let mut random = crate::base::random::Rng::new(5, 0, 0);
        let greatest = (1u32 << SCORE_BITS) - 1;
        for (terms, impact) in [(1, 1.0f64), (1, 1e-7), (3, 0.8), (7, 0.01), (40, 1.0), (40, 1e-6), (3000, 0.5)] {
            // the share of the term's greatest posting is this part of its weight
            let most = greatest / terms;
            let weight = (most as f32 / impact as f32).min((1u32 << 22) as f32);
            let bound = weight * impact as f32;
            let row = term_row(&Placed::default(), weight.to_bits(), bound.to_bits());
            let mut rows = vec![row; terms as usize];
            let all = (f64::from(bound) * f64::from(terms)) as u32;
            let mut query = query_row((0, terms), false, 10, all.max(1), 0);
            add_steps(false, &mut query, &mut rows);
            for _ in 0..20 {
                let (mut sum, mut score) = (0u32, 0.0f64);
                for row in &rows {
                    // no byte is above that of the greatest impact
                    let byte = random.below((impact * 255.0).ceil() as u64 + 1) as u32;
                    // no overflow
                    sum = sum.checked_add(byte * row.kept[1]).expect("sums of steps fit a word");
                    score += (f64::from(weight) * f64::from(byte) / 255.0)
                        .min(bound.into())
                        .round()
                        .max(f64::from(byte.min(1)));
                }
                // as in shaders/or/ranges/bounds.wgsl
                let more = 1 + ((terms + (1 << query.bound_shift) - 1) >> query.bound_shift);
                let found = (sum >> query.step_shift) + more;
                let least = (score as u32) >> query.bound_shift;
                assert!(found >= least, "{terms} terms, {impact}: {found} < {least}");
                // and it is close, where bytes are
                let loose = impact >= 0.5 && found > least + least / 100 + 2 * more + 2;
                assert!(!loose, "{terms} terms, {impact}: {found} against {least}");
            }
        }
    }

    #[test]
    fn test_exponents_are_logarithms() {
        for (number, found) in [(1.0, 0), (0.75, -1), (2.0, 1), (f64::from(u32::MAX), 31), (1.0 - f64::EPSILON, -1)] {
            assert_eq!(exponent(number), found, "{number}");
        }
    }

    #[test]
    fn test_scores_fall_into_classes() {
        for most in (1..5000).chain([1 << 20, (1 << 20) + 1, 12_345_678, (1 << SCORE_BITS) - 1]) {
            let (times, shift) = classes(most, 1024);
            let times_of = |shift: u32| ((1024u64 << shift) - 1) / u64::from(most);
            let first = (0..32).find(|&shift| times_of(shift) >= 128 || most < 1024);
            assert!(
                most < 1024 && (times, shift) == (1, 0) || first == Some(shift) && times_of(shift) == u64::from(times)
            );
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
