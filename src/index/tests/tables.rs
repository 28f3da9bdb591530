//! `tables.bin`: the tables of long lists, wherever and however the file is made.

use super::reencoding::{change as recode, files, texts};
use super::reordering::{change as move_to, permutation_of};
use super::*;
use crate::Error;
use crate::index::change::reencode::{Change, PartChange, reencode};
use crate::index::change::reorder::{Reorder, reorder};
use crate::index::format::manifest::MANIFEST;
use crate::postings::List;
use crate::postings::table::{RANGE, TableView};
use std::fs;

const NAME: &str = "tables.bin";

fn make(target: &Path, texts: &[(String, String)], codecs: &str, tables: Option<usize>) {
    let texts: Vec<Text<'_>> = texts.iter().map(|(id, text)| (id.as_str(), "", "", text.as_str())).collect();
    let codecs = codec::parse_list(codecs).unwrap();
    build(target, &texts, &Plan { codecs, window: 1 << 12, tables, ..Plan::default() }).unwrap();
}

/// The table of a term in an index; `None` if the list is too short for one.
fn table<'a>(index: &'a Index, term: &str) -> Option<TableView<'a>> {
    let id = index.lookup(term.as_bytes()).unwrap().unwrap();
    match index.list(&index.term(id).unwrap(), index.codec(None).unwrap()).unwrap() {
        List::Blocks(list) => index.list_tables().unwrap().get(id, &list),
        List::Single { .. } => None,
    }
}

/// Compares every table with plain maps: documents, positions, and bounds that are true and tight.
fn check(target: &Path, oracle: &Oracle) {
    let index = Index::open(target).unwrap();
    let documents = oracle.lens.len();
    let norm = index.default_norm();
    let mut long = 0;
    for (term, list) in &oracle.lists {
        let found = table(&index, term);
        assert_eq!(found.is_some(), list.len() > 1 && list.len() >= documents.div_ceil(64), "{term}");
        let Some(table) = found else { continue };
        long += 1;
        for doc in 0..documents as u32 {
            let at = list.partition_point(|posting| posting.0 < doc);
            assert_eq!(
                (table.position(doc), table.has(doc)),
                (at, list.get(at).is_some_and(|posting| posting.0 == doc))
            );
        }
        let mut maxima = vec![0; table.maxima().len()];
        let mut most = 0f32;
        for (position, &(doc, tf)) in list.iter().enumerate() {
            let (steps, impact) = (table.steps(position), norm.impact(tf, oracle.lens[doc as usize]));
            let bound = f32::from(steps) * table.step().1;
            assert!(impact <= bound && bound - impact < 1.01 * table.step().1, "{term} in {doc}: {impact}, {bound}");
            maxima[doc as usize / RANGE] = steps.max(maxima[doc as usize / RANGE]);
            most = most.max(impact);
        }
        assert_eq!(table.maxima(), maxima);
        assert!(
            most <= 255.0 * table.step().1 && 255.0 * table.step().1 < 1.1 * most,
            "{term}: a step of {}",
            table.step().1
        );
    }
    assert_eq!(index.list_tables().unwrap().len(), long);
    assert!(verify(target).unwrap().problems.is_empty());
}

#[test]
fn test_tables_are_what_the_postings_give() {
    let dir = tempfile::tempdir().unwrap();
    let texts = texts();
    let mut bytes = Vec::new();
    for (codecs, threads) in [("raw", 1), ("raw,vbyte", 3), ("para-ef", 2)] {
        let target = dir.path().join(format!("{codecs}{threads}"));
        make(&target, &texts, codecs, Some(threads));
        check(&target, &Oracle::new(texts.iter().map(|text| text.1.as_str())));
        bytes.push(files(&target).remove(NAME).unwrap());
    }
    assert!(bytes.iter().all(|other| *other == bytes[0]), "neither threads nor codecs change them");
    assert!(bytes[0].len() > 100_000);
}

#[test]
fn test_an_index_without_postings_has_tables_too() {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in [("empty", ""), ("one", "a b")] {
        let target = dir.path().join(name);
        make(&target, &[(String::from("d"), text.to_owned())], "raw", Some(1));
        assert!(Index::open(&target).unwrap().list_tables().unwrap().is_empty());
        assert!(verify(&target).unwrap().problems.is_empty());
    }
}

