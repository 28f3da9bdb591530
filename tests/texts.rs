//! Stored texts and snippets of whole builds: the same bytes whatever the threads, memory and pipeline, the text that
//! was analysed, and the commands that print it.

mod common;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use common::{Random, gzip, index_bytes, put, word};
use gamut::Error;
use gamut::base::means::Means;
use gamut::codec::parse_list;
use gamut::corpus::{Documents, Feeder, MemoryDoc, NotTaken, feed};
use gamut::index::change::reorder::{Reorder, reorder};
use gamut::index::{Index, verify};
use gamut::order::Permutation;
use gamut::pipeline::{BuildOptions, Pipeline, build};
use gamut::sort::SorterChoice;
use gamut::text::{Analyzer, AnalyzerSpec, TermSink};

/// A document: id, title of the container, text.
type Document = (String, String, String);

/// Documents of `bytes` together: empty ones, some with a title, one of several frames.
fn documents(seed: u64, bytes: usize) -> Vec<Document> {
    let mut random = Random(seed);
    let (mut documents, mut total) = (Vec::new(), 0);
    while total < bytes {
        let i = documents.len();
        let words = match i % 50 {
            7 => 0,
            8 => 20_000,
            _ => random.below(900),
        };
        let text = (0..words).map(|_| word(&mut random)).collect::<Vec<_>>().join(" ");
        total += text.len();
        let title = if i % 3 == 0 { format!("Title {i}") } else { String::new() };
        documents.push((format!("d{seed}-{i}"), title, text));
    }
    documents
}

fn json_lines(documents: &[Document]) -> Vec<u8> {
    let line = |(id, title, text): &Document| match title.is_empty() {
        true => serde_json::json!({"id": id, "contents": text}).to_string(),
        false => serde_json::json!({"_id": id, "title": title, "text": text}).to_string(),
    };
    documents.iter().map(|document| line(document) + "\n").collect::<String>().into_bytes()
}

/// What is stored of a document.
fn stored((_, title, text): &Document) -> String {
    if title.is_empty() { text.clone() } else { format!("{title}\n{text}") }
}

fn options(inputs: Vec<PathBuf>, output: PathBuf) -> BuildOptions {
    BuildOptions {
        means: Means::new(2, 512 << 20),
        sorter: SorterChoice::parse("cpu").unwrap(),
        codecs: parse_list("vbyte").unwrap(),
        store_texts: true,
        force: true,
        ..BuildOptions::new(inputs, output)
    }
}

struct Count(u32);

impl TermSink for Count {
    fn term(&mut self, _: &[u8]) {
        self.0 += 1;
    }
}

/// Every document has its text, and as many tokens as that has.
fn check(index: &Path, documents: &[&Document]) {
    let index = Index::open(index).unwrap();
    let mut analyzer = Analyzer::new(&AnalyzerSpec::named("simple")).unwrap();
    assert_eq!(index.statistics().documents as usize, documents.len());
    for doc in 0..documents.len() as u32 {
        let id = index.name(doc).unwrap().id;
        let expected = documents.iter().find(|document| document.0 == id).unwrap();
        let text = index.text(doc).unwrap();
        assert!(text == stored(expected), "{id}");
        let mut count = Count(0);
        analyzer.analyze(&text, &mut count);
        assert_eq!(count.0, index.lens()[doc as usize], "{id}");
    }
    assert!(verify(index.dir()).unwrap().problems.is_empty());
}

