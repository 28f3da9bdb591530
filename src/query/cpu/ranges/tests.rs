//! Tables and bounds against looking at every posting.

use super::super::open;
use super::super::scorer::{Bm25Scorer, Scorer as _, Scoring, Weight};
use super::reader::Reader;
use super::tables::{Found, of_list};
use super::{Scored, Tables, When};
use crate::codec;
use crate::index::Index;
use crate::postings::table::{RANGE, Sizes};
use crate::postings::{List, ListWords};
use crate::query::{Bm25, Mode, Searcher};
use crate::score::{BoundReader, Norm};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// With half a step less the bounds would be too low: they are as tight as eight bits allow.
#[test]
fn test_bounds_are_tight() {
    let lens: Vec<u32> = (0..64).map(|doc| 10 + 50 * doc).collect();
    let norm = Norm::new(0.9, 0.4, 64, 64_000);
    let scorer = Bm25Scorer::new(&lens, norm, BoundReader::new(norm, norm, 4000));
    let codec = codec::parse_list("raw").unwrap().remove(0);
    let (mut words, mut skips) = (Vec::new(), Vec::new());
    codec.encode(&[0, 17, 40, 63], &mut words, &mut skips);
    let list = ListWords::in_memory(codec.as_ref(), &words, &skips, 4, 64).unwrap();
    let weight = Weight::new(1.0);
    let table = of_list(&list, &weight, &scorer).unwrap();
    let (table, step) = (table.view(), weight.factor * table.view().step().1);
    for doc in [0, 17, 40, 63u32] {
        let bound = step * f32::from(table.maxima()[doc as usize / RANGE]);
        let part = norm.impact(1, lens[doc as usize]);
        assert!(part <= bound && bound - part < 1.01 * step, "document {doc}: {part}, {bound}");
    }
}

