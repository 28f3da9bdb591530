//! The worker dictionary against a map per document.

use super::*;
use proptest::prelude::*;
use std::collections::HashMap;

/// Per document (term number, tf); and the terms.
type Counted = (Vec<Vec<(u32, u32)>>, Vec<Vec<u8>>);

/// The obvious way: a map per document, numbers by first occurrence.
fn slow(documents: &[Vec<Vec<u8>>]) -> Counted {
    let mut numbers: HashMap<Vec<u8>, u32> = HashMap::new();
    let mut terms = Vec::new();
    let postings = documents
        .iter()
        .map(|tokens| {
            let mut order: Vec<(u32, u32)> = Vec::new();
            for token in tokens {
                let number = *numbers.entry(token.clone()).or_insert_with(|| {
                    terms.push(token.clone());
                    terms.len() as u32 - 1
                });
                match order.iter_mut().find(|(n, _)| *n == number) {
                    Some((_, tf)) => *tf += 1,
                    None => order.push((number, 1)),
                }
            }
            order
        })
        .collect();
    (postings, terms)
}

/// `junk`: count through [`LocalTerms::count_padded`], with this byte behind each term.
fn fast_with(documents: &[Vec<Vec<u8>>], junk: Option<u8>) -> Counted {
    let (mut table, mut postings, mut new) = (LocalTerms::new(1 << 20), Vec::new(), NewTerms::default());
    let lists = documents
        .iter()
        .map(|tokens| {
            table.begin_document();
            let start = postings.len();
            for token in tokens {
                match junk {
                    None => table.count(token, &mut postings, &mut new),
                    Some(junk) => {
                        let mut padded = token.clone();
                        padded.resize(token.len() + 32, junk);
                        table.count_padded(&padded, token.len(), &mut postings, &mut new);
                    }
                }
            }
            table.end_document(&mut postings, &mut new);
            postings[start..].iter().map(|&p| split(p)).collect()
        })
        .collect();
    (lists, (0..new.len()).map(|i| new.get(i).to_vec()).collect())
}

fn fast(documents: &[Vec<Vec<u8>>]) -> Counted {
    let found = fast_with(documents, None);
    for junk in [0, b'a', 255] {
        assert_eq!(fast_with(documents, Some(junk)), found);
    }
    found
}

proptest! {
    #[test]
    fn counts_like_a_map(documents in prop::collection::vec(
        prop::collection::vec(prop::collection::vec(prop_oneof![Just(0u8), Just(b'a'), Just(b'b'), any::<u8>()], 1..40), 0..200), 0..12)) {
        prop_assert_eq!(fast(&documents), slow(&documents));
    }
}

#[test]
fn every_length_and_zero_byte_tells_terms_apart() {
    // Zero bytes must not be confused with the zero padding of a shorter term.
    let tokens: Vec<Vec<u8>> = (1..=40).flat_map(|n| [vec![0u8; n], vec![b'x'; n]]).collect();
    assert_eq!(fast(&[tokens.clone(), tokens.clone()]), slow(&[tokens.clone(), tokens]));
}

#[test]
fn grows_past_its_first_table() {
    let tokens: Vec<Vec<u8>> = (0..60_000u32).map(|i| format!("term number {i}").into_bytes()).collect();
    let (lists, terms) = fast(&[tokens.clone(), tokens.clone()]);
    assert_eq!(terms, tokens);
    assert_eq!(lists[0], lists[1], "second document meets known terms only");
}

#[test]
fn inline_keys_are_the_padded_bytes() {
    for n in 0..=16usize {
        let term: Vec<u8> = (1..=n as u8).collect();
        let mut padded = [0u8; 16];
        padded[..n].copy_from_slice(&term);
        let want = u128::from_le_bytes(padded);
        assert_eq!(inline_key(&term), (want as u64, (want >> 64) as u64), "length {n}");
    }
}

/// Without memory, a document brings no more terms; what they would have needed is told, and known ones are counted.
#[test]
fn a_guard_refuses_terms_that_memory_cannot_hold() {
    let (mut terms, mut postings, mut new) = (LocalTerms::new(1 << 12), Vec::new(), NewTerms::default());
    let mut count = |terms: &mut LocalTerms, words: std::ops::Range<u32>| {
        terms.begin_document();
        for word in words {
            terms.count(format!("w{word}").as_bytes(), &mut postings, &mut new);
            terms.count(format!("a long word with the number {word}").as_bytes(), &mut postings, &mut new);
        }
        terms.end_document(&mut postings, &mut new);
        (postings.len(), new.len())
    };
    terms.guard(u64::MAX);
    assert_eq!(count(&mut terms, 0..100), (200, 200));
    assert_eq!(terms.unguard(), None);
    terms.guard(0);
    assert_eq!(count(&mut terms, 50..150), (300, 200), "a posting of every word that is known, and nothing else");
    let needed = terms.unguard().unwrap();
    assert!(needed > crate::base::memory::memory_in_use() / 2);
    assert_eq!(count(&mut terms, 100..150), (400, 300), "without a guard all is as ever");
}
