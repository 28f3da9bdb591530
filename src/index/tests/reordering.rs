//! A reordered index is the one that a build of the reordered documents gives.

use super::reencoding::{files, texts};
use super::*;
use crate::Error;
use crate::index::ListBatch;
use crate::index::change::moved::{GONE, PostingSorter, each_name};
use crate::index::change::orders::{self, permutation};
use crate::index::change::reorder::{Reorder, reorder};
use crate::index::format::manifest::MANIFEST;
use crate::index::write::unfinished::hold;
use crate::order::{FAMILIES, Needs, Permutation};
use std::fs;

/// Documents with URLs for two thirds of them, in docID order.
fn documents() -> Vec<(String, String, String)> {
    let with_url =
        |doc: usize| if doc.is_multiple_of(3) { String::new() } else { format!("http://h{}.org/{doc}", doc % 7) };
    texts().into_iter().enumerate().map(|(doc, (id, text))| (id, with_url(doc), text)).collect()
}

fn make(target: &Path, documents: &[(String, String, String)]) {
    let texts: Vec<Text<'_>> =
        documents.iter().map(|(id, url, text)| (id.as_str(), url.as_str(), "a title", text.as_str())).collect();
    build(target, &texts, &Plan { window: 1 << 12, ..Plan::default() }).unwrap();
}

pub(super) fn change<'a>(permutation: &'a Permutation, means: &Means) -> Reorder<'a> {
    let means = means.clone();
    Reorder { permutation, order: "test".to_owned(), output: None, force: false, impacts: false, tables: false, means }
}

/// The permutation that an order means, with memory enough.
pub(super) fn permutation_of(index: &Path, order: &str) -> crate::Result<Permutation> {
    permutation(index, &order.parse()?, &Means::new(2, 1 << 30))
}

/// The same sorter serves the lists of several indexes, and those need not have as many documents.
#[test]
fn test_postings_under_new_docids_are_those_sorted() {
    let mut sorter = PostingSorter::default();
    for (documents, shift) in [(321usize, 0u32), (380, 7), (300, 1), (1000, 0), (383, 2), (9, 0)] {
        // every docID but a few, in another order
        let new_of_old: Vec<u32> =
            (0..documents as u32).map(|doc| if doc % 17 == 3 { GONE } else { documents as u32 - 1 - doc }).collect();
        for step in [1, 2, 40] {
            let docs: Vec<u32> = (0..documents as u32).step_by(step).collect();
            let tfs: Vec<u32> = docs.iter().map(|doc| doc % 5 + 1).collect();
            let moved = docs.iter().zip(&tfs).map(|(&doc, &tf)| (new_of_old[doc as usize], tf));
            let mut expected: Vec<(u32, u32)> =
                moved.filter(|&(doc, _)| doc != GONE).map(|(doc, tf)| (doc + shift, tf)).collect();
            expected.sort_unstable();
            let mut out = ListBatch::default();
            sorter.sort((&docs, &tfs), &new_of_old, documents, shift, &mut out);
            assert!(out.docs.into_iter().zip(out.tfs).eq(expected), "{documents} documents, each {step}th");
        }
    }
}

#[test]
fn test_the_bytes_of_a_build_in_that_order() {
    let dir = tempfile::tempdir().unwrap();
    let (index, expected) = (dir.path().join("index"), dir.path().join("expected"));
    let go = Means::new(3, 1 << 30);
    make(&index, &documents());
    let before = files(&index);
    for order in ["random:3", "url", "bp"] {
        let permutation = permutation_of(&index, order).unwrap();
        let current = documents_of(&index);
        let moved: Vec<_> = permutation.old_of_new().iter().map(|&old| current[old as usize].clone()).collect();
        let _ = fs::remove_dir_all(&expected);
        make(&expected, &moved);
        let done = reorder(&index, &change(&permutation, &go)).unwrap();
        assert_eq!(done.codecs.len(), codec::names().len());
        for (name, bytes) in files(&expected) {
            assert!(files(&index)[&name] == bytes, "{name} differs from that of a build in order {order}");
        }
        assert_eq!(Manifest::read(&index).unwrap().order, "test");
        assert!(verify(&index).unwrap().problems.is_empty());
    }
    // And back to where it began: the ids tell the way.
    let number = |id: &str| id[1..].parse::<u32>().unwrap();
    let first: Vec<u32> = documents_of(&index).iter().map(|document| number(&document.0)).collect();
    let back = Permutation::from_old_of_new(Permutation::from_old_of_new(&first).new_of_old());
    reorder(&index, &Reorder { order: "input".to_owned(), ..change(&back, &go) }).unwrap();
    assert!(files(&index) == before);
    // Another order that comes out the same is one that can be left again.
    reorder(&index, &change(&Permutation::identity(3000), &go)).unwrap();
    assert_eq!(Index::open(&index).unwrap().input_places(), Some(&*Permutation::identity(3000).old_of_new()));
    let back = permutation_of(&index, "input").unwrap();
    reorder(&index, &Reorder { order: "input".to_owned(), ..change(&back, &go) }).unwrap();
    assert!(files(&index) == before);
}

