//! What no crawl gives: indexes without documents, windows so small that lists move, and planted faults.

use super::*;
use crate::index::tests::{Plan, Text, build};
use crate::index::write::automaton::Automaton;
use crate::index::write::output::Output;
use crate::index::write::writer::write_manifest;
use crate::index::{DocName, verify};

/// Ids and texts of some documents: one word in all of them, some in few.
fn texts(documents: std::ops::Range<usize>) -> Vec<(String, String)> {
    let text = |doc: usize| (0..1 + doc % 9).map(|i| format!("w{:04} ", (doc * i) % 300)).collect::<String>();
    documents.map(|doc| (format!("d{doc}"), format!("every {} {}", text(doc), "often ".repeat(doc % 2)))).collect()
}

fn make(target: &Path, documents: std::ops::Range<usize>) {
    let texts = texts(documents);
    let texts: Vec<Text<'_>> = texts.iter().map(|(id, text)| (id.as_str(), "", "", text.as_str())).collect();
    build(target, &texts, &Plan { window: 1 << 12, ..Plan::default() }).unwrap();
}

fn change<'a>(inputs: &'a [PathBuf], output: &'a Path) -> Merge<'a> {
    let means = Means::new(3, 1 << 30);
    Merge {
        inputs,
        output,
        force: false,
        order: None,
        on_duplicate: OnDuplicate::KeepAll,
        impacts: None,
        tables: None,
        shares: None,
        means,
    }
}

/// Each term with its documents.
type Lists = Vec<(Vec<u8>, Vec<u32>)>;

/// The documents of every term, and the names and lengths of all documents.
fn content(dir: &Path) -> (Lists, Vec<(DocName, u32)>) {
    let index = Index::open(dir).unwrap();
    let mut terms = Vec::new();
    index
        .each_term(|term, id| {
            terms.push((term.to_vec(), id));
            true
        })
        .unwrap();
    let list = |id: u32| {
        let mut docs = Vec::new();
        match index.list(&index.term(id).unwrap(), index.codec(None).unwrap()).unwrap() {
            crate::postings::List::Single { doc, .. } => docs.push(doc),
            crate::postings::List::Blocks(list) => list.decode_all(&mut docs).unwrap(),
        }
        docs
    };
    let terms = terms.into_iter().map(|(term, id)| (term, list(id))).collect();
    let documents = (0..).zip(index.lens()).map(|(doc, &len)| (index.name(doc).unwrap(), len)).collect();
    (terms, documents)
}

#[test]
fn test_indexes_without_documents() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    make(&path("none"), 0..0);
    make(&path("some"), 0..400);
    let none = path("none");
    for (i, inputs) in [vec!["none"], vec!["none", "none"]].into_iter().enumerate() {
        let inputs: Vec<PathBuf> = inputs.iter().map(|name| path(name)).collect();
        let output = path(&format!("empty{i}"));
        assert_eq!(merge(&change(&inputs, &output)).unwrap().statistics.documents, 0);
        assert_eq!(content(&output), content(&none));
        assert!(verify(&output).unwrap().problems.is_empty());
    }
    for (i, inputs) in [["none", "some"], ["some", "none"]].into_iter().enumerate() {
        let output = path(&format!("out{i}"));
        merge(&change(&inputs.map(path), &output)).unwrap();
        assert_eq!(content(&output), content(&path("some")));
        assert!(verify(&output).unwrap().problems.is_empty());
    }
}

/// In small windows lists move; all codecs.
#[test]
fn test_windows() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    make(&path("a"), 0..1000);
    make(&path("b"), 1000..1700);
    make(&path("c"), 1700..3000);
    make(&path("all"), 0..3000);
    merge(&change(&["a", "b", "c"].map(path), &path("out"))).unwrap();
    assert_eq!(content(&path("out")), content(&path("all")));
    let verified = verify(&path("out")).unwrap();
    assert!(verified.problems.is_empty(), "{:?}", verified.problems);
}

/// Documents in wrong places are found: by the merge, or else by `verify`.
#[test]
fn test_a_fault_in_the_shift_is_caught() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    [("a", 0..300), ("b", 300..600), ("c", 600..900)].into_iter().for_each(|(name, docs)| make(&path(name), docs));
    let indexes: Vec<Index> = ["a", "b", "c"].iter().map(|name| Index::open(&path(name)).unwrap()).collect();
    let means = Means::new(2, 1 << 30);
    let output = path("out");
    let caught = |bases: [u32; 3]| {
        let mut inputs = input::inputs(&indexes, &[vec![], vec![], vec![]]).unwrap();
        inputs.iter_mut().zip(bases).for_each(|(input, base)| input.base = base);
        let made = union(&inputs, None, &output, true, [false; 2], None, &means);
        made.is_err() || !verify(&output).unwrap().problems.is_empty()
    };
    assert!(!caught([0, 300, 600]), "these are right");
    for bases in [[0, 299, 600], [0, 300, 599], [0, 600, 300], [0, 0, 0], [1, 300, 600]] {
        assert!(caught(bases), "{bases:?}");
    }
}

/// A dictionary in which two terms have the same termID, with right checksums, is damage and no panic.
#[test]
fn test_two_terms_of_one_termid_are_damage() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    make(&path("a"), 0..300);
    make(&path("b"), 300..600);
    let mut terms = Vec::new();
    let collect = |term: &[u8], id: u32| {
        terms.push((term.to_vec(), id));
        true
    };
    Index::open(&path("b")).unwrap().each_term(collect).unwrap();
    let last = terms.len() - 1;
    terms[last].1 = terms[last - 1].1;
    let mut manifest = Manifest::read(&path("b")).unwrap();
    manifest.files.retain(|file| file.name != "terms.fst");
    std::fs::remove_file(path("b").join("terms.fst")).unwrap();
    let mut dictionary = Automaton::new(Output::create(&path("b"), "terms.fst").unwrap());
    terms.iter().for_each(|(term, id)| dictionary.insert(term, u64::from(*id)).unwrap());
    manifest.files.push(dictionary.finish().unwrap());
    write_manifest(&path("b"), &manifest).unwrap();
    let error = merge(&change(&["b", "a"].map(path), &path("out"))).unwrap_err();
    assert!(error.to_string().contains("two terms have the same termID"), "{error}");
    // The terms have numbers from the first index here, so nothing is missing; only `verify` compares all.
    merge(&change(&["a", "b"].map(path), &path("out"))).unwrap();
    assert!(!verify(&path("b")).unwrap().problems.is_empty());
}

/// What an input has of a term comes back out of 8 bytes; a posting that does not fit stays in `terms.bin`.
#[test]
fn test_entries_keep_what_they_are_given() {
    use rows::Brief;
    use terms::{Entry, Has};
    for (input, tf, fits) in [(0, 1, true), (65_535, 32_767, true), (65_536, 1, false), (3, 32_768, false)] {
        let found = Entry::new(input, 7, Brief { df: 1, number: u32::MAX, tf }).get();
        let has = if fits { Has::Posting { doc: u32::MAX, tf } } else { Has::Term { id: 7 } };
        assert_eq!(found, (input, has), "tf {tf}");
    }
    for input in [0, (1 << 30) - 1] {
        let list = Entry::new(input, 7, Brief { df: 12, number: u32::MAX, tf: 0 });
        assert_eq!(list.get(), (input, Has::List { number: u32::MAX }));
    }
}
