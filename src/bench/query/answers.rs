//! Whether two answers to a query are the same.
//!
//! Engines may round a score differently. They may then swap two documents that all but tie, or keep the other one as
//! the last. So scores must agree to [`TOLERANCE`] at each rank, and so must the scores of a document in both answers.
//! A document in only one of them must score no more than the last of the other.

use std::collections::HashMap;
use std::fmt::Display;
use std::hash::Hash;

/// Relative difference of scores that rounding may cause.
pub(super) const TOLERANCE: f32 = 1e-5;

fn close(a: f32, b: f32) -> bool {
    (a - b).abs() <= TOLERANCE * a.abs().max(b.abs())
}

/// The first difference of `found`, both answers best first; `None` if there is none.
pub(super) fn difference<D: Eq + Hash + Display>(expected: &[(D, f32)], found: &[(D, f32)]) -> Option<String> {
    if expected.len() != found.len() {
        return Some(format!("{} documents, not {}", found.len(), expected.len()));
    }
    for (rank, (expected, found)) in (1..).zip(expected.iter().zip(found)) {
        if !close(expected.1, found.1) {
            return Some(format!("the score at rank {rank} is {}, not {}", found.1, expected.1));
        }
    }
    let scores: HashMap<&D, f32> = found.iter().map(|(doc, score)| (doc, *score)).collect();
    if scores.len() != found.len() {
        return Some("a document comes twice".to_owned());
    }
    let last = found.last().map_or(0.0, |hit| hit.1);
    for (doc, score) in expected {
        match scores.get(doc) {
            Some(&other) if close(*score, other) => {}
            Some(other) => return Some(format!("document {doc} has the score {other}, not {score}")),
            None if close(*score, last) => {}
            None => return Some(format!("document {doc} with the score {score} is missing")),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_rounding_and_ties_are_no_difference() {
        let expected = [(7, 3.0), (4, 2.0), (9, 2.000_01), (1, 1.0)];
        for found in [
            vec![(7, 3.0), (4, 2.0), (9, 2.000_01), (1, 1.0)],
            vec![(7, 3.000_01), (9, 2.000_01), (4, 2.0), (1, 1.0)],
            vec![(7, 3.0), (4, 2.0), (9, 2.0), (2, 1.000_001)],
        ] {
            assert_eq!(difference(&expected, &found), None, "{found:?}");
        }
        assert_eq!(difference::<u32>(&[], &[]), None);
    }

    #[test]
    fn test_everything_else_is_one() {
        let expected = [(7, 3.0), (4, 2.0), (1, 1.0)];
        for (found, what) in [
            (vec![(7, 3.0), (4, 2.0)], "2 documents, not 3"),
            (vec![(7, 3.0), (4, 2.0), (1, 1.1)], "rank 3"),
            (vec![(4, 3.0), (7, 2.0), (1, 1.0)], "document 7 has the score 2"),
            (vec![(7, 3.0), (5, 2.0), (1, 1.0)], "document 4 with the score 2 is missing"),
            (vec![(7, 3.0), (7, 2.0), (1, 1.0)], "twice"),
        ] {
            let difference = difference(&expected, &found).unwrap();
            assert!(difference.contains(what), "{difference}");
        }
    }
}
