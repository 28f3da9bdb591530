//! Merged indexes are the index of all inputs, byte for byte: any partition of a crawl into files, any codecs, order
//! and options, merges of merges; and what cannot be merged is refused, and leaves nothing.

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use common::{Random, put, word};
use gamut::Error;
use gamut::base::means::Means;
use gamut::codec::parse_list;
use gamut::index::change::delete::{Delete, Done, Pattern, Which, delete};
use gamut::index::change::merge::{Merge, Merged, OnDuplicate, merge};
use gamut::index::{Index, verify};
use gamut::pipeline::append::append;
use gamut::pipeline::{BuildOptions, build};
use gamut::sort::SorterChoice;
use proptest::prelude::*;

/// Lines of JSON: ids of their own, pages of no word to several hundred, and one of some thousand.
fn lines(seed: u64, documents: usize) -> Vec<String> {
    let mut random = Random(seed);
    (0..documents)
        .map(|i| {
            let words = match i % 40 {
                7 => 0,
                8 => 4000,
                _ => random.below(120),
            };
            let text = (0..words).map(|_| word(&mut random)).collect::<Vec<_>>().join(" ");
            serde_json::json!({"id": format!("d{i}"), "contents": text, "url": format!("http://h{}.test/{i}", i % 7)})
                .to_string()
        })
        .collect()
}

/// Writes documents into files that end before these documents, and returns the files.
fn files(dir: &Path, lines: &[String], ends: &[usize]) -> Vec<PathBuf> {
    let (mut start, mut files) = (0, Vec::new());
    for (i, &end) in ends.iter().chain([&lines.len()]).enumerate() {
        files.push(put(dir, &format!("{i}.jsonl"), (lines[start..end].join("\n") + "\n").as_bytes()));
        start = end;
    }
    files
}

#[derive(Clone, Debug)]
struct Options {
    codecs: &'static str,
    order: &'static str,
    store: bool,
    impacts: bool,
    tables: bool,
}

const PLAIN: Options =
    Options { codecs: "simdbp:range=3", order: "input", store: false, impacts: false, tables: false };

fn make(inputs: Vec<PathBuf>, output: &Path, options: &Options) {
    let options = BuildOptions {
        means: Means::new(2, 512 << 20),
        sorter: SorterChoice::parse("cpu").unwrap(),
        codecs: parse_list(options.codecs).unwrap(),
        order: options.order.parse().unwrap(),
        store_texts: options.store,
        impacts: options.impacts,
        tables: options.tables,
        ..BuildOptions::new(inputs, output.to_owned())
    };
    build(&options).unwrap();
}

fn change<'a>(inputs: &'a [PathBuf], output: &'a Path) -> Merge<'a> {
    let means = Means::new(2, 512 << 20);
    let (on_duplicate, impacts, tables, shares) = (OnDuplicate::KeepAll, None, None, None);
    Merge { inputs, output, force: false, order: None, on_duplicate, impacts, tables, shares, means }
}

fn merged(inputs: &[PathBuf], output: &Path) -> Merged {
    merge(&change(inputs, output)).unwrap()
}

fn without(which: &Which, purge: bool) -> Delete<'_> {
    Delete { which, purge, output: None, order: None, means: Means::new(2, 512 << 20) }
}

/// The files of an index by name, with the manifest and without the report.
fn bytes(index: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = common::all_files(index);
    files.remove("build-report.json");
    files
}

fn assert_same(merged: &Path, direct: &Path, what: &str) {
    let (merged, direct) = (bytes(merged), bytes(direct));
    assert!(merged.keys().eq(direct.keys()), "{what}: {:?} and {:?}", merged.keys(), direct.keys());
    for (name, bytes) in &direct {
        let at = merged[name].iter().zip(bytes).position(|(a, b)| a != b);
        let lens = (merged[name].len(), bytes.len());
        assert!(merged[name] == *bytes, "{what}: {name} differs at {at:?}, {lens:?} bytes");
    }
}

