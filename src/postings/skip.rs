//! The last block that starts at or before a docID, found in the skip entries of a list.
//!
//! All searches return the same block if `from` starts at or before the docID; they differ in the entries they read. A
//! list of one block has no skip entries: every search then returns `from`.

use crate::codec::Skip;

/// True if the block exists and starts at or before `doc`.
#[inline]
pub fn starts_by(skips: &[Skip], block: usize, doc: u32) -> bool {
    skips.get(block).is_some_and(|skip| skip.first <= doc)
}

/// The last block from `from` on that starts at or before `doc`, by single steps; `from` if the next one does not.
#[inline]
pub fn linear(skips: &[Skip], from: usize, doc: u32) -> usize {
    let mut block = from;
    while starts_by(skips, block + 1, doc) {
        block += 1;
    }
    block
}

/// As [`linear`], by steps that double, then by halves.
#[inline]
pub fn gallop(skips: &[Skip], from: usize, doc: u32) -> usize {
    if !starts_by(skips, from + 1, doc) {
        return from;
    }
    let (mut low, mut step) = (from + 1, 1);
    while starts_by(skips, low + step, doc) {
        low += step;
        step *= 2;
    }
    let rest = skips.get(low + 1..(low + step).min(skips.len())).unwrap_or(&[]);
    low + rest.partition_point(|skip| skip.first <= doc)
}

/// The last block of `low..high` that starts at or before `doc`, by halves; `low` if no later one does.
///
/// Neighbouring docIDs take nearly the same way, so the processor guesses the branches right and reads ahead: with
/// conditional moves the method `binary` took a sixth longer.
#[inline]
pub fn halve(skips: &[Skip], mut low: usize, high: usize, doc: u32) -> usize {
    let mut high = high.min(skips.len());
    while low + 1 < high {
        let middle = low + (high - low) / 2;
        if skips[middle].first <= doc {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn test_all_searches_find_what_looking_at_every_entry_finds(
            firsts in proptest::collection::btree_set(prop_oneof![0u32..300, any::<u32>()], 0..90),
            docs in proptest::collection::vec(prop_oneof![0u32..300, any::<u32>()], 1..20),
            from in 0usize..90,
        ) {
            let skips: Vec<Skip> = firsts.into_iter().map(|first| Skip { first, offset: 0, bound: 0 }).collect();
            let edges = skips.iter().flat_map(|skip| [skip.first, skip.first.saturating_sub(1)]);
            for doc in docs.into_iter().chain(edges.collect::<Vec<_>>()) {
                let by_doc: Vec<usize> = (0..skips.len()).filter(|&i| skips[i].first <= doc).collect();
                let expected = by_doc.last().copied().unwrap_or(0).max(from);
                prop_assert_eq!(linear(&skips, from, doc), expected, "linear");
                prop_assert_eq!(gallop(&skips, from, doc), expected, "gallop");
                prop_assert_eq!(halve(&skips, from, skips.len(), doc), expected, "halve");
                let high = skips.len() / 2;
                prop_assert_eq!(halve(&skips, from, high, doc), expected.min(high.saturating_sub(1)).max(from), "to {}", high);
            }
        }
    }
}