/// Whoever ends it while the URLs are read does not wait for them.
#[test]
fn test_reading_urls_can_be_ended() {
    let dir = tempfile::tempdir().unwrap();
    make(dir.path(), &documents());
    for order in ["url", "bp"] {
        let means = Means::new(2, 1 << 30);
        means.cancel.store(true, std::sync::atomic::Ordering::Relaxed);
        let found = permutation(dir.path(), &order.parse().unwrap(), &means);
        assert!(matches!(found, Err(Error::Interrupted)), "{order}: {found:?}");
    }
}

/// With little memory names are moved in several parts.
#[test]
fn test_names_move_in_parts() {
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("index");
    let ids: Vec<String> = (0..3000).map(|doc| format!("{doc} {}", "long ".repeat(200 + doc % 7))).collect();
    let texts: Vec<Text<'_>> = ids.iter().map(|id| (id.as_str(), "", "", "text")).collect();
    build(&target, &texts, &Plan::default()).unwrap();
    let index = Index::open(&target).unwrap();
    let permutation = Permutation::random(3000, 5);
    let old_of_new = permutation.old_of_new();
    for memory in [1, 8 << 20, 1 << 30] {
        let mut met = Vec::new();
        each_name(&index, permutation.new_of_old(), &old_of_new, &Means::new(2, memory), |name, old| {
            assert_eq!(name.id, ids[old as usize]);
            met.push(old);
            Ok(())
        })
        .unwrap();
        assert_eq!(met, old_of_new, "{memory} bytes");
    }
}

/// Of documents without a URL the id may be one. The names are in more frames than are read at a time.
#[test]
fn test_ids_that_are_urls_stand_in_for_them() {
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("index");
    let place = Permutation::random(20_000, 8);
    let (mut ids, mut urls) = (vec![String::new(); 20_000], vec![String::new(); 20_000]);
    for (number, &doc) in place.new_of_old().iter().enumerate() {
        let url = format!("http://example.org/{number:05}");
        // every third as an id, every third with an id of its own, every third twice
        match number % 3 {
            0 => ids[doc as usize] = url,
            1 => (ids[doc as usize], urls[doc as usize]) = (format!("http://a.org/{doc}"), url),
            _ => (ids[doc as usize], urls[doc as usize]) = (url.clone(), url),
        }
    }
    let texts: Vec<Text<'_>> = ids.iter().zip(&urls).map(|(id, url)| (id.as_str(), url.as_str(), "", "text")).collect();
    build(&target, &texts, &Plan::default()).unwrap();
    assert!(Index::open(&target).unwrap().names.frames() > 16);
    assert_eq!(permutation_of(&target, "url").unwrap().old_of_new(), place.new_of_old());
}

/// All but those that need links, or a parameter that the test cannot know.
#[test]
fn test_every_order_is_the_same_on_any_number_of_threads() {
    let dir = tempfile::tempdir().unwrap();
    make(dir.path().join("index").as_path(), &documents());
    for family in FAMILIES.iter().filter(|family| family.needs != Needs::Links) {
        let Ok(order) = family.name.parse() else { continue };
        let by = |threads| permutation(&dir.path().join("index"), &order, &Means::new(threads, 1 << 30)).unwrap();
        assert_eq!(by(1).documents(), 3000, "{}", family.name);
        assert!(by(1) == by(3), "{}", family.name);
    }
}

/// The documents of an index in docID order, with the texts they came from.
fn documents_of(index: &Path) -> Vec<(String, String, String)> {
    let all: BTreeMap<String, (String, String, String)> =
        documents().into_iter().map(|document| (document.0.clone(), document)).collect();
    let index = Index::open(index).unwrap();
    (0..index.statistics().documents as u32).map(|doc| all[&index.name(doc).unwrap().id].clone()).collect()
}

