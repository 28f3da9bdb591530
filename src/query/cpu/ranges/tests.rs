//! Tables and bounds against looking at every posting.

use super::super::scorer::{Bm25Scorer, Scorer as _, Weight};
use super::table::{RANGE, Table};
use crate::codec;
use crate::index::{BoundReader, ListWords, Norm};
use proptest::prelude::*;
use std::collections::BTreeSet;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn test_a_table_knows_its_list(
        docs in proptest::collection::btree_set(prop_oneof![0u32..3000, 2500u32..2700], 1..900),
        others in proptest::collection::vec(0u32..3000, 0..50),
        len in 1u32..5000,
        (k1, b) in prop_oneof![Just((0.9f32, 0.4f32)), (0f32..5.0, 0f32..=1.0), Just((0.0, 0.0))],
        factor in 1e-3f32..20.0,
    ) {
        let lens: Vec<u32> = (0..3000).map(|doc| doc * 37 % 1000 + len).collect();
        let norm = Norm::new(k1, b, 3000, 3_000_000);
        let scorer = Bm25Scorer::new(&lens, norm, BoundReader::new(norm, norm, len + 1000));
        let weight = Weight::new(factor);
        let list: Vec<u32> = docs.iter().copied().collect();
        for codec in codec::parse_list("vbyte,simdbp").unwrap() {
            let (mut words, mut skips) = (Vec::new(), Vec::new());
            codec.encode(&list, &mut words, &mut skips);
            let words = ListWords::in_memory(codec.as_ref(), &words, &skips, list.len() as u32, 3000).unwrap();
            let table = Table::new(&words, &weight, &scorer).unwrap();
            for (position, &doc) in list.iter().enumerate() {
                prop_assert!(table.has(doc));
                prop_assert_eq!(table.position(doc), position);
                let bound = table.step(&weight) * f32::from(table.maxima()[doc as usize / RANGE]);
                prop_assert!(scorer.part(&weight, doc, 1, 0) <= bound);
            }
            for doc in others.iter().copied() {
                prop_assert_eq!(table.has(doc), docs.contains(&doc));
                prop_assert_eq!(table.position(doc), docs.range(..doc).count());
            }
            for (range, &max) in table.maxima().iter().enumerate() {
                let start = (range * RANGE) as u32;
                let inside: BTreeSet<u32> = docs.range(start..start + RANGE as u32).copied().collect();
                prop_assert_eq!(max == 0, inside.is_empty());
                let bits = inside.iter().fold(0u16, |bits, doc| bits | 1 << (doc - start));
                prop_assert_eq!(table.documents(range), bits);
            }
        }
    }
}

/// With half of a step less the bounds would be too low: they are as tight as eight bits can be.
#[test]
fn test_bounds_are_tight() {
    let lens: Vec<u32> = (0..64).map(|doc| 10 + 50 * doc).collect();
    let norm = Norm::new(0.9, 0.4, 64, 64_000);
    let scorer = Bm25Scorer::new(&lens, norm, BoundReader::new(norm, norm, 4000));
    let codec = codec::parse_list("raw").unwrap().remove(0);
    let (mut words, mut skips) = (Vec::new(), Vec::new());
    codec.encode(&[0, 17, 40, 63], &mut words, &mut skips);
    let list = ListWords::in_memory(codec.as_ref(), &words, &skips, 4, 64).unwrap();
    let weight = Weight::new(2.0);
    let table = Table::new(&list, &weight, &scorer).unwrap();
    for doc in [0, 17, 40, 63u32] {
        let bound = table.step(&weight) * f32::from(table.maxima()[doc as usize / RANGE]);
        let part = scorer.part(&weight, doc, 1, 0);
        assert!(part <= bound && bound - part < 1.01 * table.step(&weight), "document {doc}: {part}, {bound}");
    }
}