fn options() -> impl Strategy<Value = Options> {
    let codecs = prop_oneof![
        Just("simdbp"),
        Just("vbyte,para-ef"),
        Just("raw,lrc,pef"),
        Just("simple9,simple16,rice,pfor,newpfd,optpfd"),
        Just("pfor-recursive,parapfor:segment=64,lrc-seg,seg-lrc,hs-lrc,best"),
    ];
    let order = prop_oneof![3 => Just("input"), 1 => Just("random:5"), 1 => Just("url"), 1 => Just("bp")];
    (codecs, order, any::<bool>(), any::<bool>(), any::<bool>())
        .prop_map(|(codecs, order, store, impacts, tables)| Options { codecs, order, store, impacts, tables })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_partition_merges_to_the_direct_build(
        seed: u64,
        documents in prop_oneof![1usize..60, 200usize..900],
        cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..5),
        options in options(),
        group in any::<prop::sample::Index>(),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let lines = lines(seed, documents);
        let mut ends: Vec<usize> = cuts.iter().map(|cut| 1 + cut.index(documents)).filter(|&end| end < documents).collect();
        ends.sort_unstable();
        ends.dedup();
        let files = files(dir.path(), &lines, &ends);
        let direct = dir.path().join("direct");
        make(files.clone(), &direct, &options);
        let parts: Vec<PathBuf> = files
            .iter()
            .enumerate()
            .map(|(i, file)| {
                let part = dir.path().join(format!("part{i}"));
                make(vec![file.clone()], &part, &options);
                part
            })
            .collect();
        let all = dir.path().join("all");
        let done = merged(&parts, &all);
        prop_assert_eq!(done.statistics.documents, documents as u64);
        assert_same(&all, &direct, "all at once");
        prop_assert!(verify(&all).unwrap().problems.is_empty());

        // The first ones as one, the others as one, and then both.
        let first = 1 + group.index(parts.len());
        let halves: Vec<PathBuf> = [&parts[..first], &parts[first..]]
            .into_iter()
            .enumerate()
            .filter(|(_, half)| !half.is_empty())
            .map(|(i, half)| {
                let path = dir.path().join(format!("half{i}"));
                merged(half, &path);
                path
            })
            .collect();
        let twice = dir.path().join("twice");
        merged(&halves, &twice);
        assert_same(&twice, &direct, "in two steps");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, failure_persistence: None, ..ProptestConfig::default() })]

    /// Documents that go leave the bytes of a build without them, stored texts but by their content.
    #[test]
    fn a_delete_is_a_build_without(
        seed: u64,
        documents in prop_oneof![2usize..60, 200usize..600],
        goes in proptest::collection::vec(any::<bool>(), 1..40),
        most: bool,
        at_once: bool,
        options in options(),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        let lines = lines(seed, documents);
        // Few go or few stay, one at least.
        let goes = |i: usize| i > 0 && (goes[i % goes.len()] && i.is_multiple_of(3)) != most;
        let stays: Vec<String> = (0..documents).filter(|&i| !goes(i)).map(|i| lines[i].clone()).collect();
        make(files(dir.path(), &lines, &[documents / 2]), &path("index"), &options);
        fs::create_dir(path("rest")).unwrap();
        make(files(&path("rest"), &stays, &[]), &path("direct"), &options);
        let before = bytes(&path("index"));
        let gone = |some: fn(usize) -> bool| {
            let ids = (0..documents).filter(|&i| goes(i) && some(i)).map(|i| format!("d{i}")).collect();
            Which { ids, patterns: Vec::new() }
        };
        // some of them before, at once
        let first = gone(if at_once { |i| i % 2 == 0 } else { |_| false });
        let marked = delete(&path("index"), &without(&first, false)).unwrap().documents as usize;
        prop_assert!(verify(&path("index")).unwrap().problems.is_empty());
        let done = delete(&path("index"), &without(&gone(|_| true), true)).unwrap();
        prop_assert_eq!(done.documents as usize + marked, documents - stays.len());
        prop_assert_eq!((done.before as usize, done.unknown.len()), (marked, marked));
        if matches!(done.done, Done::Nothing) {
            prop_assert!(bytes(&path("index")) == before);
            return Ok(());
        }
        assert_same_but_texts(&path("index"), &path("direct"), "less some");
        prop_assert!(verify(&path("index")).unwrap().problems.is_empty());
    }

    /// A crawl that grows file by file is the crawl built at once; new versions of pages take the place of old ones.
    #[test]
    fn appends_are_one_build(
        seed: u64,
        cuts in proptest::collection::vec(1usize..300, 1..4),
        options in options(),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        let lines = lines(seed, 300);
        let mut ends: Vec<usize> = cuts.clone();
        ends.sort_unstable();
        ends.dedup();
        let files = files(dir.path(), &lines, &ends);
        make(files.clone(), &path("direct"), &options);
        make(files[..1].to_vec(), &path("index"), &options);
        for (i, file) in files.iter().enumerate().skip(1) {
            let new = BuildOptions { means: Means::new(2, 512 << 20), ..BuildOptions::new(vec![file.clone()], path("x")) };
            let start = ends[i - 1];
            let done = append(&path("index"), &new, OnDuplicate::Fail).unwrap();
            prop_assert_eq!(done.new.documents as usize, ends.get(i).copied().unwrap_or(300) - start);
        }
        assert_same(&path("index"), &path("direct"), "step by step");
    }
}

