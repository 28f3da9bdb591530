//! Which units of a text are its best passage.

use super::units::Unit;
use crate::score::{DEFAULT_B, DEFAULT_K1};
use std::ops::Range;

/// A place where a term of the query stands: the unit, and the term's number.
pub(super) type Found = (u32, u32);

/// The score of units with these terms, so many columns wide: BM25, with the passage's width as the mean length.
/// Sorts `terms`.
pub(super) fn score(terms: &mut [u32], weights: &[f32], columns: usize, width: usize) -> f32 {
    terms.sort_unstable();
    let norm = DEFAULT_K1 * (1.0 - DEFAULT_B + DEFAULT_B * columns as f32 / width as f32);
    let add = |same: &[u32]| {
        let tf = same.len() as f32;
        weights[same[0] as usize] * tf / (tf + norm)
    };
    terms.chunk_by(|a, b| a == b).map(add).sum()
}

/// The best passage of at most `width` columns: it begins with a unit that has a term and is not before `first`, and
/// goes on for as many units as fit. Of equal ones the first; `None` if there is none. `found` is in the order of the
/// units.
pub(super) fn best(
    units: &[Unit],
    found: &[Found],
    weights: &[f32],
    width: usize,
    first: usize,
) -> Option<Range<usize>> {
    let (mut best, mut best_score) = (None, 0.0);
    let (mut end, mut columns, mut terms) = (0, 0, Vec::new());
    let (mut from, mut to) = (0, 0);
    let mut start = 0;
    for same in found.chunk_by(|a, b| a.0 == b.0) {
        let unit = same[0].0 as usize;
        if unit < first {
            continue;
        }
        // The passage before this one gives up its units up to this one.
        if end <= unit {
            (end, columns) = (unit, 0);
        } else {
            columns -= units[start..unit].iter().map(|unit| unit.width).sum::<usize>();
        }
        start = unit;
        while end < units.len() && (end == start || columns + units[end].width <= width) {
            columns += units[end].width;
            end += 1;
        }
        from += found[from..].iter().take_while(|found| (found.0 as usize) < start).count();
        to = to.max(from);
        to += found[to..].iter().take_while(|found| (found.0 as usize) < end).count();
        terms.clear();
        terms.extend(found[from..to].iter().map(|found| found.1));
        let score = score(&mut terms, weights, columns, width);
        if best.is_none() || score > best_score {
            (best, best_score) = (Some(start..end), score);
        }
    }
    best
}

/// A passage with the same terms that begins with a sentence, or at least with the unit before, if there is one that is
/// not too wide; else the passage, or at the end of the text one that has room for what stands before.
pub(super) fn rounded(passage: Range<usize>, units: &[Unit], found: &[Found], width: usize) -> Range<usize> {
    let columns = |range: Range<usize>| units[range].iter().map(|unit| unit.width).sum::<usize>();
    let inside = |found: &&Found| passage.contains(&(found.0 as usize));
    let needed = found.iter().rev().find(inside).map_or(passage.start, |found| found.0 as usize) + 1;
    let (mut start, mut end) = (passage.start, passage.end);
    while start > 0 && !units[start].begins && columns(start - 1..needed) <= width {
        start -= 1;
    }
    if start < passage.start {
        if !units[start].begins {
            start = passage.start - 1;
        }
        end = needed;
        while end < passage.end && columns(start..end + 1) <= width {
            end += 1;
        }
    }
    while end == units.len() && start > 0 && columns(start - 1..end) <= width {
        start -= 1;
    }
    start..end
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Every passage, scored from scratch.
    fn slow(units: &[Unit], found: &[Found], weights: &[f32], width: usize, first: usize) -> Option<Range<usize>> {
        let mut all = Vec::new();
        for start in first..units.len() {
            if !found.iter().any(|found| found.0 as usize == start) {
                continue;
            }
            let columns = |end: usize| units[start..end].iter().map(|unit| unit.width).sum::<usize>();
            let ends = (start + 1..=units.len()).take_while(|&end| end == start + 1 || columns(end) <= width);
            let end = ends.last().unwrap();
            let mut score = 0.0;
            for (term, weight) in weights.iter().enumerate() {
                let here = |found: &&Found| (start..end).contains(&(found.0 as usize)) && found.1 as usize == term;
                let tf = found.iter().filter(here).count() as f32;
                if tf > 0.0 {
                    score += weight * tf / (tf + 0.9 * (1.0 - 0.4 + 0.4 * columns(end) as f32 / width as f32));
                }
            }
            all.push((score, start..end));
        }
        let most = all.iter().map(|(score, _)| *score).fold(f32::MIN, f32::max);
        all.into_iter().find(|(score, _)| *score == most).map(|(_, range)| range)
    }

    proptest! {
        #[test]
        fn test_the_best_passage_is_that_of_all(
            widths in prop::collection::vec(1usize..40, 0..40),
            places in prop::collection::vec((0u32..40, 0u32..4), 0..60),
            weights in prop::collection::vec(0.1f32..9.0, 4),
            width in 1usize..100,
            first in 0usize..5,
        ) {
            let units: Vec<Unit> = widths.iter().map(|&width| Unit { bytes: 0..0, width, begins: true }).collect();
            let mut found: Vec<Found> = places.into_iter().filter(|place| (place.0 as usize) < units.len()).collect();
            found.sort_by_key(|found| found.0);
            let expected = slow(&units, &found, &weights, width, first);
            prop_assert_eq!(best(&units, &found, &weights, width, first), expected);
        }
    }

    #[test]
    fn test_a_passage_begins_with_a_sentence_if_that_has_room() {
        let unit = |begins| Unit { bytes: 0..0, width: 10, begins };
        let units = [true, false, false, true, false, true].map(unit);
        assert_eq!(rounded(2..5, &units, &[(2, 0), (5, 0)], 30), 0..3);
        assert_eq!(rounded(2..5, &units, &[(2, 0), (3, 0)], 40), 0..4);
        assert_eq!(rounded(2..5, &units, &[(2, 0), (4, 0)], 30), 2..5, "it would lose a term");
        assert_eq!(rounded(3..5, &units, &[(3, 0)], 20), 3..5);
        assert_eq!(rounded(2..4, &units, &[(2, 0)], 20), 1..3, "too far from the sentence's beginning");
        assert_eq!(rounded(5..6, &units, &[(5, 0)], 20), 4..6, "room before the end");
        assert_eq!(rounded(0..6, &units, &[], 60), 0..6);
    }

    #[test]
    fn test_different_terms_are_worth_more_than_one_again_and_again() {
        let units = vec![Unit { bytes: 0..0, width: 10, begins: true }; 4];
        let found = [(0, 0), (0, 0), (0, 0), (2, 0), (3, 1)];
        assert_eq!(best(&units, &found, &[1.0, 1.0], 20, 0), Some(2..4));
        assert_eq!(best(&units, &found, &[1.0, 0.1], 20, 0), Some(0..2), "a rare term weighs more");
        assert_eq!(best(&units, &found, &[1.0, 1.0], 20, 3), Some(3..4));
        assert_eq!(best(&units, &[], &[1.0], 20, 0), None);
    }
}
