//! Parts of a crawl, indexed apart and merged, are the index of the crawl: byte for byte, whatever the number of parts.

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use common::{Random, gzip, put, word};
use gamut::base::means::Means;
use gamut::codec::parse_list;
use gamut::corpus::{CorpusOptions, Part};
use gamut::index::change::merge::{Merge, OnDuplicate, merge};
use gamut::index::{Index, verify};
use gamut::pipeline::{BuildOptions, BuildReport, build};
use gamut::sort::SorterChoice;

fn make(
    inputs: &[PathBuf],
    output: &Path,
    part: Part,
    change: impl Fn(&mut BuildOptions),
) -> gamut::Result<BuildReport> {
    let mut options = BuildOptions {
        means: Means::new(2, 512 << 20),
        sorter: SorterChoice::parse("cpu").unwrap(),
        codecs: parse_list("simdbp,pef").unwrap(),
        corpus: CorpusOptions { part, ..CorpusOptions::default() },
        ..BuildOptions::new(inputs.to_vec(), output.to_owned())
    };
    change(&mut options);
    build(&options)
}

fn join(inputs: &[PathBuf], output: &Path) {
    let (impacts, tables, on_duplicate) = (None, None, OnDuplicate::KeepAll);
    let means = Means::new(2, 512 << 20);
    merge(&Merge { inputs, output, force: false, order: None, on_duplicate, impacts, tables, shares: None, means })
        .unwrap();
}

fn assert_same(a: &Path, b: &Path, what: &str) {
    let [mut a, mut b] = [a, b].map(common::all_files);
    a.remove("build-report.json");
    b.remove("build-report.json");
    assert!(a.keys().eq(b.keys()), "{what}: {:?} and {:?}", a.keys(), b.keys());
    for (name, bytes) in &b {
        assert!(a[name] == *bytes, "{what}: {name} differs, {} and {} bytes", a[name].len(), bytes.len());
    }
}

/// A text of up to `most` words.
fn text(random: &mut Random, most: u64) -> String {
    (0..random.below(most)).map(|_| word(random) + " ").collect()
}

fn warc(n: usize, text: &str) -> Vec<u8> {
    let body = format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<title>page {n}</title><p>{text}");
    let head = format!("WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://h{}.test/{n}\r\n", n % 5);
    let head = format!("{head}Content-Type: application/http\r\nContent-Length: {}\r\n\r\n", body.len());
    (head + &body + "\r\n\r\n").into_bytes()
}

/// A WARC file of many members, one of one member, one that is not compressed, lines of JSON, a table, TREC documents.
fn crawl(dir: &Path, documents: usize) -> Vec<PathBuf> {
    let mut random = Random(17);
    let mut texts = |most| (0..documents).map(|_| text(&mut random, most)).collect::<Vec<_>>();
    let warcs = |texts: &[String], from| (from..).zip(texts).map(|(n, text)| warc(n, text)).collect::<Vec<_>>();
    let (a, b, c, d, e, f) = (texts(90), texts(40), texts(150), texts(60), texts(30), texts(70));
    let json =
        |(n, text): (usize, &String)| serde_json::json!({"id": format!("j{n}"), "contents": text}).to_string() + "\n";
    let trec = |(n, text): (usize, &String)| format!("<DOC>\n<DOCNO>T-{n}</DOCNO>\n<TEXT>\n{text}</TEXT>\n</DOC>\n");
    vec![
        put(dir, "a.warc.gz", &warcs(&a, 0).iter().flat_map(|record| gzip(record)).collect::<Vec<_>>()),
        put(dir, "b.warc.gz", &gzip(&warcs(&b, 10_000).concat())),
        put(dir, "c.warc", &warcs(&c, 20_000).concat()),
        put(dir, "d.jsonl", d.iter().enumerate().map(json).collect::<String>().as_bytes()),
        put(
            dir,
            "e.tsv",
            e.iter().enumerate().map(|(n, text)| format!("e{n}\t{text}\n")).collect::<String>().as_bytes(),
        ),
        put(dir, "f.trec", f.iter().enumerate().map(trec).collect::<String>().as_bytes()),
    ]
}

/// Builds `of` parts and merges them, some of them first if there are enough.
fn check(dir: &Path, inputs: &[PathBuf], of: u32, whole: &Path, change: impl Fn(&mut BuildOptions)) {
    let mut documents = 0;
    let parts: Vec<PathBuf> = (1..=of)
        .map(|number| {
            let output = dir.join(format!("part{number}"));
            let part = Part::new(number, of).unwrap();
            let report = make(inputs, &output, part, &change).unwrap();
            assert_eq!(report.part, (of > 1).then(|| part.to_string()));
            assert!(verify(&output).unwrap().problems.is_empty());
            documents += report.documents;
            output
        })
        .collect();
    assert_eq!(documents, Index::open(whole).unwrap().statistics().documents);
    join(&parts, &dir.join("all"));
    assert_same(&dir.join("all"), whole, &format!("{of} parts"));
    if let [first, second, .., last] = &parts[..] {
        let inner = parts[2..parts.len() - 1].to_vec();
        join(&[first.clone(), second.clone()], &dir.join("two"));
        join(&[vec![dir.join("two")], inner, vec![last.clone()]].concat(), &dir.join("again"));
        assert_same(&dir.join("again"), whole, &format!("{of} parts in two steps"));
    }
    // orders stand in files beside their indexes
    fs::remove_dir_all(dir).unwrap();
    fs::create_dir(dir).unwrap();
}