/// As [`assert_same`], but frames of texts may end elsewhere.
fn assert_same_but_texts(merged: &Path, direct: &Path, what: &str) {
    let (found, expected) = (bytes(merged), bytes(direct));
    assert!(found.keys().eq(expected.keys()), "{what}: {:?} and {:?}", found.keys(), expected.keys());
    let stored = found.contains_key("text.zst");
    for (name, bytes) in
        expected.iter().filter(|(name, _)| !stored || !["text.zst", "manifest.json"].contains(&&***name))
    {
        let at = found[name].iter().zip(bytes).position(|(a, b)| a != b);
        assert!(
            found[name] == *bytes,
            "{what}: {name} differs at {at:?}, {} and {} bytes",
            found[name].len(),
            bytes.len()
        );
    }
    let (found, expected) = (Index::open(merged).unwrap(), Index::open(direct).unwrap());
    assert_eq!(found.statistics(), expected.statistics());
    for doc in (0..expected.statistics().documents as u32).filter(|_| stored) {
        assert_eq!(found.text(doc).unwrap(), expected.text(doc).unwrap(), "{what}: text of {doc}");
    }
}

#[test]
fn duplicates_go_or_stay() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    // Some ids three times, in one file and in several.
    let all: Vec<String> = lines(11, 300);
    let id = |i: usize| (i * i) % 211;
    let lines: Vec<String> =
        (0..300).map(|i| all[i].replacen(&format!("\"d{i}\""), &format!("\"d{}\"", id(i)), 1)).collect();
    let kept =
        |keep: &dyn Fn(usize) -> bool| (0..300).filter(|&i| keep(i)).map(|i| lines[i].clone()).collect::<Vec<_>>();
    let first = kept(&|i| (0..i).all(|j| id(j) != id(i)));
    let last = kept(&|i| (i + 1..300).all(|j| id(j) != id(i)));
    assert!(first.len() < 250 && first.len() == last.len() && first != last);
    for order in ["input", "random:3"] {
        let options = Options { codecs: "simdbp,vbyte", order, impacts: true, ..PLAIN };
        let files_of_all = files(dir.path(), &lines, &[100, 130]);
        let parts: Vec<PathBuf> = (0..3).map(|i| path(&format!("part{i}"))).collect();
        parts.iter().zip(&files_of_all).for_each(|(part, file)| make(vec![file.clone()], part, &options));
        for (on_duplicate, expected) in
            [(OnDuplicate::KeepAll, &lines), (OnDuplicate::KeepFirst, &first), (OnDuplicate::KeepLast, &last)]
        {
            fs::create_dir(path("rest")).unwrap();
            make(files(&path("rest"), expected, &[]), &path("direct"), &options);
            let done = merge(&Merge { on_duplicate, ..change(&parts, &path("out")) }).unwrap();
            assert_eq!(done.left_out as usize, 300 - expected.len());
            assert_same(&path("out"), &path("direct"), &on_duplicate.to_string());
            ["rest", "direct", "out"].iter().for_each(|name| fs::remove_dir_all(path(name)).unwrap());
        }
        let error = merge(&Merge { on_duplicate: OnDuplicate::Fail, ..change(&parts, &path("out")) }).unwrap_err();
        assert!(error.to_string().contains("has the id d"), "{error}");
        assert!(!path("out").exists());
        parts.iter().for_each(|part| fs::remove_dir_all(part).unwrap());
        fs::read_dir(dir.path())
            .unwrap()
            .flatten()
            .filter(|e| e.path().is_file())
            .for_each(|e| fs::remove_file(e.path()).unwrap());
    }
}

