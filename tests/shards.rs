//! Shards that score by the statistics of the whole collection give documents the scores that one index gives them.

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use common::{Random, put, word};
use gamut::base::means::Means;
use gamut::codec::parse_list;
use gamut::index::Index;
use gamut::pipeline::{BuildOptions, build};
use gamut::query::and::AND;
use gamut::query::or::OR;
use gamut::query::{Bm25, Collection, CpuMethods, Mode, Scores, Searcher};
use gamut::sort::SorterChoice;

const DOCUMENTS: usize = 900;

fn make(dir: &Path, name: &str, documents: std::ops::Range<usize>) -> PathBuf {
    let line = |i: usize| {
        let mut random = Random(i as u64);
        // Shards differ in length, and in words that only one of them has.
        let words = 3 + random.below(20 + 60 * (i as u64 / 300));
        let mut text: String = (0..words).map(|_| word(&mut random) + " ").collect();
        text += &format!("shard{} every ", i / 300);
        serde_json::json!({ "id": format!("d{i}"), "contents": text }).to_string() + "\n"
    };
    let input = put(dir, &format!("{name}.jsonl"), documents.map(line).collect::<String>().as_bytes());
    let output = dir.join(name);
    let options = BuildOptions {
        means: Means::new(2, 512 << 20),
        sorter: SorterChoice::parse("cpu").unwrap(),
        codecs: parse_list("simdbp").unwrap(),
        impacts: true,
        tables: true,
        ..BuildOptions::new(vec![input], output.clone())
    };
    build(&options).unwrap();
    output
}

/// The score of every document that matches, by id.
fn scores(searcher: &Searcher<'_>, text: &str, mode: Mode, k: usize, methods: &CpuMethods) -> BTreeMap<String, u32> {
    let plan = searcher.plan(&searcher.parse(text).unwrap()).unwrap();
    let hits = searcher.search_with(&plan, mode, k, methods).unwrap();
    hits.iter().map(|hit| (searcher.index().name(hit.doc).unwrap().id, hit.score.to_bits())).collect()
}

#[test]
fn shards_score_as_one_index() {
    let dir = tempfile::tempdir().unwrap();
    let whole = Index::open(&make(dir.path(), "whole", 0..DOCUMENTS)).unwrap();
    let shards: Vec<PathBuf> = (0..3).map(|i| make(dir.path(), &format!("shard{i}"), 300 * i..300 * (i + 1))).collect();
    let files: Vec<PathBuf> = shards
        .iter()
        .map(|shard| {
            let file = shard.with_extension("tsv");
            Collection::write(&Index::open(shard).unwrap(), &file).unwrap();
            assert!(Collection::write(&Index::open(shard).unwrap(), &file).is_err(), "it is there");
            file
        })
        .collect();
    let file = dir.path().join("whole.tsv");
    Collection::write(&whole, &file).unwrap();
    let collection = Arc::new(Collection::read_all(&files).unwrap());
    assert_eq!(*collection, Collection::read(&file).unwrap());
    assert_eq!((collection.documents, collection.df("every"), collection.df("none")), (900, 900, 0));

    let queries = ["w3 w4 w5", "every shard1", "shard0 shard2 w7 w100", "w5 w5 w9", "every", "none w3"];
    let or = OR.rows.iter().filter(|or| or.cpu.is_some());
    let or = or.map(|or| (Mode::Or, or.name, CpuMethods { or, ..CpuMethods::default() }));
    let and = AND.rows.iter().filter(|and| and.cpu.is_some());
    let and = and.map(|and| (Mode::And, and.name, CpuMethods { intersect: and, ..CpuMethods::default() }));
    let methods: Vec<(Mode, &str, CpuMethods)> = or.chain(and).collect();
    let mut differ = 0;
    for bm25 in [Bm25::default(), Bm25 { k1: 1.6, b: 0.8 }] {
        let one = Searcher::new(&whole, None, bm25).unwrap();
        let indexes: Vec<Index> = shards.iter().map(|shard| Index::open(shard).unwrap()).collect();
        for (text, (mode, name, methods)) in queries.iter().flat_map(|&text| methods.iter().map(move |way| (text, way)))
        {
            let expected = scores(&one, text, *mode, DOCUMENTS, methods);
            let best = scores(&one, text, *mode, 10, methods);
            let (mut all, mut top) = (BTreeMap::new(), BTreeMap::new());
            for index in &indexes {
                let alone = Searcher::new(index, None, bm25).unwrap();
                let own = scores(&alone, text, *mode, DOCUMENTS, methods);
                let shard = alone.within(collection.clone(), bm25).unwrap();
                let found = scores(&shard, text, *mode, DOCUMENTS, methods);
                differ += usize::from(own != found);
                all.extend(found);
                top.extend(scores(&shard, text, *mode, 10, methods));
            }
            assert_eq!(all, expected, "{text} {mode:?} {name}");
            assert!(best.iter().all(|hit| top.get(hit.0) == Some(hit.1)), "{text} {mode:?} {name}");
        }
    }
    assert!(differ > 50 && methods.len() > 8, "{differ} with {} methods", methods.len());
}