#[test]
fn parts_merge_to_the_index_of_all() {
    let dir = tempfile::tempdir().unwrap();
    let inputs = crawl(dir.path(), 130);
    let (whole, parts) = (dir.path().join("whole"), dir.path().join("parts"));
    fs::create_dir(&parts).unwrap();
    make(&inputs, &whole, Part::WHOLE, |_| {}).unwrap();
    (1..=7).for_each(|of| check(&parts, &inputs, of, &whole, |_| {}));
    for single in &inputs {
        let whole = dir.path().join("single");
        make(std::slice::from_ref(single), &whole, Part::WHOLE, |_| {}).unwrap();
        [2, 5].into_iter().for_each(|of| check(&parts, std::slice::from_ref(single), of, &whole, |_| {}));
        fs::remove_dir_all(whole).unwrap();
    }
}

/// Frames of stored texts end where files do, and not where parts do. The dictionary needs 4 MiB.
#[test]
fn parts_with_texts_impacts_tables_and_orders() {
    let dir = tempfile::tempdir().unwrap();
    let inputs = crawl(dir.path(), 1500);
    let (whole, parts) = (dir.path().join("whole"), dir.path().join("parts"));
    fs::create_dir(&parts).unwrap();
    for (order, of) in [("input", 7), ("input", 2), ("input", 3), ("random:5", 4)] {
        let change = |options: &mut BuildOptions| {
            (options.store_texts, options.impacts, options.tables) = (true, true, true);
            options.order = order.parse().unwrap();
            options.codecs = parse_list("simdbp").unwrap();
        };
        make(&inputs, &whole, Part::WHOLE, change).unwrap();
        check(&parts, &inputs, of, &whole, change);
        fs::remove_dir_all(&whole).unwrap();
    }
}

/// Parts without documents are indexes, too, and an input without any is still refused.
#[test]
fn empty_parts_are_indexes() {
    let dir = tempfile::tempdir().unwrap();
    let input = put(dir.path(), "a.tsv", b"1\tone two\n2\ttwo three\n");
    let (whole, parts) = (dir.path().join("whole"), dir.path().join("parts"));
    fs::create_dir(&parts).unwrap();
    let all = |options: &mut BuildOptions| {
        (options.store_texts, options.impacts, options.tables) = (true, true, true);
    };
    make(std::slice::from_ref(&input), &whole, Part::WHOLE, all).unwrap();
    check(&parts, &[input], 7, &whole, all);
    let empty = put(dir.path(), "empty", b"");
    assert!(make(std::slice::from_ref(&empty), &parts.join("x"), Part::WHOLE, |_| {}).is_err());
    assert_eq!(make(&[empty], &parts.join("x"), Part::new(1, 2).unwrap(), |_| {}).unwrap().documents, 0);
}

/// A cut within an archive in a record: no index comes of the part that sees it.
#[test]
fn a_cut_that_is_none_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let inner: Vec<u8> = (0..50).flat_map(|n| warc(n, "inner words")).collect();
    let head = format!(
        "WARC/1.0\r\nWARC-Type: resource\r\nWARC-Target-URI: http://a.test/\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\r\n",
        inner.len()
    );
    let input = put(
        dir.path(),
        "a.warc",
        &[warc(1, "outer"), head.into_bytes(), inner, b"\r\n\r\n".to_vec(), warc(2, "last")].concat(),
    );
    let output = dir.path().join("part");
    let error = make(&[input], &output, Part::new(1, 2).unwrap(), |_| {}).unwrap_err().to_string();
    assert!(error.contains("a.warc: cannot be cut at byte") && error.contains("another number of parts"), "{error}");
    assert!(!output.exists());
}