#[test]
fn patterns_find_documents() {
    let dir = tempfile::tempdir().unwrap();
    let index = dir.path().join("index");
    make(files(dir.path(), &lines(2, 70), &[]), &index, &PLAIN);
    let open = Index::open(&index).unwrap();
    let count = |patterns: &[&str]| {
        let patterns = patterns.iter().map(|pattern| pattern.parse().unwrap()).collect();
        Which { ids: Vec::new(), patterns }.find(&open).unwrap().documents
    };
    assert_eq!(count(&["url=http://h3.test/*"]), 10);
    assert_eq!(count(&["id=d6?"]), 10);
    assert_eq!(count(&["id=d6?", "id=d60", "id=d7"]), 11);
    assert_eq!([count(&["id=6?"]), count(&["title=x*"]), count(&["id=*"])], [0, 0, 70]);
    for (bad, expected) in [("d6", "FIELD=GLOB"), ("body=x", "unknown field \"body\"")] {
        let error = bad.parse::<Pattern>().unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    // All of them: an index without documents, which can grow again.
    let which = Which { ids: Vec::new(), patterns: vec!["id=*".parse().unwrap()] };
    delete(&index, &without(&which, false)).unwrap();
    assert!(verify(&index).unwrap().problems.is_empty());
    assert_eq!(Index::open(&index).unwrap().collection().documents, 0);
    delete(&index, &without(&which, true)).unwrap();
    assert!(verify(&index).unwrap().problems.is_empty());
    assert_eq!(Index::open(&index).unwrap().statistics().terms, 0);
    let file = dir.path().join("0.jsonl");
    let new = BuildOptions { means: Means::new(2, 512 << 20), ..BuildOptions::new(vec![file.clone()], index.clone()) };
    append(&index, &new, OnDuplicate::KeepAll).unwrap();
    make(vec![file], &dir.path().join("direct"), &PLAIN);
    assert_same(&index, &dir.path().join("direct"), "grown from nothing");
    // Nothing to read: the index stays.
    let empty = put(dir.path(), "empty.jsonl", b"");
    let none = BuildOptions { inputs: vec![empty], ..new };
    assert!(matches!(append(&index, &none, OnDuplicate::KeepAll), Err(Error::NoDocuments { .. })));
    assert_same(&index, &dir.path().join("direct"), "after nothing");
}

/// Enough text for a dictionary of zstd: the first index alone has enough to train that of the union, or only all do.
#[test]
fn stored_texts_have_the_bytes_of_the_build() {
    let dir = tempfile::tempdir().unwrap();
    let options = Options { store: true, ..PLAIN };
    for (documents, ends) in [(2400, vec![300, 1500]), (12_000, vec![11_000]), (12_000, vec![500, 600, 9000])] {
        let lines = lines(9, documents);
        let files = files(dir.path(), &lines, &ends);
        let direct = dir.path().join("direct");
        make(files.clone(), &direct, &options);
        let parts: Vec<PathBuf> = (0..files.len()).map(|i| dir.path().join(format!("part{i}"))).collect();
        parts.iter().zip(&files).for_each(|(part, file)| make(vec![file.clone()], part, &options));
        let all = dir.path().join("all");
        merged(&parts, &all);
        assert_same(&all, &direct, &format!("{documents} documents"));
        parts.iter().chain([&all, &direct]).for_each(|index| fs::remove_dir_all(index).unwrap());
    }
}

#[test]
fn other_options_are_refused_and_said() {
    let dir = tempfile::tempdir().unwrap();
    let files = files(dir.path(), &lines(3, 40), &[20]);
    let path = |name: &str| dir.path().join(name);
    make(vec![files[0].clone()], &path("a"), &PLAIN);
    for (options, expected) in [
        (Options { codecs: "vbyte", ..PLAIN }, "its choice of codecs is vbyte, not simdbp"),
        (Options { order: "random:1", ..PLAIN }, "its order is random:1, not input"),
        (Options { store: true, ..PLAIN }, "it has stored texts"),
        (Options { impacts: true, ..PLAIN }, "it has impacts"),
        (Options { tables: true, ..PLAIN }, "it has tables"),
    ] {
        let other = path("b");
        make(vec![files[1].clone()], &other, &options);
        let error = merge(&change(&[path("a"), other.clone()], &path("out"))).unwrap_err().to_string();
        assert!(error.contains(expected) && error.contains("cannot be merged with"), "{error}");
        assert!(!path("out").exists());
        fs::remove_dir_all(other).unwrap();
    }
    // Other orders are no matter if the union gets one of its own.
    make(vec![files[1].clone()], &path("b"), &Options { order: "random:1", ..PLAIN });
    let inputs = [path("a"), path("b")];
    let order = Some("url".parse().unwrap());
    merge(&Merge { order, ..change(&inputs, &path("out")) }).unwrap();
    make(files.clone(), &path("direct"), &Options { order: "url", ..PLAIN });
    assert_same(&path("out"), &path("direct"), "in order url");
    let target = merge(&change(&inputs[..1], &path("out"))).unwrap_err();
    assert!(matches!(target, Error::Exists { .. }), "{target}");
    assert!(merge(&change(&[], &path("none"))).is_err());
}

/// A byte that changed in any file that is read is named, and nothing is published.
#[test]
fn damage_in_an_input_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let options = Options { codecs: "vbyte,simdbp", order: "random:2", store: true, ..PLAIN };
    let files = files(dir.path(), &lines(4, 200), &[90]);
    let parts: Vec<PathBuf> = (0..2).map(|i| dir.path().join(format!("part{i}"))).collect();
    parts.iter().zip(&files).for_each(|(part, file)| make(vec![file.clone()], part, &options));
    let output = dir.path().join("out");
    let names: Vec<String> = Index::open(&parts[1]).unwrap().manifest().files.iter().map(|f| f.name.clone()).collect();
    for name in names {
        let path = parts[1].join(&name);
        let bytes = fs::read(&path).unwrap();
        for at in [70, bytes.len() / 2, bytes.len() - 1] {
            let mut changed = bytes.clone();
            changed[at] ^= 0x10;
            fs::write(&path, &changed).unwrap();
            let error = merge(&change(&parts, &output)).unwrap_err();
            let named = matches!(&error, Error::Damaged { path, .. } if path.ends_with(&name));
            assert!(named, "{name} at {at}: {error}");
        }
        fs::write(&path, &bytes[..bytes.len() - 4]).unwrap();
        assert!(merge(&change(&parts, &output)).is_err(), "{name} cut short");
        fs::write(&path, &bytes).unwrap();
    }
    let there: Vec<_> = fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(!there.iter().any(|name| name.to_string_lossy().contains("out")), "{there:?}");
    merged(&parts, &output);
}

