//! Every method against a plain intersection of sets.

use super::*;
use crate::codec;
use crate::postings::Encoded;
use crate::query::method::EngineKind;
use proptest::prelude::*;
use std::collections::BTreeSet;

/// Every method must find what the sets have in common, with positions.
fn check(sets: &[BTreeSet<u32>], documents: u32) {
    let plain: Vec<Vec<u32>> = sets.iter().map(|set| set.iter().copied().collect()).collect();
    let expected: Vec<u32> = plain[0].iter().copied().filter(|doc| sets.iter().all(|set| set.contains(doc))).collect();
    for codec in codec::parse_list("vbyte,simdbp,para-ef,parapfor").unwrap() {
        let codec = codec.as_ref();
        let encoded: Vec<Encoded> = plain.iter().map(|docs| Encoded::new(codec, docs)).collect();
        let lists: Vec<List<'_>> = encoded
            .iter()
            .zip(&plain)
            .map(|(list, docs)| match docs[..] {
                [doc] => List::Single { doc, tf: 1 },
                _ => List::Blocks(list.list(codec, documents).unwrap()),
            })
            .collect();
        for method in AND.on(EngineKind::Cpu) {
            let cpu_method = AND.cpu(method).unwrap();
            let mut docs = vec![7; 3];
            cpu(cpu_method, &lists, &mut docs).unwrap();
            assert_eq!(docs, expected, "{} over {}", method.name, codec.name());
            let mut matches = Matches::with_positions();
            (cpu_method.intersect)(&lists, &mut matches).unwrap();
            assert_eq!(matches.docs, expected, "{} with positions", method.name);
            for (list, docs) in plain.iter().enumerate() {
                let column = &matches.positions[list];
                let found: Vec<u32> = column.iter().map(|&position| docs[position as usize]).collect();
                if !expected.is_empty() {
                    assert_eq!(found, expected, "{}: positions in list {list}", method.name);
                }
            }
        }
    }
}

fn every(step: u32, from: u32, n: u32) -> BTreeSet<u32> {
    (0..n).map(|i| from + i * step).collect()
}

#[test]
fn test_adversarial_lists() {
    let one = |doc| BTreeSet::from([doc]);
    let cases: Vec<Vec<BTreeSet<u32>>> = vec![
        vec![every(1, 0, 2000)],
        vec![one(5)],
        vec![every(1, 0, 2000), every(1, 0, 2000), every(1, 0, 2000)],
        vec![every(2, 0, 1000), every(2, 1, 1000)],
        vec![every(1, 0, 700), every(1, 700, 700)],
        vec![every(1, 700, 700), every(1, 0, 700)],
        vec![one(0), every(3, 0, 700)],
        vec![one(127 * 3), every(3, 0, 700)],
        vec![one(128 * 3), every(3, 0, 700), every(1, 128 * 3, 1)],
        vec![one(1), every(3, 0, 700)],
        vec![one(2099), every(3, 0, 700)],
        vec![one(9), one(9), one(9)],
        vec![one(9), one(10)],
        // The ends of blocks of 128 and 512, and one around each.
        vec![
            [0u32, 1, 126, 127, 128, 129, 255, 256, 510, 511, 512, 513, 1023, 1024, 1025, 2047].into(),
            every(1, 0, 2048),
            every(1, 0, 4000),
        ],
        vec![every(128, 127, 30), every(1, 0, 4000), every(127, 0, 31)],
        vec![every(1, u32::MAX - 400, 400), every(2, u32::MAX - 4000, 2000), one(u32::MAX - 2)],
        vec![every(1000, 0, 100), every(7, 0, 15_000)],
    ];
    for sets in cases {
        check(&sets, u32::MAX);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn test_random_lists(
        sets in proptest::collection::vec(
            (1u32..60, proptest::collection::btree_set(0u32..3000, 1..900))
                .prop_map(|(step, docs)| docs.into_iter().map(|doc| doc / step * step).collect::<BTreeSet<u32>>()),
            1..5,
        ),
    ) {
        check(&sets, 3000);
    }

    #[test]
    fn test_damaged_lists_give_an_error_or_documents_in_order(
        docs in proptest::collection::btree_set(0u32..5000, 200..900),
        at in any::<prop::sample::Index>(),
        bits: u32,
        in_skips: bool,
    ) {
        let docs: Vec<u32> = docs.into_iter().collect();
        let other: Vec<u32> = (0..1200).map(|i| i * 4).collect();
        for codec in codec::parse_list("vbyte,simdbp,para-ef").unwrap() {
            let codec = codec.as_ref();
            let mut damaged = Encoded::new(codec, &docs);
            if in_skips {
                let skip = at.index(damaged.skips.len());
                damaged.skips[skip].first ^= bits;
                damaged.skips[skip].offset ^= bits.rotate_left(11);
            } else {
                let word = at.index(damaged.words.len());
                damaged.words[word] ^= bits;
            }
            let other = Encoded::new(codec, &other);
            for method in AND.rows.iter().filter_map(|row| row.cpu.as_ref()) {
                let mut found = Vec::new();
                let lists = [&damaged, &other].map(|list| List::Blocks(list.list(codec, 5000).unwrap()));
                if cpu(method, &lists, &mut found).is_ok() {
                    prop_assert!(found.is_sorted_by(|a, b| a < b) && found.iter().all(|doc| doc % 4 == 0));
                }
            }
        }
    }
}

#[test]
fn test_no_lists_and_names() {
    for method in AND.on(EngineKind::Cpu) {
        let cpu_method = AND.cpu(method).unwrap();
        let mut docs = vec![1, 2];
        cpu(cpu_method, &[], &mut docs).unwrap();
        assert!(docs.is_empty(), "{}", method.name);
        assert_eq!(AND.find(method.name).unwrap().name, method.name);
    }
    let error = AND.find("zipper").err().unwrap().to_string();
    let names: Vec<_> = AND.rows.iter().map(|row| row.name).collect();
    assert!(error.ends_with(&names.join(", ")), "{error}");
}
