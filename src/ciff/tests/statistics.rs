//! Numbers of the header, weights, and lengths.

use super::*;
use crate::index::change::merge::{Merge, OnDuplicate, merge};
use crate::query::Scores;
use crate::score::idf;

fn score(index: &Index, query: &str) -> Vec<(String, f32)> {
    let searcher = Searcher::new(index, None, Bm25::default()).unwrap();
    let scores = if index.manifest().weights() { Scores::Impacts } else { Scores::Bm25 };
    let searcher = searcher.with_scores(scores).unwrap();
    let plan = searcher.plan(&searcher.parse(query).unwrap()).unwrap();
    let hits = searcher.search(&plan, Mode::Or, 10).unwrap();
    hits.iter().map(|hit| (index.name(hit.doc).unwrap().id, hit.score)).collect()
}

/// A part of a collection is scored by the statistics of the whole.
#[test]
fn test_a_partial_export_is_scored_by_its_collection() {
    let dir = tempfile::tempdir().unwrap();
    let mut file = File::small();
    file.header.total_docs = 1000;
    file.header.total_postings_lists = 77;
    file.header.total_terms_in_collection = 123_456;
    file.header.average_doclength = 123.25;
    let (path, output) = (put(dir.path(), "file.ciff", &file.bytes()), dir.path().join("index"));
    let done = import(&options(&path, &output)).unwrap();
    assert!(!done.complete && done.remarks[0].contains("3 of 1000 documents and 4 of 77 terms"), "{:?}", done.remarks);
    assert_eq!(verify(&output).unwrap().problem_count, 0);
    let index = Index::open(&output).unwrap();
    let collection = index.collection();
    assert_eq!((collection.documents, collection.terms, collection.tokens), (1000, 77, 123_456));
    // bee: 3 times in a document of 304 tokens
    let bm25 = |tf: f64, len: f64| tf / (tf + 0.9 * (0.6 + 0.4 * len / 123.25)) * idf(1000, 2u32);
    for (id, found) in score(&index, "bee") {
        let expected = if id == "D0" { bm25(2.0, 4.0) } else { bm25(3.0, 304.0) };
        assert!((f64::from(found) - expected).abs() < 1e-4, "{id}: {found} {expected}");
    }
    assert_eq!(File::read(&exported(&index, Packing::None, false)), file, "all of it goes on");
    // The order keeps them, and tables and impacts go by them.
    let random = ImportOptions {
        order: "random:3".parse().unwrap(),
        tables: true,
        impacts: true,
        ..options(&path, &dir.path().join("random"))
    };
    import(&random).unwrap();
    assert_eq!(verify(&random.output).unwrap().problem_count, 0);
    let random = Index::open(&random.output).unwrap();
    assert_eq!((random.collection(), score(&random, "bee cow")), (collection, score(&index, "bee cow")));
}

/// A part without documents of a collection that says only how many tokens it has can be opened; unions whose numbers
/// no index can hold are refused, and nothing takes the place of what was there.
#[test]
fn test_numbers_that_no_index_can_hold() {
    let dir = tempfile::tempdir().unwrap();
    let mut empty = File::new(&[], &[]);
    empty.header.total_terms_in_collection = 5;
    let index = imported(dir.path(), "empty", &empty.bytes());
    assert_eq!((index.collection().tokens, index.collection().mean_length), (5, 0.0));

    let good = imported(dir.path(), "good", &File::small().bytes()).manifest().checksum.clone();
    let (mut many, mut long) = (File::small(), File::small());
    many.header.total_terms_in_collection = i64::MAX;
    long.header.average_doclength = f64::MAX;
    for (name, file, said) in [("many", many, "so many tokens"), ("long", long, "a mean length that")] {
        imported(dir.path(), name, &file.bytes());
        let inputs = [name, name].map(|name| dir.path().join(name));
        let output = dir.path().join("good");
        let change = Merge {
            inputs: &inputs,
            output: &output,
            force: true,
            order: None,
            on_duplicate: OnDuplicate::KeepAll,
            impacts: None,
            tables: None,
            shares: None,
            means: Means::new(2, 1 << 30),
        };
        let error = merge(&change).unwrap_err().to_string();
        assert!(error.contains(said) && error.contains(name), "{error}");
        assert_eq!(Index::open(&output).unwrap().manifest().checksum, good);
    }
}

/// Numbers that the header leaves out are the file's, and contradictions are refused.
#[test]
fn test_missing_and_wrong_statistics() {
    let dir = tempfile::tempdir().unwrap();
    let mut file = File::small();
    let whole = imported(dir.path(), "whole", &file.bytes());
    file.header = PHeader { version: 1, num_postings_lists: 4, num_docs: 3, ..PHeader::default() };
    let bare = imported(dir.path(), "bare", &file.bytes());
    assert_eq!(bare.collection(), whole.collection());
    assert_eq!(differences(&whole, &bare, &CARRIED), [""; 0]);
    for (docs, lists, said) in [(2, 4, "total_docs = 2"), (3, 3, "total_postings_lists = 3")] {
        let header = PHeader { total_docs: docs, total_postings_lists: lists, ..File::small().header };
        let path = put(dir.path(), "wrong.ciff", &File { header, ..File::small() }.bytes());
        let error = import(&options(&path, &dir.path().join("none"))).unwrap_err().to_string();
        assert!(error.contains(said) && !dir.path().join("none").exists(), "{error}");
    }
}

