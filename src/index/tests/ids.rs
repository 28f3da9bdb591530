//! `ids.bin`: written, read, checked, made anew by another order, and done without.

use super::*;
use crate::index::change::reencode::{Change, PartChange, reencode};
use crate::index::format::ids::IDS;
use crate::index::write::writer::write_manifest;
use crate::order::Permutation;
use std::fs;

/// 500 documents, of which some have the id of another.
fn make(target: &Path) -> Vec<String> {
    let ids: Vec<String> = (0..500u32).map(|i| format!("doc-{}", if i % 9 == 5 { i / 2 } else { i })).collect();
    let texts: Vec<_> = ids.iter().map(|id| (id.as_str(), "http://a.test/", "", "x y")).collect();
    build(target, &texts, &Plan { codecs: codec::parse_list("vbyte").unwrap(), ..Plan::default() }).unwrap();
    ids
}

/// Every id leads to its documents, and others to none; by a scan, too.
fn check(target: &Path, ids: &[String]) {
    let index = Index::open(target).unwrap();
    for number in 0..600 {
        let id = format!("doc-{number}");
        let expected: Vec<u32> = (0..).zip(ids).filter(|(_, other)| **other == id).map(|(doc, _)| doc).collect();
        assert_eq!(index.find_id(&id).unwrap(), expected, "{id}");
        assert_eq!(index.scan_for_id(&id).unwrap(), expected, "{id}");
    }
    for id in ["", "doc-", "DOC-1"] {
        assert!(index.find_id(id).unwrap().is_empty());
    }
    assert!(verify(target).unwrap().problems.is_empty());
}

#[test]
fn test_ids_are_found_in_every_order() {
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("index");
    let ids = make(&target);
    check(&target, &ids);
    let bytes = fs::metadata(target.join(IDS)).unwrap().len();
    assert!(bytes <= 64 + 12 * 500, "{bytes}");
    let distinct = ids.iter().collect::<std::collections::BTreeSet<_>>().len();
    assert!(distinct < 460, "many ids come again");
    assert_eq!(Index::open(&target).unwrap().statistics().duplicate_ids as usize, 500 - distinct);
    let old = fs::read(target.join(IDS)).unwrap();
    let permutation = Permutation::random(500, 7);
    reordered(&target, &permutation);
    let moved: Vec<String> = permutation.old_of_new().iter().map(|&doc| ids[doc as usize].clone()).collect();
    check(&target, &moved);
    assert!(fs::read(target.join(IDS)).unwrap() != old, "made anew");
    reordered(&target, &Permutation::new(permutation.old_of_new()));
    assert!(fs::read(target.join(IDS)).unwrap() == old, "back");
}

#[test]
fn test_an_index_without_the_file_is_scanned() {
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("index");
    let ids = make(&target);
    let mut manifest = Manifest::read(&target).unwrap();
    manifest.files.retain(|file| file.name != IDS);
    fs::remove_file(target.join(IDS)).unwrap();
    write_manifest(&target, &manifest).unwrap();
    assert!(!Index::open(&target).unwrap().has_ids());
    check(&target, &ids);
    let same: Vec<u32> = (0..500).collect();
    reordered(&target, &Permutation::new(same));
    assert!(Index::open(&target).unwrap().has_ids(), "another order writes all documents anew");
    check(&target, &ids);
}

#[test]
fn test_other_codecs_keep_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("index");
    let ids = make(&target);
    let old = fs::read(target.join(IDS)).unwrap();
    let change = Change {
        add: codec::parse_list("raw").unwrap(),
        remove: Vec::new(),
        impacts: PartChange::Keep,
        tables: PartChange::Keep,
        from: None,
        output: None,
        gpu: None,
        means: Means::new(2, 1 << 30),
    };
    reencode(&target, &change).unwrap();
    assert!(fs::read(target.join(IDS)).unwrap() == old);
    check(&target, &ids);
}