#[test]
fn test_what_cannot_be_done_leaves_the_index_as_it_was() {
    let dir = tempfile::tempdir().unwrap();
    let index = dir.path().join("index");
    let (go, stop) = (Means::new(3, 1 << 30), stopped());
    make(&index, &documents());
    let before = (files(&index), fs::read(index.join(MANIFEST)).unwrap());
    let fails = |change: &Reorder<'_>| reorder(&index, change).unwrap_err();
    let right = Permutation::random(3000, 1);
    assert!(matches!(fails(&change(&Permutation::random(2999, 1), &go)), Error::Invalid { .. }));
    assert!(matches!(fails(&change(&right, &stop)), Error::Interrupted));
    assert!(matches!(fails(&Reorder { output: Some(&index), ..change(&right, &go) }), Error::Exists { .. }));
    let path = dir.path().join("order.txt");
    Permutation::random(2999, 1).write(&path).unwrap();
    let error = permutation_of(&index, &format!("file:{}", path.display())).unwrap_err().to_string();
    assert!(error.contains("2999 lines for 3000 documents"), "{error}");
    assert!(before == (files(&index), fs::read(index.join(MANIFEST)).unwrap()));
    // Foreign files would go with the old directory, and with the folder of a codec.
    for name in ["notes.txt", "raw/notes.txt"] {
        fs::write(index.join(name), "mine").unwrap();
        let error = fails(&change(&right, &go)).to_string();
        assert!(error.contains(name) && error.contains("not part of the index"), "{error}");
        fs::remove_file(index.join(name)).unwrap();
    }
    let error = fails(&change(&right, &Means::new(3, 16 << 20)));
    assert!(matches!(error, Error::Memory { given: 0x100_0000, .. }), "{error}");
    // The order needs URLs, which all documents lack; but whoever waits for another process must not ask for it.
    let without_urls: Vec<_> = documents().into_iter().map(|(id, _, text)| (id, String::new(), text)).collect();
    let plain = dir.path().join("plain");
    make(&plain, &without_urls);
    let extras = Extras { impacts: false, tables: false, means: &go };
    let in_place = || {
        let place = orders::Place { output: None, force: false, text: None };
        let done = orders::put_in_order(&plain, &"url".parse().unwrap(), place, extras);
        done.map(drop).unwrap_err().to_string()
    };
    assert!(in_place().contains("URL"), "{}", in_place());
    let held = hold(&plain).unwrap();
    assert!(in_place().contains("another process changes this index"), "{}", in_place());
    drop(held);
    // A directory is no permutation, and a damaged file must not get a right checksum.
    let error = permutation_of(&index, &format!("file:{}", index.display())).unwrap_err().to_string();
    assert!(error.contains("is no file"), "{error}");
    let tf = fs::read(index.join("tf.bin")).unwrap();
    let mut changed = tf.clone();
    *changed.last_mut().unwrap() ^= 1;
    fs::write(index.join("tf.bin"), changed).unwrap();
    assert!(matches!(fails(&change(&right, &go)), Error::Damaged { .. }));
    fs::write(index.join("tf.bin"), tf).unwrap();
    let other = dir.path().join("other");
    reorder(&index, &Reorder { output: Some(&other), ..change(&right, &go) }).unwrap();
    assert!(before.0 == files(&index));
    // and it knows the way back
    let back = permutation_of(&other, "input").unwrap();
    reorder(&other, &Reorder { order: "input".to_owned(), ..change(&back, &go) }).unwrap();
    assert!(before == (files(&other), fs::read(other.join(MANIFEST)).unwrap()));
}

/// An index that was reordered twice knows its input's order; one by an early gamut does not, and one that is damaged
/// says so.
#[test]
fn test_places_in_the_input() {
    let dir = tempfile::tempdir().unwrap();
    let index = dir.path().join("index");
    make(&index, &documents());
    assert_eq!(Index::open(&index).unwrap().input_places(), None);
    for seed in [1, 2] {
        reordered(&index, &Permutation::random(3000, seed));
        let names = documents_of(&index);
        let opened = Index::open(&index).unwrap();
        for (&place, (id, ..)) in opened.input_places().unwrap().iter().zip(&names) {
            assert_eq!(*id, documents()[place as usize].0);
        }
        assert!(verify(&index).unwrap().problems.is_empty());
    }
    let damaged = |places: &[u32]| {
        let bytes = fs::read(index.join("input.bin")).unwrap();
        let mut changed = bytes.clone();
        changed[64..64 + 4 * places.len()].copy_from_slice(bytemuck::cast_slice(places));
        fs::write(index.join("input.bin"), changed).unwrap();
        let told = verify(&index).unwrap().problems.iter().any(|problem| problem.to_string().contains("has the place"));
        let refused = permutation_of(&index, "input").is_err();
        fs::write(index.join("input.bin"), bytes).unwrap();
        (told, refused)
    };
    assert_eq!([damaged(&[7, 7]), damaged(&[3000])], [(true, true); 2]);
}