/// What a merge says of parts that are missing, there twice, or in another order; parts of other inputs do not count.
#[test]
fn a_merge_knows_the_parts_of_an_input() {
    let dir = tempfile::tempdir().unwrap();
    let mut random = Random(3);
    let mut table = |name: &str, lines: usize| {
        let line = |n| format!("{name}{n}\t{}\n", text(&mut random, 30));
        let lines: String = (0..lines).map(line).collect();
        put(dir.path(), name, lines.as_bytes())
    };
    let [a, b] = [table("a", 300), table("b", 200)];
    let parts = |input: &PathBuf, of: u32| -> Vec<PathBuf> {
        let name = input.file_name().unwrap().to_str().unwrap();
        let part = |number| {
            let output = dir.path().join(format!("{name}-{number}-{of}"));
            make(std::slice::from_ref(input), &output, Part::new(number, of).unwrap(), |_| {}).unwrap();
            output
        };
        (1..=of).map(part).collect()
    };
    let (a, b, halves) = (parts(&a, 12), parts(&b, 12), parts(&b, 2));
    let joined = |inputs: &[&PathBuf], on_duplicate| {
        let inputs: Vec<PathBuf> = inputs.iter().map(|&input| input.clone()).collect();
        let (impacts, tables, means) = (None, None, Means::new(2, 512 << 20));
        let output = &dir.path().join("joined");
        merge(&Merge {
            inputs: &inputs,
            output,
            force: true,
            order: None,
            on_duplicate,
            impacts,
            tables,
            shares: None,
            means,
        })
    };
    let all = OnDuplicate::KeepAll;
    let missing = |inputs: &[&PathBuf]| joined(inputs, all).unwrap().missing_parts;
    assert_eq!(missing(&a.iter().collect::<Vec<_>>()), Vec::<String>::new());
    assert_eq!(missing(&a.iter().chain(&b).chain(&halves).collect::<Vec<_>>()), Vec::<String>::new());
    assert_eq!(missing(&b.iter().zip(&a).flat_map(|(b, a)| [b, a]).collect::<Vec<_>>()), Vec::<String>::new());
    let some: Vec<&PathBuf> = a.iter().enumerate().filter(|(i, _)| ![0, 4, 11].contains(i)).map(|(_, a)| a).collect();
    assert_eq!(missing(&some), ["1/12", "5/12", "12/12"]);
    assert_eq!(missing(&[&a[..].iter().collect::<Vec<_>>()[..], &[&halves[1]]].concat()), ["1/2"]);
    let refused = |inputs: &[&PathBuf]| joined(inputs, all).unwrap_err().to_string();
    // As a shell sorts their names.
    let mut by_name: Vec<&PathBuf> = a.iter().collect();
    by_name.sort();
    let error = refused(&by_name);
    assert!(error.contains("a-2-12") && error.contains("part 2/12 of an input and comes behind part 12/12"), "{error}");
    let order = a.iter().map(|a| a.canonicalize().unwrap().display().to_string()).collect::<Vec<_>>().join(" ");
    assert!(error.ends_with(&order), "{error}");
    fs::remove_dir_all(dir.path().join("joined")).unwrap();
    let error = refused(&[&a[0], &a[1], &b[0], &a[1]]);
    assert!(error.contains("part 2/12 of the same input as") && error.contains("--on-duplicate"), "{error}");
    assert!(!dir.path().join("joined").exists(), "nothing is written");
    assert_eq!(joined(&[&a[0], &a[1], &b[0], &a[1]], OnDuplicate::KeepFirst).unwrap().missing_parts.len(), 21);
    // A report that nobody can read says nothing.
    put(&a[1], "build-report.json", b"{\"part\": \"2/12\", ");
    put(&a[2], "build-report.json", b"{\"part\": \"0/0\", \"part_of_bytes\": 1}");
    assert_eq!(missing(&[&a[2], &a[1], &a[1]]), Vec::<String>::new());
    put(&a[2], "build-report.json", b"{\"part\": \"2/4000000000\", \"part_of_bytes\": 1}");
    assert_eq!(missing(&[&a[2], &a[1]]), Vec::<String>::new());
    fs::remove_file(a[3].join("build-report.json")).unwrap();
    assert_eq!(missing(&[&a[3], &a[2], &halves[0], &halves[1]]), Vec::<String>::new());
}

/// The posting of a term of one document stands in the dictionary, whatever its frequency; a merge keeps small ones
/// apart.
#[test]
fn frequencies_of_all_sizes_stay_in_single_postings() {
    let dir = tempfile::tempdir().unwrap();
    let times = [1usize, 255, 32_767, 32_768, 40_000, 70_000];
    let file = |(i, &n): (usize, &usize)| {
        put(dir.path(), &format!("{i}.tsv"), format!("d{i}\tall {}\n", format!("w{i} ").repeat(n)).as_bytes())
    };
    let inputs: Vec<PathBuf> = times.iter().enumerate().map(file).collect();
    let path = |name: &str| dir.path().join(name);
    make(&inputs, &path("whole"), Part::WHOLE, |_| {}).unwrap();
    let parts: Vec<PathBuf> = (0..inputs.len()).map(|i| path(&format!("part{i}"))).collect();
    for (input, part) in inputs.iter().zip(&parts) {
        make(std::slice::from_ref(input), part, Part::WHOLE, |_| {}).unwrap();
    }
    join(&parts, &path("joined"));
    assert_same(&path("joined"), &path("whole"), "long documents");
    let index = Index::open(&path("joined")).unwrap();
    for (i, &n) in times.iter().enumerate() {
        let info = index.term(index.lookup(format!("w{i}").as_bytes()).unwrap().unwrap()).unwrap();
        assert_eq!((info.df, info.tf_max), (1, n as u32));
    }
}
