//! Whether two answers to a query are the same: the same documents with the same scores in the same order.

use std::fmt::Display;

/// The first difference of `found`; `None` if there is none.
pub(super) fn difference<D: Eq + Display>(expected: &[(D, f32)], found: &[(D, f32)]) -> Option<String> {
    if expected.len() != found.len() {
        return Some(format!("{} documents, not {}", found.len(), expected.len()));
    }
    let mut ranks = (1..).zip(expected.iter().zip(found));
    let (rank, (expected, found)) = ranks.find(|(_, (expected, found))| expected != found)?;
    Some(format!("rank {rank} is document {} with {}, not {} with {}", found.0, found.1, expected.0, expected.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_every_difference_is_told() {
        let expected = [(7, 3.0), (4, 2.0), (1, 1.0)];
        assert_eq!(difference(&expected, &expected), None);
        for (found, what) in [
            (vec![(7, 3.0), (4, 2.0)], "2 documents, not 3"),
            (vec![(7, 3.0), (4, 2.0), (1, 1.000_000_1)], "rank 3 is document 1 with 1.0000001, not 1 with 1"),
            (vec![(4, 3.0), (7, 2.0), (1, 1.0)], "rank 1 is document 4 with 3, not 7 with 3"),
        ] {
            assert_eq!(difference(&expected, &found).unwrap(), what);
        }
    }
}