#[test]
fn texts_are_the_same_whatever_the_machine() {
    let dir = tempfile::tempdir().unwrap();
    let all = [documents(1, 3 << 20), documents(2, 300 << 10), documents(3, 3 << 20)];
    let inputs = [
        put(dir.path(), "a.jsonl", &json_lines(&all[0])),
        put(dir.path(), "b.jsonl.gz", &gzip(&json_lines(&all[1]))),
        put(dir.path(), "c.jsonl", &json_lines(&all[2])),
    ];
    let reference = dir.path().join("reference");
    let report = build(&options(inputs.to_vec(), reference.clone())).unwrap();
    let documents: Vec<&Document> = all.iter().flatten().collect();
    check(&reference, &documents);
    let bytes: usize = documents.iter().map(|document| stored(document).len()).sum();
    let texts = report.texts.unwrap();
    assert_eq!((texts.text_bytes, bytes > 6 << 20), (bytes as u64, true));
    assert_eq!(texts.stored_bytes, std::fs::metadata(reference.join("text.zst")).unwrap().len());
    assert!(report.summary().contains("stored, "), "{}", report.summary());

    type Change = fn(&mut BuildOptions);
    let changes: &[(&str, Change)] = &[
        ("one thread", |o| o.means.threads = 1),
        ("eight threads", |o| o.means.threads = 8),
        ("little memory", |o| (o.means.threads, o.means.memory) = (1, 200 << 20)),
        ("8 GiB", |o| o.means.memory = 8 << 30),
        ("serial, small blocks", |o| (o.pipeline, o.block_keys) = (Pipeline::Serial, 1 << 13)),
        ("cpu pipeline", |o| o.pipeline = Pipeline::Cpu),
        ("small pieces", |o| (o.corpus.piece_bytes, o.means.threads) = (10_000, 5)),
        ("one record at a time", |o| (o.corpus.solo_bytes, o.means.threads) = (500, 4)),
    ];
    let expected = index_bytes(&reference);
    for (name, change) in changes {
        let mut changed = options(inputs.to_vec(), dir.path().join("changed"));
        change(&mut changed);
        build(&changed).unwrap();
        assert!(index_bytes(&changed.output) == expected, "{name}");
    }
    // Frames end where files end, so that other bytes come of the same documents in one file.
    let joined = put(dir.path(), "joined.jsonl", &json_lines(&all.concat()));
    let one = dir.path().join("one");
    build(&options(vec![joined], one.clone())).unwrap();
    check(&one, &documents);
    let texts = |index: &Path| std::fs::read(index.join("text.zst")).unwrap();
    assert!(texts(&one) != texts(&reference));

    // In another order, at once and afterwards.
    let mut by_bp = options(inputs.to_vec(), dir.path().join("bp"));
    by_bp.order = "bp".parse().unwrap();
    build(&by_bp).unwrap();
    check(&by_bp.output, &documents);
    assert!(texts(&by_bp.output) == texts(&reference));
    let permutation = Permutation::random(documents.len() as u32, 9);
    let change = Reorder {
        permutation: &permutation,
        order: "test".to_owned(),
        output: None,
        force: false,
        impacts: false,
        tables: false,
        means: Means::new(2, 1 << 30),
    };
    reorder(&by_bp.output, &change).unwrap();
    check(&by_bp.output, &documents);
}

fn gamut(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_gamut")).args(args).output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn commands_print_texts_and_snippets() {
    let dir = tempfile::tempdir().unwrap();
    let long =
        format!("{}Cranes lift loads. The crane's hook is heavy! {}", "Filler words. ".repeat(40), "End. ".repeat(60));
    let documents: Vec<Document> = vec![
        ("a".into(), "Cranes".into(), long.clone()),
        ("b".into(), String::new(), "Nothing\u{1b}[31m of this.".into()),
        ("b".into(), String::new(), "A second b.".into()),
        ("c".into(), String::new(), "起重机很重。".into()),
    ];
    let input = put(dir.path(), "crawl.jsonl", &json_lines(&documents));
    let (index, bare) = (dir.path().join("index"), dir.path().join("bare"));
    let (input, index, bare) = (input.to_str().unwrap(), index.to_str().unwrap(), bare.to_str().unwrap());
    let build = ["index", input, "-q", "--sorter", "cpu", "--memory", "512MiB", "--analyzer", "english", "-o"];
    assert!(gamut(&[&build[..], &[index, "--store"]].concat()).status.success());
    assert!(gamut(&[&build[..], &[bare]].concat()).status.success());

    assert_eq!(stdout(&gamut(&["dump", index, "--text", "a"])), format!("Cranes\n{long}\n"));
    assert_eq!(stdout(&gamut(&["dump", index, "--text", "b"])), "Nothing\u{1b}[31m of this.\nA second b.\n");
    let none = gamut(&["dump", index, "--text", "x"]);
    assert_eq!((none.status.code(), none.stdout.len()), (Some(1), 0));
    assert!(stdout(&gamut(&["stats", index])).contains("stored in"));

    let found = stdout(&gamut(&["query", index, "--snippets", "crane", "hook"]));
    let lines: Vec<&str> = found.lines().collect();
    assert!(lines[0].ends_with("a  Cranes"), "{found}");
    assert!(lines[1].starts_with("     … **Cranes** lift loads. The **crane**'s **hook** is heavy! End."), "{found}");
    assert!(lines[1].ends_with("End. …"), "{found}");
    let json: serde_json::Value =
        serde_json::from_str(&stdout(&gamut(&["query", index, "--snippets", "--json", "crane", "hook"]))).unwrap();
    let snippet = &json["hits"][0]["snippet"];
    let chars: Vec<char> = snippet["text"].as_str().unwrap().chars().collect();
    let marked: Vec<String> = snippet["marks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|mark| {
            let at = |i: usize| mark[i].as_u64().unwrap() as usize;
            chars[at(0)..at(1)].iter().collect()
        })
        .collect();
    assert_eq!(marked, ["Cranes", "crane", "hook"]);
    assert_eq!((snippet["begins"].as_bool(), snippet["ends"].as_bool()), (Some(false), Some(false)));
    assert!(stdout(&gamut(&["query", index, "--snippets", "nothing"])).ends_with("**Nothing** [31m of this.\n"));
    let plain: serde_json::Value = serde_json::from_str(&stdout(&gamut(&["query", index, "--json", "crane"]))).unwrap();
    assert!(plain["hits"][0].get("snippet").is_none());

    for args in [&["query", bare, "--snippets", "crane"][..], &["dump", bare, "--text", "a"]] {
        let refused = gamut(args);
        let errors = String::from_utf8_lossy(&refused.stderr);
        assert!(refused.status.code() == Some(2) && errors.contains("gamut index --store"), "{errors}");
    }
    let topics = put(dir.path(), "topics.tsv", b"1\tcrane\n");
    let run = dir.path().join("run");
    let refused =
        gamut(&["query", index, "--snippets", "--topics", topics.to_str().unwrap(), "--run", run.to_str().unwrap()]);
    assert!(refused.status.code() == Some(2) && !run.exists());
}

