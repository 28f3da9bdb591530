//! Bytes against those of the crate `fst`.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// The bytes, and those of the crate `fst`.
fn both(terms: &BTreeMap<Vec<u8>, u64>) -> [Vec<u8>; 2] {
    let dir = tempfile::tempdir().unwrap();
    let mut automaton = Automaton::new(Output::create(dir.path(), "a").unwrap());
    let mut builder = fst::MapBuilder::memory();
    for (term, &number) in terms {
        automaton.insert(term, number).unwrap();
        builder.insert(term, number).unwrap();
    }
    let spec = automaton.finish().unwrap();
    let bytes = std::fs::read(dir.path().join("a")).unwrap();
    assert_eq!(spec.bytes, bytes.len() as u64);
    [bytes, builder.into_inner().unwrap()]
}

fn check(terms: BTreeMap<Vec<u8>, u64>) {
    let [own, theirs] = both(&terms);
    let at = own.iter().zip(&theirs).position(|(a, b)| a != b);
    assert!(own == theirs, "{} terms: differ at {at:?} of {} and {}", terms.len(), own.len(), theirs.len());
}

#[test]
fn test_checksum_is_that_of_a_bit_at_a_time() {
    let bytes: Vec<u8> = (0..100u32).map(|i| ((i * i * 37) >> 3) as u8).collect();
    for (from, to) in [(0, 0), (0, 1), (0, 7), (3, 11), (1, 25), (0, 100), (5, 98)] {
        let slow = bytes[from..to].iter().fold(0x1234_5678, |crc: u32, &byte| {
            (0..8).fold(crc ^ u32::from(byte), |crc, _| crc >> 1 ^ if crc & 1 > 0 { 0x82f6_3b78 } else { 0 })
        });
        assert_eq!(crc_of(0x1234_5678, &bytes[from..to]), slow, "{from}..{to}");
    }
    assert_eq!(!crc_of(!0, b"123456789"), 0xe306_9283, "the check value of the catalogue of CRCs");
}

#[test]
fn test_every_number_of_transitions() {
    for n in [0u64, 1, 2, 31, 32, 33, 34, 63, 64, 65, 255, 256] {
        for scale in [0, 1, 1 << 9, 1 << 30, 1 << 54] {
            let labels = (0..n).map(|i| (i as u8, i));
            check(labels.clone().map(|(label, i)| (vec![label], i * scale)).collect());
            check(labels.flat_map(|(label, i)| [(vec![label, 7], i * scale), (vec![7, label, label], 5)]).collect());
        }
    }
    check([(vec![], 9), (vec![0], 3), (vec![0, 0], 0)].into());
}

/// More nodes than are remembered, numbers in no order, and long shared ends.
#[test]
fn test_many_terms() {
    let word =
        |i: u64| format!("{:x}{}", i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40, ["", "ing", "ed", "s"][i as usize % 4]);
    check((0..60_000).map(|i| (word(i).into_bytes(), i.wrapping_mul(2_654_435_761) % 60_000)).collect());
    check((0..60_000u32).map(|i| (i.to_be_bytes().to_vec(), u64::from(i))).collect());
}

#[test]
fn test_a_row_is_a_cache_line() {
    assert_eq!(size_of::<Row>(), 64);
}

#[test]
fn test_terms_out_of_order_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    for (before, next) in [("b", "a"), ("b", "b"), ("bc", "b"), ("b", ""), ("abc", "abb"), ("", "")] {
        let mut automaton = Automaton::new(Output::create(dir.path(), "a").unwrap());
        automaton.insert(before.as_bytes(), 3).unwrap();
        let error = automaton.insert(next.as_bytes(), 5).unwrap_err().to_string();
        assert!(error.contains("the order of the terms"), "{before}, {next}: {error}");
    }
}

proptest! {
    #[test]
    fn prop_bytes_are_those_of_the_crate(
        terms in proptest::collection::btree_map(
            proptest::collection::vec(prop_oneof![0u8..3, any::<u8>()], 0..8),
            prop_oneof![0u64..4, 0u64..70_000, any::<u32>().prop_map(u64::from), 0..u64::MAX / 2],
            0..400,
        ),
    ) {
        check(terms);
    }
}