#[test]
fn test_reencode_adds_keeps_and_removes_them() {
    let dir = tempfile::tempdir().unwrap();
    let go = Means::new(3, 1);
    let (with, without) = (dir.path().join("with"), dir.path().join("without"));
    make(&with, &texts(), "raw,vbyte", Some(2));
    make(&without, &texts(), "raw,vbyte", None);
    assert!(Index::open(&without).unwrap().list_tables().is_none());
    let all = |index: &Path| (files(index), fs::read(index.join(MANIFEST)).unwrap());
    let (full, bare) = (all(&with), all(&without));
    let set = |tables| Change { tables, ..recode("", &[], &go) };
    let run = |change: &Change<'_>| reencode(&without, change);
    assert!(matches!(run(&set(PartChange::Remove)), Err(Error::Invalid { .. })));
    let done = run(&set(PartChange::Write)).unwrap();
    let tables = Index::open(&without).unwrap().list_tables().unwrap().len() as u64;
    assert_eq!(done.tables, Some((tables, full.0[NAME].len() as u64)));
    assert!(all(&without) == full, "as a build writes them");
    // Other codecs leave them as they are; a damaged file is mended.
    assert_eq!(run(&recode("simdbp", &["vbyte"], &go)).unwrap().tables, None);
    assert!(files(&without)[NAME] == full.0[NAME]);
    run(&recode("vbyte", &["simdbp"], &go)).unwrap();
    let mut damaged = full.0[NAME].clone();
    damaged[100] ^= 1;
    fs::write(without.join(NAME), damaged).unwrap();
    assert!(matches!(run(&recode("simdbp", &[], &go)), Err(Error::Damaged { .. })));
    run(&set(PartChange::Write)).unwrap();
    assert!(all(&without) == full);
    assert!(matches!(run(&Change { means: stopped(), ..set(PartChange::Write) }), Err(Error::Interrupted)));
    assert!(all(&without) == full);
    run(&set(PartChange::Remove)).unwrap();
    assert!(all(&without) == bare);
}

#[test]
fn test_another_order_has_tables_of_its_own() {
    let dir = tempfile::tempdir().unwrap();
    let go = Means::new(3, 1 << 30);
    let (with, without) = (dir.path().join("with"), dir.path().join("without"));
    make(&with, &texts(), "para-ef", Some(2));
    make(&without, &texts(), "para-ef", None);
    let permutation = permutation_of(&with, "random:5").unwrap();
    reorder(&with, &move_to(&permutation, &go)).unwrap();
    reorder(&without, &Reorder { tables: true, ..move_to(&permutation, &go) }).unwrap();
    assert!(files(&with) == files(&without));
    let texts = texts();
    let moved: Vec<&str> = permutation.old_of_new().iter().map(|&old| texts[old as usize].1.as_str()).collect();
    check(&with, &Oracle::new(moved));
}

/// Tables of another list, or of none, in the directory: neither is taken for the list's own by `verify`, and a query
/// without its table makes one in memory.
#[test]
fn test_a_wrong_directory_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("index");
    make(&target, &texts(), "vbyte", Some(2));
    let sound = fs::read(target.join(NAME)).unwrap();
    let rows = Index::open(&target).unwrap().list_tables().unwrap().len();
    let directory = sound.len() - 32 - 16 * rows;
    type Damage = fn(&mut [u8], usize, usize);
    let damages: [(&str, Damage); 4] = [
        ("two rows change places", |bytes, at, _| (0..16).for_each(|i| bytes.swap(at + i, at + 16 + i))),
        ("a place that is not there", |bytes, at, _| bytes[at + 12..at + 16].fill(0xff)),
        ("a place that is not aligned", |bytes, at, _| bytes[at + 8] += 1),
        ("another number of rows", |bytes, _, footer| bytes[footer] -= 1),
    ];
    for (what, damage) in damages {
        let mut bytes = sound.clone();
        damage(&mut bytes, directory, sound.len() - 32);
        fs::write(target.join(NAME), bytes).unwrap();
        damage::sign(&target, NAME);
        assert!(!verify(&target).unwrap().problems.is_empty(), "{what}");
    }
    fs::write(target.join(NAME), sound).unwrap();
    damage::sign(&target, NAME);
    assert!(verify(&target).unwrap().problems.is_empty());
}

/// Counts of documents that lead behind the end of a list: an answer, or an error that names the table.
#[test]
fn test_a_wrong_count_is_blamed_on_the_table() {
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("index");
    make(&target, &texts(), "vbyte", Some(2));
    let mut bytes = fs::read(target.join(NAME)).unwrap();
    let index = Index::open(&target).unwrap();
    let tables = index.list_tables().unwrap();
    let rows = bytes.len() - 32 - 16 * tables.len();
    for row in 0..tables.len() {
        let at = 4 * u32::from_le_bytes(bytes[rows + 16 * row + 8..][..4].try_into().unwrap()) as usize;
        // the count of each of the 14 lines of 3,000 documents
        (0..14).for_each(|line| bytes[at + 32 * line + 2] = 1);
    }
    drop(index);
    fs::write(target.join(NAME), bytes).unwrap();
    let index = Index::open(&target).unwrap();
    let searcher = crate::query::Searcher::new(&index, None, crate::query::Bm25::default()).unwrap();
    for mode in [crate::query::Mode::And, crate::query::Mode::Or] {
        let plan = searcher.plan(&searcher.parse("w0 w1 w2").unwrap()).unwrap();
        let error = searcher.search(&plan, mode, 10).unwrap_err().to_string();
        assert!(error.contains(NAME) && error.contains("leads to position 6"), "{error}");
    }
}
