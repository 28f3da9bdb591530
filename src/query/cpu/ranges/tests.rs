//! Tables and bounds against looking at every posting.

use super::super::open;
use super::super::scorer::{Bm25Scorer, Scorer as _, Scoring, Weight};
use super::table::{RANGE, Table};
use super::{Tables, When};
use crate::codec;
use crate::index::{BoundReader, Index, ListWords, Norm};
use crate::query::{Bm25, Mode, Searcher};
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
                let own = table.step(&weight) * f32::from(table.steps(position));
                let part = scorer.part(&weight, doc, 1, 0);
                prop_assert!(part <= own && own <= bound);
                // as good as rounding allows: that much the queries leave room for
                prop_assert!(own - table.step(&weight) <= part * (1.0 + 1.4e-6));
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

/// An index of three long lists, a short one and one posting, in one codec.
fn built(dir: &std::path::Path) -> std::path::PathBuf {
    let text = |doc: u32| {
        let word = |word: &'static str, in_it: bool| if in_it { word } else { "" };
        let words = [word("every", true), word("even", doc.is_multiple_of(2)), word("third", doc.is_multiple_of(3))];
        format!("{} {} {}", words.join(" "), word("short", doc % 500 == 7), word("once", doc == 9))
    };
    let texts: Vec<String> = (0..5000).map(text).collect();
    let texts: Vec<_> = texts.iter().map(|text| ("id", "", "", text.as_str())).collect();
    let plan = crate::index::tests::Plan {
        batch: 500,
        codecs: codec::parse_list("simdbp").unwrap(),
        ..crate::index::tests::Plan::default()
    };
    let target = dir.join("index");
    crate::index::tests::build(&target, &texts, &plan).unwrap();
    target
}

const QUERIES: [&str; 5] = ["every even third", "even third", "short every", "every even short", "once even"];

/// As many tables as there is room for, and each once.
#[test]
fn test_tables_take_up_no_more_than_they_may() {
    let dir = tempfile::tempdir().unwrap();
    let index = Index::open(&built(dir.path())).unwrap();
    let searcher = Searcher::new(&index, None, Bm25::default()).unwrap();
    let norm = index.norm(0.9, 0.4);
    let scorer = Bm25Scorer::new(index.lens(), norm, BoundReader::new(norm, norm, 10));
    let scoring = Scoring::Bm25(Bm25Scorer::new(index.lens(), norm, BoundReader::new(norm, norm, 10)));
    // Lists of all documents, of half and of a third of them, in the order that queries come to them.
    let sizes = [5000, 2500, 1667].map(|df| super::table::bytes(5000, df));
    for room in 0..4 {
        let all: usize = sizes[..room].iter().sum();
        let tables = Tables::with_room(all + sizes[2] / 2);
        for text in QUERIES.iter().chain(&QUERIES) {
            let plan = searcher.plan(&searcher.parse(text).unwrap()).unwrap();
            let mut terms = open(&index, searcher.codec(), &plan, &scoring).unwrap();
            tables.furnish(&mut terms, &scorer, When::Now);
            let furnished = terms.iter().filter(|term| term.table.is_some()).count();
            let long = terms.iter().filter(|term| term.cursor.df() >= 5000 / 64).count();
            assert!(furnished == long || furnished == 0, "{text}: {furnished} of {long}");
            assert!(furnished > 0 || room < 3, "{text} with room for three");
        }
        assert_eq!(tables.bytes(), all, "as many as there is room for");
    }
}

/// Words that say anything: an answer, or an error that says so; and what cannot be made is no error by itself.
#[test]
fn test_damaged_lists_have_no_table() {
    let dir = tempfile::tempdir().unwrap();
    let target = built(dir.path());
    let file = target.join("simdbp/postings.bin");
    let sound = std::fs::read(&file).unwrap();
    let (mut answered, mut refused) = (0, 0);
    for damage in 0..40 {
        let mut bytes = sound.clone();
        let at = damage * bytes.len() / 40;
        let end = (at + 24).min(bytes.len());
        bytes[at..end].iter_mut().for_each(|byte| *byte ^= 0xff);
        std::fs::write(&file, bytes).unwrap();
        let Ok(index) = Index::open(&target) else { continue };
        let searcher = Searcher::new(&index, None, Bm25::default()).unwrap();
        for text in QUERIES.iter().chain(&QUERIES) {
            let plan = searcher.plan(&searcher.parse(text).unwrap()).unwrap();
            let found = searcher.prepare(&plan, Mode::AndOr, 5).and_then(|()| searcher.search(&plan, Mode::Or, 5));
            match found {
                Ok(hits) => answered += usize::from(hits.len() == 5),
                Err(crate::Error::Damaged { .. }) => refused += 1,
                Err(other) => panic!("{text}: {other}"),
            }
        }
    }
    assert!(answered > 0 && refused > 0, "{answered} answered, {refused} refused");
}
