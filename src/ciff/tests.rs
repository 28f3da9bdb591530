//! Both directions against prost and against indexes of texts, and files that break the format.

mod extremes;
mod hostile;
mod statistics;

use super::import::ImportOptions;
use super::{ExportOptions, Packing, export, import};
use crate::base::means::Means;
use crate::codec;
use crate::index::compare::{Comparison, Part, compare};
use crate::index::tests::{Plan, build};
use crate::index::{Index, verify};
use crate::query::{Bm25, Mode, Searcher};
use crate::text::AnalyzerSpec;
use proptest::prelude::*;
use prost::Message;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The messages, as prost has them.
#[derive(Clone, PartialEq, Message)]
struct PHeader {
    #[prost(int32, tag = "1")]
    version: i32,
    #[prost(int32, tag = "2")]
    num_postings_lists: i32,
    #[prost(int32, tag = "3")]
    num_docs: i32,
    #[prost(int32, tag = "4")]
    total_postings_lists: i32,
    #[prost(int32, tag = "5")]
    total_docs: i32,
    #[prost(int64, tag = "6")]
    total_terms_in_collection: i64,
    #[prost(double, tag = "7")]
    average_doclength: f64,
    #[prost(string, tag = "8")]
    description: String,
}

#[derive(Clone, PartialEq, Message)]
struct PPosting {
    #[prost(int32, tag = "1")]
    docid: i32,
    #[prost(int32, tag = "2")]
    tf: i32,
}

#[derive(Clone, PartialEq, Message)]
struct PList {
    #[prost(string, tag = "1")]
    term: String,
    #[prost(int64, tag = "2")]
    df: i64,
    #[prost(int64, tag = "3")]
    cf: i64,
    #[prost(message, repeated, tag = "4")]
    postings: Vec<PPosting>,
}

#[derive(Clone, PartialEq, Message)]
struct PRecord {
    #[prost(int32, tag = "1")]
    docid: i32,
    #[prost(string, tag = "2")]
    collection_docid: String,
    #[prost(int32, tag = "3")]
    doclength: i32,
}

/// A whole file.
#[derive(Clone, Debug, PartialEq)]
struct File {
    header: PHeader,
    lists: Vec<PList>,
    records: Vec<PRecord>,
}

impl File {
    /// Lists of `(docid, tf)` by term, and documents.
    fn new(lists: &[(&str, &[(i32, i32)])], records: &[(i32, &str, i32)]) -> Self {
        let list = |(term, postings): &(&str, &[(i32, i32)])| {
            let mut before = 0;
            let gaps = postings.iter().map(|&(docid, tf)| {
                let gap = docid - std::mem::replace(&mut before, docid);
                PPosting { docid: gap, tf }
            });
            let cf = postings.iter().map(|&(_, tf)| i64::from(tf)).sum();
            PList { term: (*term).to_owned(), df: postings.len() as i64, cf, postings: gaps.collect() }
        };
        let record =
            |&(docid, id, doclength): &(i32, &str, i32)| PRecord { docid, collection_docid: id.to_owned(), doclength };
        let total: i64 = records.iter().map(|&(_, _, len)| i64::from(len)).sum();
        let header = PHeader {
            version: 1,
            num_postings_lists: lists.len() as i32,
            num_docs: records.len() as i32,
            total_postings_lists: lists.len() as i32,
            total_docs: records.len() as i32,
            total_terms_in_collection: total,
            average_doclength: total as f64 / records.len().max(1) as f64,
            description: "a test".to_owned(),
        };
        Self { header, lists: lists.iter().map(list).collect(), records: records.iter().map(record).collect() }
    }

    /// Three documents and four terms.
    fn small() -> Self {
        Self::new(
            &[("ant", &[(0, 1)]), ("bee", &[(0, 2), (2, 3)]), ("cow", &[(0, 1), (1, 5), (2, 1)]), ("dog", &[(2, 300)])],
            &[(0, "D0", 4), (1, "D1", 5), (2, "D2", 304)],
        )
    }

    fn bytes(&self) -> Vec<u8> {
        let mut out = self.header.encode_length_delimited_to_vec();
        self.lists.iter().for_each(|list| list.encode_length_delimited(&mut out).unwrap());
        self.records.iter().for_each(|record| record.encode_length_delimited(&mut out).unwrap());
        out
    }