#[test]
fn test_lengths_that_lucene_rounded_are_told() {
    let dir = tempfile::tempdir().unwrap();
    let mut file = File::small();
    (file.records[0].doclength, file.records[2].doclength) = (42, 280);
    let path = put(dir.path(), "file.ciff", &file.bytes());
    let done = import(&options(&path, &dir.path().join("index"))).unwrap();
    assert!(
        done.rounded_lengths && done.remarks[0].contains("327") && done.remarks[0].contains("313"),
        "{:?}",
        done.remarks
    );
    file.records[0].doclength = 43;
    let path = put(dir.path(), "file.ciff", &file.bytes());
    let done = import(&options(&path, &dir.path().join("exact"))).unwrap();
    assert!(!done.rounded_lengths && done.remarks.len() == 1, "{:?}", done.remarks);
    assert_eq!(verify(&dir.path().join("exact")).unwrap().problem_count, 0, "lengths are what the file says");
    file.lists[1].cf = 77;
    let path = put(dir.path(), "file.ciff", &file.bytes());
    let done = import(&options(&path, &dir.path().join("cf"))).unwrap();
    assert!(done.lists_of_other_cf == 1 && done.remarks[1].contains("1 of 4 lists"), "{:?}", done.remarks);
}

/// The score of a document is the sum of its weights, whatever the documents are long.
#[test]
fn test_weights_add_up() {
    let dir = tempfile::tempdir().unwrap();
    let mut file = File::small();
    file.lists[3].postings[0].tf = 255;
    let (path, output) = (put(dir.path(), "file.ciff", &file.bytes()), dir.path().join("index"));
    for order in ["input", "random:2"] {
        let order = order.parse().unwrap();
        import(&ImportOptions { weights: true, force: true, order, ..options(&path, &output) }).unwrap();
        assert_eq!(verify(&output).unwrap().problem_count, 0);
        let index = Index::open(&output).unwrap();
        assert_eq!(index.impacts().unwrap().quantizer().step(), 1.0);
        let wanted = |ids: &[(&str, f32)]| ids.iter().map(|&(id, score)| (id.to_owned(), score)).collect::<Vec<_>>();
        assert_eq!(score(&index, "bee cow"), wanted(&[("D1", 5.0), ("D2", 4.0), ("D0", 3.0)]));
        assert_eq!(score(&index, "dog ant"), wanted(&[("D2", 255.0), ("D0", 1.0)]));
    }
    file.lists[3].postings[0].tf = 256;
    let path = put(dir.path(), "file.ciff", &file.bytes());
    let error = import(&ImportOptions { weights: true, ..options(&path, &dir.path().join("none")) }).unwrap_err();
    assert!(error.to_string().contains("(\"dog\"): tf of document 2 is 256, over 255"), "{error}");
}

/// Lists that end early and in the middle of a block: sums as one adds them up by hand.
#[test]
fn test_sums_of_weights_of_many_documents() {
    let dir = tempfile::tempdir().unwrap();
    let lists: [(&str, Vec<(i32, i32)>); 3] = [
        ("early", (0..3000).step_by(9).filter(|doc| *doc < 1500).map(|doc| (doc, 1 + doc % 250)).collect()),
        ("all", (0..3000).map(|doc| (doc, 1 + doc * 7 % 90)).collect()),
        ("late", (0..3000).step_by(4).filter(|doc| *doc > 700).map(|doc| (doc, 1 + doc * 31 % 200)).collect()),
    ];
    let ids: Vec<String> = (0..3000).map(|doc| format!("{doc}")).collect();
    let records: Vec<(i32, &str, i32)> = (0..3000).map(|doc| (doc, &ids[doc as usize][..], 9)).collect();
    let borrowed: Vec<(&str, &[(i32, i32)])> = lists.iter().map(|(term, list)| (*term, &list[..])).collect();
    let path = put(dir.path(), "file.ciff", &File::new(&borrowed, &records).bytes());
    let codecs = codec::parse_list("simdbp").unwrap();
    let input = ImportOptions { weights: true, codecs, ..options(&path, &dir.path().join("index")) };
    import(&input).unwrap();
    let index = Index::open(&input.output).unwrap();
    for query in ["early all", "early late", "all late early", "early"] {
        let mut sums = vec![0i32; 3000];
        for (_, list) in lists.iter().filter(|(term, _)| query.split(' ').any(|word| word == *term)) {
            list.iter().for_each(|&(doc, weight)| sums[doc as usize] += weight);
        }
        let mut best: Vec<usize> = (0..3000).filter(|&doc| sums[doc] > 0).collect();
        best.sort_by_key(|&doc| (-sums[doc], doc));
        let expected: Vec<(String, f32)> =
            best.iter().take(10).map(|&doc| (doc.to_string(), sums[doc] as f32)).collect();
        assert_eq!(score(&index, query), expected, "{query}");
    }
}

/// Nobody knows the analyzer, so words of queries are terms.
#[test]
fn test_queries_of_an_unknown_analyzer_are_ready_terms() {
    let dir = tempfile::tempdir().unwrap();
    let file = File::new(&[("Don't-Stem", &[(0, 1)]), ("stem", &[(0, 2), (1, 1)])], &[(0, "A", 3), (1, "B", 1)]);
    let index = imported(dir.path(), "index", &file.bytes());
    assert_eq!(index.manifest().analyzer, AnalyzerSpec::unknown());
    assert_eq!(score(&index, "Don't-Stem").len(), 1);
    assert!(score(&index, "don't-stem STEM stems").is_empty());
    let error = AnalyzerSpec::parse("unknown", None).unwrap_err().to_string();
    assert!(error.contains("name the analyzer"), "an index of texts has one: {error}");
}
