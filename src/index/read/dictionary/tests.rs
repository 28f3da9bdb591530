//! Look-ups and walks against a map, of automata that the crate `fst` wrote, sound and damaged.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::io::Write as _;

fn opened(bytes: &[u8], terms: u64) -> Result<Dictionary> {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(bytes).unwrap();
    Dictionary::new(Map::open(file.path()).unwrap(), PathBuf::from("terms.fst"), terms)
}

fn built(terms: &BTreeMap<Vec<u8>, u32>) -> Vec<u8> {
    let mut builder = fst::MapBuilder::memory();
    terms.iter().for_each(|(term, &id)| builder.insert(term, u64::from(id)).unwrap());
    builder.into_inner().unwrap()
}

fn check(terms: &BTreeMap<Vec<u8>, u32>, others: &[Vec<u8>]) {
    let dictionary = opened(&built(terms), terms.len() as u64).unwrap();
    for term in terms.keys().chain(others) {
        assert_eq!(dictionary.get(term).unwrap(), terms.get(term).copied(), "{term:?}");
    }
    let mut walked = BTreeMap::new();
    let mut last = None;
    dictionary
        .each(|term, id| {
            assert!(last.as_deref() < Some(term), "in order");
            last = Some(term.to_vec());
            walked.insert(term.to_vec(), id);
            true
        })
        .unwrap();
    assert_eq!(&walked, terms);
    for start in terms.keys().chain(others) {
        let mut found = Vec::new();
        dictionary
            .each_from(start, |term, id| {
                found.push((term.to_vec(), id));
                found.len() < 9
            })
            .unwrap();
        let expected: Vec<_> = terms.range(start.clone()..).take(9).map(|(term, &id)| (term.clone(), id)).collect();
        assert_eq!(found, expected, "from {start:?}");
    }
    // The same terms by their first bytes.
    let mut parts: Vec<(Vec<u8>, u32)> = Vec::new();
    for label in std::iter::once(None).chain((0..=255).map(Some)) {
        let mut walk = dictionary.walk_under(label).unwrap();
        while let Some(id) = walk.step().unwrap() {
            assert_eq!(walk.term().first().copied(), label);
            parts.push((walk.term().to_vec(), id));
        }
    }
    assert!(parts.into_iter().eq(walked));
}

fn numbered(terms: impl IntoIterator<Item = Vec<u8>>) -> BTreeMap<Vec<u8>, u32> {
    let mut terms: BTreeMap<Vec<u8>, u32> = terms.into_iter().map(|term| (term, 0)).collect();
    let n = terms.len() as u32;
    // Any order but that of the terms.
    terms.values_mut().zip(0..).for_each(|(id, i)| *id = (i % 2) * n.div_ceil(2) + i / 2);
    terms
}

#[test]
fn test_every_label_and_every_width() {
    for n in [0usize, 1, 2, 31, 32, 33, 63, 64, 65, 255, 256] {
        check(&numbered((0..n).map(|i| vec![i as u8])), &[vec![], vec![7, 7]]);
        check(&numbered((0..n).flat_map(|i| [vec![i as u8, b'x'], vec![b'x', i as u8, i as u8]])), &[vec![b'x']]);
    }
    check(&numbered((0..70_000u32).map(|i| i.to_be_bytes().to_vec())), &[vec![0; 5]]);
}

proptest! {
    #[test]
    fn test_agrees_with_the_map(
        terms in proptest::collection::btree_set(proptest::collection::vec(any::<u8>(), 0..6), 0..300),
        others in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..6), 0..50),
    ) {
        check(&numbered(terms), &others);
    }

    #[test]
    fn test_damage_never_panics(
        terms in proptest::collection::btree_set("[a-z]{1,4}", 1..100),
        damage in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let terms = numbered(terms.into_iter().map(String::into_bytes));
        let mut bytes = built(&terms);
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Ok(dictionary) = opened(&bytes, terms.len() as u64) {
            terms.keys().for_each(|term| drop(dictionary.get(term)));
            let mut count = 0;
            let _ = dictionary.each(|_, _| {
                count += 1;
                true
            });
            prop_assert!(count <= terms.len());
        }
    }
}

/// With one bit flipped, labels of a node are out of order, and who goes on behind a term could come back to it.
#[test]
fn test_every_walk_ends() {
    let terms = ["a", "aa", "ab", "abab", "b", "ba", "bb", "bcb"].map(|term| term.as_bytes().to_vec());
    let terms = numbered(terms);
    let sound = built(&terms);
    let mut stopped = 0;
    for bit in 0..8 * sound.len() {
        let mut bytes = sound.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        let Ok(dictionary) = opened(&bytes, terms.len() as u64) else { continue };
        // two at a time, as an export takes thousands: each walk goes on behind the one before
        let (mut from, mut last, mut walks) = (Vec::new(), None, 0);
        loop {
            let mut count = 0;
            let outcome = dictionary.each_from(&from, |term, _| {
                assert!(last.as_deref() < Some(term), "bit {bit}");
                last = Some(term.to_vec());
                count += 1;
                count < 2
            });
            stopped += u32::from(outcome.as_ref().is_err_and(|error| error.to_string().contains("byte order")));
            walks += 1;
            assert!(walks < 1000, "bit {bit}");
            if outcome.is_err() || count < 2 {
                break;
            }
            from.clone_from(last.as_ref().unwrap());
            from.push(0);
        }
    }
    assert!(stopped > 0);
}