/// Shards have docIDs of 32 bits, but their collection may have more documents, and a term in more of them.
#[test]
fn a_collection_may_have_more_documents_than_docids() {
    let dir = tempfile::tempdir().unwrap();
    let index = Index::open(&make(dir.path(), "index", 0..200)).unwrap();
    let file = dir.path().join("own");
    Collection::write(&index, &file).unwrap();
    let (documents, df) = (3_u64 << 32, 5_u64 << 31);
    let text = fs::read_to_string(&file).unwrap();
    let text = text.replace("documents\t200", &format!("documents\t{documents}"));
    let tokens: u64 = text.lines().find_map(|line| line.strip_prefix("tokens\t")).unwrap().parse().unwrap();
    let text = text.replace(&format!("tokens\t{tokens}"), &format!("tokens\t{}", tokens << 26));
    fs::write(&file, text.replace("\nevery\t200", &format!("\nevery\t{df}"))).unwrap();
    let collection = Arc::new(Collection::read(&file).unwrap());
    let searcher = Searcher::new(&index, None, Bm25::default()).unwrap().within(collection, Bm25::default()).unwrap();
    let query = searcher.parse("every").unwrap();
    let plan = searcher.plan(&query).unwrap();
    let facts = searcher.facts(&query, &plan).unwrap().remove(0);
    let idf = (1.0 + ((documents - df) as f64 + 0.5) / (df as f64 + 0.5)).ln();
    assert!(facts.df == df && (facts.idf - idf).abs() < 1e-9, "{facts:?} for {idf}");
    let mean = (tokens << 26) as f64 / documents as f64;
    for hit in searcher.search(&plan, Mode::Or, 200).unwrap() {
        let len = f64::from(index.lens()[hit.doc as usize]);
        let expected = idf / (1.0 + 0.9 * (0.6 + 0.4 * len / mean));
        assert!((f64::from(hit.score) / expected - 1.0).abs() < 1e-4, "{} for {expected}", hit.score);
    }
}

#[test]
fn statistics_that_do_not_fit_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let index = Index::open(&make(dir.path(), "index", 0..200)).unwrap();
    let path = |name: &str| dir.path().join(name);
    Collection::write(&index, &path("own")).unwrap();
    let text = fs::read_to_string(path("own")).unwrap();
    let first: Vec<&str> = text.lines().take(4).collect();
    assert_eq!((first[0], first[1]), ("gamut-statistics\t2", "documents\t200"));
    let line = |text: &str| text.to_owned() + "\n";
    for (name, bad, expected) in [
        ("empty", String::new(), "line 1: is not \"gamut-statistics\""),
        ("version", text.replacen("statistics\t2", "statistics\t1", 1), "another version"),
        ("documents", text.replacen("documents\t200", "documents\tmany", 1), "line 2: is not \"documents\""),
        ("twice", text.clone() + &line("every\t3"), "has the term \"every\" again"),
        ("zero", text.clone() + &line("x\t0"), "a df from 1 to 200"),
        ("more", text.clone() + &line("x\t201"), "a df from 1 to 200"),
        ("tab", text.clone() + &line("x 3"), "is no term, a tab and a df"),
        ("cut", text[..text.trim_end().rfind('\n').unwrap() + 1].to_owned(), "is the last one, of"),
    ] {
        fs::write(path(name), bad).unwrap();
        let error = Collection::read(&path(name)).unwrap_err().to_string();
        assert!(error.contains(expected), "{name}: {error}");
    }
    let within = |text: String| {
        fs::write(path("changed"), text).unwrap();
        let collection = Arc::new(Collection::read(&path("changed")).unwrap());
        Searcher::new(&index, None, Bm25::default()).unwrap().within(collection, Bm25::default())
    };
    let fewer = within("gamut-statistics\t2\ndocuments\t199\ntokens\t100000000\nterms\t0\n".to_owned()).err().unwrap();
    assert!(fewer.to_string().contains("whole collection"), "{fewer}");
    let terms: u64 = first[3].strip_prefix("terms\t").unwrap().parse().unwrap();
    let less = text.replacen(first[3], &format!("terms\t{}", terms - 1), 1);
    let lacks = within(less.lines().filter(|row| !row.starts_with("every\t")).map(line).collect()).unwrap();
    let error = lacks.plan(&lacks.parse("every").unwrap()).unwrap_err().to_string();
    assert!(error.contains("0 documents have \"every\"") && error.contains("200"), "{error}");
    let impacts = Searcher::new(&index, None, Bm25::default()).unwrap().with_scores(Scores::Impacts).unwrap();
    let own = Arc::new(Collection::read(&path("own")).unwrap());
    assert!(impacts.within(own.clone(), Bm25::default()).err().unwrap().to_string().contains("for the index alone"));
    // In the other order, and even by the statistics of the index itself.
    let scored = Searcher::new(&index, None, Bm25::default()).unwrap().within(own, Bm25::default()).unwrap();
    assert!(scored.with_scores(Scores::Impacts).err().unwrap().to_string().contains("for the index alone"));
}

/// A run goes on where it ended only by the same statistics, whatever their file is called.
#[test]
fn statistics_have_a_digest() {
    let dir = tempfile::tempdir().unwrap();
    let index = Index::open(&make(dir.path(), "index", 0..200)).unwrap();
    Collection::write(&index, &dir.path().join("own")).unwrap();
    let text = fs::read_to_string(dir.path().join("own")).unwrap();
    let digest = |text: String| {
        fs::write(dir.path().join("changed"), text).unwrap();
        Collection::read(&dir.path().join("changed")).unwrap().digest()
    };
    let own = Collection::read(&dir.path().join("own")).unwrap().digest();
    assert_eq!(digest(text.clone()), own);
    let tokens = text.lines().find(|line| line.starts_with("tokens\t")).unwrap();
    let every = text.lines().find(|line| line.starts_with("every\t")).unwrap();
    for (from, to) in [
        ("documents\t200", "documents\t201"),
        (tokens, &format!("{tokens}0")),
        (every, "every\t7"),
        ("every\t", "ever\t"),
    ] {
        assert!(text.contains(from));
        assert_ne!(digest(text.replacen(from, to, 1)), own, "{from}");
    }
}