#[test]
fn a_merge_that_is_stopped_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let part = dir.path().join("part");
    make(files(dir.path(), &lines(5, 300), &[]), &part, &PLAIN);
    let (parts, output) = (vec![part.clone(), part], dir.path().join("out"));
    let stopped = change(&parts, &output);
    stopped.means.cancel.store(true, std::sync::atomic::Ordering::Relaxed);
    assert!(matches!(merge(&stopped), Err(Error::Interrupted)));
    let little = Merge { means: Means::new(2, 1 << 20), ..change(&parts, &output) };
    assert!(matches!(merge(&little), Err(Error::Memory { .. })));
    assert!(!output.exists());
}

/// Runs gamut; its exit code, standard output and standard error.
fn gamut(args: &[&str], dir: &Path) -> (i32, String, String) {
    let out = std::process::Command::new(env!("CARGO_BIN_EXE_gamut")).args(args).current_dir(dir).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (out.status.code().unwrap(), text(&out.stdout), text(&out.stderr))
}

#[test]
fn the_commands_say_what_they_did() {
    let dir = tempfile::tempdir().unwrap();
    let files = files(dir.path(), &lines(8, 90), &[40, 60]);
    for (name, file) in ["a", "b"].iter().zip(&files) {
        make(vec![file.clone()], &dir.path().join(name), &PLAIN);
    }
    let run = |args: &[&str]| gamut(args, dir.path());
    let json = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    let (code, out, err) = run(&["merge", "a", "b", "-o", "all", "--quiet", "--json"]);
    assert_eq!((code, json(&out)["union"]["documents"].as_u64(), &*err), (0, Some(60), ""));
    let (code, out, err) = run(&["merge", "a", "b", "-o", "all"]);
    assert!(code == 2 && out.is_empty() && err.contains("already exists"), "{code} {out} {err}");
    let (code, out, _) = run(&["append", "all", "2.jsonl", "--quiet", "--json"]);
    assert_eq!(
        (code, json(&out)["appended"].as_u64(), json(&out)["union"]["documents"].as_u64()),
        (0, Some(30), Some(90))
    );
    let (code, out, err) = run(&["delete", "all", "--match", "id=d8?", "--dry-run"]);
    assert_eq!((code, out.lines().count(), &*err), (0, 10, ""));
    fs::write(dir.path().join("gone"), out + "d5\nnobody\n\n").unwrap();
    let (code, out, err) = run(&["delete", "all", "--ids", "gone", "--quiet"]);
    assert!(code == 0 && out.contains("11 documents deleted, 79 documents"), "{code} {out}");
    assert!(err.contains("no document has the id nobody"), "{err}");
    assert!(run(&["stats", "all", "--top", "0"]).1.contains("11   documents with"));
    for refused in
        [&["export", "all", "-o", "x.ciff"][..], &["reorder", "all", "--order", "url"], &["compare", "all", "a"]]
    {
        let (code, _, err) = run(refused);
        assert!(code == 2 && err.contains("has 11 deleted documents") && err.contains("--purge"), "{code} {err}");
    }
    let (code, _, err) = run(&["delete", "all", "--purge", "--dry-run"]);
    assert!(code == 0 && err.contains("11 documents that are deleted already"), "{err}");
    let (code, out, err) = run(&["delete", "all", "--purge", "--quiet"]);
    assert!(code == 0 && out.contains("0 documents deleted, 11 purged, 79 documents"), "{code} {out} {err}");
    let (code, out, _) = run(&["delete", "all", "--match", "id=d8?"]);
    assert!(code == 1 && out.contains("no document to delete"), "{code} {out}");
    let (code, _, err) = run(&["delete", "all"]);
    assert!(code == 2 && err.contains("--ids"), "{code} {err}");
    assert_eq!(run(&["verify", "all"]).0, 0);
    // Shards, each with the scores of the whole.
    for shard in ["a", "b"] {
        assert_eq!(run(&["stats", shard, "--terms", &format!("{shard}.tsv"), "--top", "0"]).0, 0);
    }
    assert_eq!(run(&["merge", "a", "b", "-o", "whole", "--quiet"]).0, 0);
    let scores = |args: &[&str]| {
        let (code, out, err) = run(&[&["query"], args, &["w3", "w4", "w5", "w6", "-k", "100", "--json"]].concat());
        assert_eq!(code, 0, "{err}");
        let hits = json(&out)["hits"].as_array().unwrap().clone();
        hits.iter().map(|hit| (hit["id"].to_string(), hit["score"].to_string())).collect::<BTreeMap<_, _>>()
    };
    let both = ["--statistics", "a.tsv", "--statistics", "b.tsv"];
    let mut found = scores(&[&["a"][..], &both].concat());
    found.extend(scores(&[&["b"][..], &both].concat()));
    let whole = scores(&["whole"]);
    assert!(whole.len() > 5 && found == whole, "{found:?} {whole:?}");
    assert!(scores(&["a"]).iter().any(|(id, score)| whole[id] != *score));
}