    /// What prost makes of bytes.
    fn read(mut bytes: &[u8]) -> Self {
        let header = PHeader::decode_length_delimited(&mut bytes).unwrap();
        let mut lists = Vec::new();
        for _ in 0..header.num_postings_lists {
            lists.push(PList::decode_length_delimited(&mut bytes).unwrap());
        }
        let mut records = Vec::new();
        for _ in 0..header.num_docs {
            records.push(PRecord::decode_length_delimited(&mut bytes).unwrap());
        }
        assert!(bytes.is_empty());
        Self { header, lists, records }
    }
}

fn put(dir: &Path, name: &str, bytes: &[u8]) -> PathBuf {
    let path = dir.join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

fn options(file: &Path, output: &Path) -> ImportOptions {
    ImportOptions { means: Means::new(2, 1 << 30), ..ImportOptions::new(file.to_owned(), output.to_owned()) }
}

fn imported(dir: &Path, name: &str, bytes: &[u8]) -> Index {
    let (file, output) = (put(dir, &format!("{name}.ciff"), bytes), dir.join(name));
    import(&options(&file, &output)).unwrap();
    Index::open(&output).unwrap()
}

fn exported(index: &Index, packing: Packing, impacts: bool) -> Vec<u8> {
    let mut out = Vec::new();
    let options = ExportOptions { impacts, codec: None, packing, means: Means::new(2, 1 << 30) };
    export(index, &options, Path::new("test.ciff"), &mut out).unwrap();
    out
}

fn differences(first: &Index, second: &Index, parts: &[Part]) -> Vec<String> {
    let comparison = Comparison { parts: parts.to_vec(), keep: 3, means: Means::new(2, 1 << 30) };
    let found = compare(first, second, &comparison).unwrap();
    found.into_iter().flat_map(|part| part.shown).map(|one| format!("{one:?}")).collect()
}

/// What a CIFF file carries.
const CARRIED: [Part; 5] = [Part::Statistics, Part::Ids, Part::Lengths, Part::Terms, Part::Lists];

/// The answers to single terms and pairs of them: ids and scores to the bit.
fn answers(index: &Index, queries: &[String], with_ties: bool) -> Vec<Vec<(String, u32)>> {
    let searcher = Searcher::new(index, None, Bm25::default()).unwrap();
    let answer = |query: &String| {
        let plan = searcher.plan(&searcher.parse(query).unwrap()).unwrap();
        let hits = searcher.search(&plan, Mode::Or, 1000).unwrap();
        let mut hits: Vec<_> = hits.iter().map(|hit| (index.name(hit.doc).unwrap().id, hit.score.to_bits())).collect();
        if !with_ties {
            hits.sort();
        }
        hits
    };
    queries.iter().map(answer).collect()
}

fn texts() -> impl Strategy<Value = Vec<String>> {
    let word = prop_oneof![4 => "[a-e]", 2 => "[a-z]{2}", 1 => "[f-zé]{1,9}"];
    proptest::collection::vec(proptest::collection::vec(word, 0..30).prop_map(|words| words.join(" ")), 1..60)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    /// An index, its file, and the index of that in any codecs and order.
    #[test]
    fn test_an_import_of_an_export_is_the_same(
        texts in texts(),
        codecs in prop_oneof![Just("para-ef"), Just("vbyte,simdbp"), Just("pef,raw,best"), Just("lrc,newpfd")],
        order in prop_oneof![Just("input"), Just("random:7"), Just("bp")],
        packing in prop_oneof![Just(Packing::None), Just(Packing::Gzip), Just(Packing::Zstd)],
    ) {
        let dir = tempfile::tempdir().unwrap();
        let ids: Vec<String> = (0..texts.len()).map(|doc| format!("D{}", doc * 7 % 11)).collect();
        let texts: Vec<_> = ids.iter().zip(&texts).map(|(id, text)| (&id[..], "", "", &text[..])).collect();
        let first = dir.path().join("first");
        build(&first, &texts, &Plan { codecs: codec::parse_list("para-ef,vbyte").unwrap(), ..Plan::default() }).unwrap();
        let first = Index::open(&first).unwrap();
        let bytes = exported(&first, packing, false);
        let file = put(dir.path(), "file", &bytes);

        let again = dir.path().join("again");
        let codecs = codec::parse_list(codecs).unwrap();
        let analyzer = AnalyzerSpec::named("whitespace");
        let input = ImportOptions { codecs, analyzer, ..options(&file, &again) };
        import(&input).unwrap();
        let index = Index::open(&again).unwrap();
        prop_assert_eq!(differences(&first, &index, &[&CARRIED[..], &[Part::Analyzer, Part::Places]].concat()), [""; 0]);
        let report = verify(&again).unwrap();
        prop_assert!(report.problem_count == 0, "{:?}", report.problems);
        prop_assert!(exported(&index, packing, false) != bytes || index.manifest().imported.is_some());

        // In another order the run files are the same.
        let ordered = dir.path().join("ordered");
        import(&ImportOptions { order: order.parse().unwrap(), output: ordered.clone(), impacts: true, ..input }).unwrap();
        prop_assert_eq!(verify(&ordered).unwrap().problem_count, 0);
        let ordered = Index::open(&ordered).unwrap();
        let queries: Vec<String> = ["a", "b c", "a d e", "f", "nothing"].map(str::to_owned).into();
        let expected = answers(&first, &queries, true);
        prop_assert_eq!(&answers(&index, &queries, true), &expected);
        prop_assert_eq!(&answers(&ordered, &queries, true), &expected);

        // The file of an index in another order has that order; places in the input are gone, so ties may be others.
        let moved = put(dir.path(), "moved", &exported(&ordered, packing, false));
        let back = dir.path().join("back");
        import(&ImportOptions { analyzer: AnalyzerSpec::named("whitespace"), ..options(&moved, &back) }).unwrap();
        let back = Index::open(&back).unwrap();
        prop_assert_eq!(differences(&ordered, &back, &CARRIED), [""; 0]);
        prop_assert_eq!(answers(&back, &queries, false), answers(&first, &queries, false));
    }

    /// What is written is what prost writes of the same lists.
    #[test]
    fn test_an_export_is_what_prost_writes(texts in texts()) {
        let dir = tempfile::tempdir().unwrap();
        let texts: Vec<_> = texts.iter().map(|text| ("x", "", "", &text[..])).collect();
        let path = dir.path().join("index");
        build(&path, &texts, &Plan::default()).unwrap();
        let index = Index::open(&path).unwrap();
        let mut lists: BTreeMap<&str, BTreeMap<i32, i32>> = BTreeMap::new();
        for (doc, text) in (0..).zip(&texts) {
            text.3.split_whitespace().for_each(|word| *lists.entry(word).or_default().entry(doc).or_default() += 1);
        }
        let lists: Vec<(&str, Vec<(i32, i32)>)> =
            lists.into_iter().map(|(term, list)| (term, list.into_iter().collect())).collect();
        let lists: Vec<(&str, &[(i32, i32)])> = lists.iter().map(|(term, list)| (*term, &list[..])).collect();
        let records: Vec<_> =
            (0..).zip(&texts).map(|(doc, text)| (doc, "x", text.3.split_whitespace().count() as i32)).collect();
        let mut expected = File::new(&lists, &records);
        expected.header.description = format!("gamut {}, analyzer whitespace", env!("CARGO_PKG_VERSION"));
        let found = exported(&index, Packing::None, false);
        prop_assert_eq!(File::read(&found), expected.clone());
        prop_assert!(found == expected.bytes(), "the same bytes");
    }

    /// A file comes in however its fields, terms and documents are ordered.
    #[test]
    fn test_terms_and_documents_in_any_order(seed in any::<u64>(), holes in 0..3i32) {
        let dir = tempfile::tempdir().unwrap();
        let ids: Vec<String> = (0..40).map(|doc| format!("D{doc}")).collect();
        let docid = |doc: i32| doc * (1 + holes) + holes;
        let lists: Vec<(String, Vec<(i32, i32)>)> = (1..60)
            .map(|n| (format!("t{n}"), (0..40).filter(|doc| (doc * 7 + n) % (1 + n % 9) == 0).map(|doc| (docid(doc), n)).collect()))
            .filter(|(_, list): &(_, Vec<_>)| !list.is_empty())
            .collect();
        let lists: Vec<(&str, &[(i32, i32)])> = lists.iter().map(|(term, list)| (&term[..], &list[..])).collect();
        let records: Vec<(i32, &str, i32)> = (0..40).map(|doc| (docid(doc), &ids[doc as usize][..], 3 * doc)).collect();
        let mut file = File::new(&lists, &records);
        let sorted = imported(dir.path(), "sorted", &file.bytes());
        prop_assert!(sorted.find_id("D17").unwrap() == [17]);
        let mut random = crate::base::random::SplitMix64::new(seed);
        file.lists.sort_by_cached_key(|_| random.next());
        file.records.sort_by_cached_key(|_| random.next());
        let mixed = imported(dir.path(), "mixed", &file.bytes());
        prop_assert_eq!(differences(&sorted, &mixed, &Part::ALL.map(|(part, ..)| part)), [""; 0]);
        prop_assert_eq!(exported(&sorted, Packing::None, false), exported(&mixed, Packing::None, false));
    }
}

/// Long lists are written in parts, and read alone.
#[test]
fn test_long_lists_in_parts() {
    let dir = tempfile::tempdir().unwrap();
    let documents = 700_000;
    let list =
        |step: usize| -> Vec<(i32, i32)> { (0..documents).step_by(step).map(|doc| (doc, 1 + doc % 200)).collect() };
    let lists = [("all", list(1)), ("half", list(2)), ("some", list(999))];
    let lists: Vec<(&str, &[(i32, i32)])> = lists.iter().map(|(term, list)| (*term, &list[..])).collect();
    let ids: Vec<String> = (0..documents).map(|doc| format!("{doc}")).collect();
    let records: Vec<(i32, &str, i32)> = (0..documents).map(|doc| (doc, &ids[doc as usize][..], doc % 1000)).collect();
    let file = File::new(&lists, &records);
    let bytes = file.bytes();
    let index = imported(dir.path(), "index", &bytes);
    assert!(exported(&index, Packing::None, false) == bytes);
    let packed = exported(&index, Packing::Gzip, false);
    let again = imported(dir.path(), "again", &packed);
    assert_eq!(differences(&index, &again, &Part::ALL.map(|(part, ..)| part)), [""; 0]);
    // Threads do not show.
    let alone = dir.path().join("alone");
    let means = Means::new(1, 1 << 30);
    import(&ImportOptions { means, ..options(&dir.path().join("again.ciff"), &alone) }).unwrap();
    let files = |dir: &Path| Index::open(dir).unwrap().manifest().files.clone();
    assert_eq!(files(&alone), files(again.dir()));
}

#[test]
fn test_impacts_in_place_of_frequencies() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("index");
    let texts = [("A", "", "", "a a a b c"), ("B", "", "", "a b b"), ("C", "", "", "c d e f g a")];
    build(&path, &texts, &Plan { impacts: Some(1), ..Plan::default() }).unwrap();
    let index = Index::open(&path).unwrap();
    let file = File::read(&exported(&index, Packing::None, true));
    for list in &file.lists {
        let info = index.term(index.lookup(list.term.as_bytes()).unwrap().unwrap()).unwrap();
        let impacts = index.impacts().unwrap().list(&info).unwrap();
        assert!(list.postings.iter().map(|posting| posting.tf as u8).eq(impacts.iter().copied()), "{}", list.term);
        assert_eq!(list.cf, impacts.iter().map(|&impact| i64::from(impact)).sum::<i64>());
    }
    assert!(file.lists.iter().any(|list| list.postings.iter().any(|posting| posting.tf == 255)));
    std::fs::remove_dir_all(&path).unwrap();
    build(&path, &texts, &Plan::default()).unwrap();
    let options = ExportOptions { impacts: true, codec: None, packing: Packing::None, means: Means::new(1, 1 << 30) };
    let error = export(&Index::open(&path).unwrap(), &options, Path::new("x"), &mut Vec::new()).unwrap_err();
    assert!(error.to_string().contains("reencode"), "{error}");
    // no room for what one thread takes
    let options = ExportOptions { impacts: false, means: Means::new(1, 1 << 20), ..options };
    let mut out = Vec::new();
    let error = export(&Index::open(&path).unwrap(), &options, Path::new("x"), &mut out).unwrap_err();
    assert!(matches!(error, crate::Error::Memory { needed, .. } if needed > 1 << 20) && out.is_empty());
}