/// Documents in memory.
struct InMemory(Vec<Document>);

impl Documents for InMemory {
    fn each(&self, put: &mut dyn FnMut(MemoryDoc<'_>)) {
        self.0.iter().for_each(|(id, title, text)| put(MemoryDoc { id, url: "", title, text }));
    }
    fn bytes(&self) -> u64 {
        self.0.iter().map(|(id, title, text)| (id.len() + title.len() + text.len()) as u64).sum()
    }
}

/// Puts batches of `size` documents in, until the build is over. At the end `then` is called, before the feeder goes.
fn feeding(
    feeder: Feeder,
    documents: Vec<Document>,
    size: usize,
    then: impl FnOnce() + Send + 'static,
) -> std::thread::JoinHandle<()> {
    std::thread::spawn(move || {
        for batch in documents.chunks(size) {
            let mut batch: Arc<dyn Documents> = Arc::new(InMemory(batch.to_vec()));
            while let Err(again) = feeder.put(batch) {
                let NotTaken::Full(full) = again else { return };
                batch = full;
                std::thread::sleep(Duration::from_micros(100));
            }
        }
        then();
    })
}

#[test]
fn test_documents_in_memory_give_the_bytes_of_their_json_lines() {
    let dir = tempfile::tempdir().unwrap();
    let documents = documents(9, 3 << 20);
    let lines = put(dir.path(), "docs.jsonl", &json_lines(&documents));
    build(&options(vec![lines], dir.path().join("lines"))).unwrap();
    let expected = index_bytes(&dir.path().join("lines"));
    for (threads, size) in [(1, 1), (3, 97), (2, documents.len())] {
        let (feeder, feed) = feed();
        let producer = feeding(feeder, documents.clone(), size, || ());
        let output = dir.path().join("memory");
        let means = Means::new(threads, 512 << 20);
        let report = build(&BuildOptions { feed: Some(feed), means, ..options(Vec::new(), output.clone()) }).unwrap();
        producer.join().unwrap();
        assert_eq!(report.documents as usize, documents.len());
        assert!(index_bytes(&output) == expected, "{threads} threads, batches of {size}");
    }
}

#[test]
fn test_a_build_that_is_given_up_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let output = dir.path().join("memory");
    let (feeder, feed) = feed();
    let options = BuildOptions { feed: Some(feed), ..options(Vec::new(), output) };
    let cancel = options.means.cancel.clone();
    let producer = feeding(feeder, documents(9, 1 << 20), 50, move || cancel.store(true, Ordering::Relaxed));
    assert!(matches!(build(&options), Err(Error::Interrupted)));
    producer.join().unwrap();
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    // a feed is used up, and an empty one is no index
    assert!(matches!(
        build(&BuildOptions { means: Means::new(1, 512 << 20), ..options }),
        Err(Error::NoDocuments { .. })
    ));
}