/// An index of three long lists, a short one and one posting, in one codec.
fn built(dir: &Path) -> PathBuf {
    let text = |doc: u32| {
        let word = |word: &'static str, in_it: bool| if in_it { word } else { "" };
        let words = [word("every", true), word("third", doc.is_multiple_of(3))];
        let words = [words.join(" "), [word("even", doc.is_multiple_of(2)); 9][..doc as usize % 9 + 1].join(" ")];
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

/// One table each, made once, for queries that have room for all their lists' tables.
#[test]
fn test_tables_take_up_no_more_than_they_may() {
    let dir = tempfile::tempdir().unwrap();
    let index = Index::open(&built(dir.path())).unwrap();
    let searcher = Searcher::new(&index, None, Bm25::default()).unwrap();
    let norm = index.norm(0.9, 0.4);
    let scorer = Bm25Scorer::new(index.lens(), norm, BoundReader::new(norm, norm, 10));
    let scoring = Scoring::Bm25(Bm25Scorer::new(index.lens(), norm, BoundReader::new(norm, norm, 10)));
    let size = |df: u32| Sizes::of(df, 5000).bytes();
    let [every, even, third] = [5000, 2500, 1667].map(size);
    for room in [0, third, even, even + third - 1, even + third, every, every + even, every + even + third] {
        let tables = Tables::with_room(room);
        let (mut made, mut taken) = (BTreeSet::new(), 0);
        for text in QUERIES.iter().chain(&QUERIES) {
            let plan = searcher.plan(&searcher.parse(text).unwrap()).unwrap();
            let mut terms = open(&index, searcher.codec(), &plan, &scoring).unwrap();
            let missing = |terms: &[Scored<'_>], made: &BTreeSet<u32>| {
                let long = terms.iter().filter(|term| term.cursor.list().df() >= 5000 / 64);
                long.filter(|term| !made.contains(&term.id)).map(|term| size(term.cursor.list().df())).sum::<usize>()
            };
            // Nothing was read, so none pays.
            let fits = taken + missing(&terms, &made) <= room;
            let there = missing(&terms, &made) == 0;
            assert_eq!(tables.furnish(&mut terms, &scorer, When::ItPays), fits && !there, "{text}: to be settled");
            assert!(terms.iter().all(|term| there || term.table.is_none()), "{text}");
            assert!(!tables.furnish(&mut terms, &scorer, When::Now), "{text}: made, or no room");
            for term in &terms {
                let long = term.cursor.list().df() >= 5000 / 64;
                assert_eq!(term.table.is_some(), long && fits, "{text} in {room}");
                taken += if term.table.is_some() && made.insert(term.id) { size(term.cursor.list().df()) } else { 0 };
            }
            assert_eq!(tables.bytes(), taken);
        }
    }
}

/// A reader's bounds of a posting, from its byte, hold for the posting's part.
#[test]
fn test_postings_are_bounded_from_below_and_above() {
    let dir = tempfile::tempdir().unwrap();
    let index = Index::open(&built(dir.path())).unwrap();
    let searcher = Searcher::new(&index, None, Bm25::default()).unwrap();
    let longest = index.lens().iter().copied().max().unwrap();
    let mut widths = BTreeSet::new();
    for (k1, b) in [(0.9, 0.4), (1.2, 0.75), (0.0, 0.0), (1000.0, 1.0)] {
        let norm = index.norm(k1, b);
        let bounds = || BoundReader::new(index.default_norm(), norm, longest);
        let scorer = Bm25Scorer::new(index.lens(), norm, bounds());
        let scoring = Scoring::Bm25(Bm25Scorer::new(index.lens(), norm, bounds()));
        let plan = searcher.plan(&searcher.parse(QUERIES[0]).unwrap()).unwrap();
        let terms = open(&index, searcher.codec(), &plan, &scoring).unwrap();
        for mut term in terms {
            let List::Blocks(list) = term.cursor.list().clone() else { panic!("a long list") };
            let weight = term.weight;
            term.table = Some(Found::Made(of_list(&list, &weight, &scorer).unwrap().into()));
            let reader = Reader::new(&mut term, 1, &scorer).unwrap();
            let mut docs = Vec::new();
            list.decode_all(&mut docs).unwrap();
            for (position, &doc) in docs.iter().enumerate() {
                let part = scorer.part(&weight, doc, list.tf.get(position).unwrap(), position);
                let (least, most) = reader.bounds_at(position);
                assert!(least <= part && part <= most, "{least} to {most}: {part}");
                widths.insert((most / (most - least)).round() as u32);
            }
        }
    }
    assert!(widths.len() > 20 && widths.iter().any(|&width| width > 240), "parts of all sizes: {widths:?}");
}

/// Searches with tables; returns the numbers of queries answered and refused for damage.
fn asked(target: &Path) -> (usize, usize) {
    let (mut answered, mut refused) = (0, 0);
    let Ok(index) = Index::open(target) else { return (0, 0) };
    let searcher = Searcher::new(&index, None, Bm25::default()).unwrap();
    for text in QUERIES.iter().chain(&QUERIES) {
        for mode in [Mode::And, Mode::Or] {
            let plan = searcher.plan(&searcher.parse(text).unwrap()).unwrap();
            match searcher.prepare(&plan, mode, 5).and_then(|()| searcher.search(&plan, mode, 5)) {
                Ok(_) => answered += 1,
                Err(crate::Error::Damaged { .. }) => refused += 1,
                Err(other) => panic!("{text}: {other}"),
            }
        }
    }
    (answered, refused)
}

/// Words of any content: an answer, or an error; a table that cannot be made is no error by itself.
#[test]
fn test_damaged_lists_have_no_table() {
    let dir = tempfile::tempdir().unwrap();
    let target = built(dir.path());
    for name in ["simdbp/postings.bin", "simdbp/lists.bin", "tf.bin"] {
        let file = target.join(name);
        let sound = std::fs::read(&file).unwrap();
        let (mut answered, mut refused) = (0, 0);
        for damage in 0..40 {
            let mut bytes = sound.clone();
            let at = damage * bytes.len() / 40;
            let end = (at + 24).min(bytes.len());
            bytes[at..end].iter_mut().for_each(|byte| *byte ^= 0xff);
            std::fs::write(&file, bytes).unwrap();
            let (more, less) = asked(&target);
            (answered, refused) = (answered + more, refused + less);
        }
        assert!(answered > 0 && refused > 0, "{name}: {answered} answered, {refused} refused");
        std::fs::write(&file, sound).unwrap();
    }
}

/// Blocks that agree with their skip entries, but start behind all documents: their list has no table, since it would
/// not have room for such documents.
#[test]
fn test_documents_that_there_are_not() {
    let dir = tempfile::tempdir().unwrap();
    let target = built(dir.path());
    let file = target.join("simdbp/lists.bin");
    let mut words: Vec<u32> = bytemuck::pod_collect_to_vec(&std::fs::read(&file).unwrap());
    let at = {
        let index = Index::open(&target).unwrap();
        let term = index.term(index.lookup(b"every").unwrap().unwrap()).unwrap();
        let List::Blocks(list) = index.list(&term, index.codec(None).unwrap()).unwrap() else { panic!("a long list") };
        list.skips_at as usize
    };
    // the first docIDs of its second block and its third
    assert_eq!((words[at + 3], words[at + 6]), (128, 256));
    (words[at + 3], words[at + 6]) = (0x8000_0000, 0x8001_0000);
    std::fs::write(&file, bytemuck::cast_slice(&words)).unwrap();
    let (answered, refused) = asked(&target);
    assert_eq!(answered + refused, 4 * QUERIES.len());
}
