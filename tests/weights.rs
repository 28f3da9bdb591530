//! Documents that are weights of terms, from JSON to answers.

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use common::{Random, all_files, put, word};
use serde_json::{Map, Value, json};

fn gamut(dir: &Path, line: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gamut"));
    command.current_dir(dir).env("XDG_CACHE_HOME", dir.join("cache")).args(line.split_whitespace());
    command.output().expect("the binary runs")
}

/// Runs a command that has to succeed.
fn done(dir: &Path, line: &str) -> String {
    let output = gamut(dir, line);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{line}: {said}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

const DOCUMENTS: usize = 700;
const SCALE: f64 = 40.0;

/// Weights of terms, some of which scaling makes 0, and some of which are long.
fn weights(random: &mut Random, terms: u64, most: u64) -> BTreeMap<String, f64> {
    let term = |random: &mut Random| match random.below(9) {
        0 => format!("##{}", word(random)),
        1 => word(random).repeat(7),
        _ => word(random),
    };
    (0..random.below(terms)).map(|_| (term(random), random.below(most) as f64 / 500.0)).collect()
}

fn documents() -> Vec<BTreeMap<String, f64>> {
    let mut random = Random(7);
    (0..DOCUMENTS).map(|_| weights(&mut random, 60, 3000)).collect()
}

fn lines(documents: &[BTreeMap<String, f64>], first: usize) -> String {
    let line = |(i, weights): (usize, &BTreeMap<String, f64>)| {
        json!({ "id": format!("d{i}"), "contents": "a text", "title": "wave tide", "model": { "vector": weights } })
            .to_string()
    };
    (first..).zip(documents).map(line).collect::<Vec<_>>().join("\n")
}

fn put_all(dir: &Path, documents: &[BTreeMap<String, f64>]) -> PathBuf {
    put(dir, "all.jsonl", lines(documents, 0).as_bytes())
}

const VECTORS: &str = "--vector-field model.vector --vector-scale 40";

/// The best 20 of each query, by adding everything up.
fn expected(documents: &[BTreeMap<String, f64>], queries: &[Map<String, Value>]) -> String {
    let whole = |weight: f64| (weight * SCALE).round() as u64;
    let mut run = String::new();
    for (q, terms) in queries.iter().enumerate() {
        let score = |weights: &BTreeMap<String, f64>| -> u64 {
            terms.iter().map(|(term, by)| weights.get(term).map_or(0, |&of| whole(of)) * by.as_u64().unwrap()).sum()
        };
        let mut hits: Vec<(u64, usize)> = documents.iter().map(score).zip(0..).filter(|hit| hit.0 > 0).collect();
        hits.sort_by_key(|&(score, doc)| (std::cmp::Reverse(score), doc));
        for (rank, (score, doc)) in hits.into_iter().take(20).enumerate() {
            run += &format!("{q} Q0 d{doc} {} {score} gamut\n", rank + 1);
        }
    }
    run
}

fn queries(dir: &Path) -> Vec<Map<String, Value>> {
    let mut random = Random(11);
    let queries = (0..60).map(|_| {
        let terms = weights(&mut random, 12, 100_000);
        terms.into_iter().map(|(term, weight)| (term, json!(1 + weight as u64))).collect()
    });
    let queries: Vec<Map<String, Value>> = queries.filter(|terms: &Map<_, _>| !terms.is_empty()).collect();
    let topics = (0..).zip(&queries).map(|(q, terms)| json!({ "id": q.to_string(), "terms": terms }).to_string());
    put(dir, "topics.jsonl", topics.collect::<Vec<_>>().join("\n").as_bytes());
    queries
}

#[test]
fn scores_are_sums_of_weights_by_every_method_and_in_every_order() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let documents = documents();
    put_all(dir, &documents);
    let expected = expected(&documents, &queries(dir));
    assert!(expected.lines().count() > 500);
    done(dir, &format!("index all.jsonl -o input {VECTORS} --codec simdbp:range=3 --threads 2 -q"));
    done(dir, &format!("index all.jsonl -o bp {VECTORS} --codec pef,simdbp --order bp --tables --threads 2 -q"));
    done(dir, "verify input");
    for (index, method) in [
        ("input", ""),
        ("input", "--or exhaustive"),
        ("input", "--or maxscore"),
        ("input", "--or block-max-maxscore"),
        ("input", "--or wand"),
        ("bp", ""),
        ("bp", "--codec pef --or block-max-wand"),
    ] {
        done(dir, &format!("query {index} --topics topics.jsonl --run run --engine cpu -k 20 -q {method}"));
        assert_eq!(fs::read_to_string(dir.join("run")).unwrap(), expected, "{index} {method}");
    }
}

/// The files of an index but its report, which has times.
fn bytes(dir: &Path, index: &str) -> BTreeMap<String, Vec<u8>> {
    let mut bytes = all_files(&dir.join(index));
    bytes.remove("build-report.json");
    bytes
}

#[test]
fn however_an_index_is_made_it_has_the_same_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let documents = documents();
    put_all(dir, &documents);
    let index = |options: &str| format!("index all.jsonl {VECTORS} -q {options}");
    done(dir, &index("-o whole --threads 2"));
    let whole = bytes(dir, "whole");
    for (i, how) in [
        "--threads 1 --memory 256MiB",
        "--block-keys 4096 --threads 2",
        "--block-keys 4096 --pipeline serial --sorter cpu",
        "--pipeline spimi",
        "--resume",
    ]
    .into_iter()
    .enumerate()
    {
        done(dir, &index(&format!("-o again{i} {how}")));
        assert!(bytes(dir, &format!("again{i}")) == whole, "{how}");
    }
    for part in 1..=3 {
        done(dir, &index(&format!("-o part{part} --part {part}/3")));
    }
    done(dir, "merge part1 part2 part3 -o merged -q");
    assert!(bytes(dir, "merged") == whole);
    done(dir, "reorder part2 --order random:3 -o moved -q");
    done(dir, "reorder moved --order input -q");
    assert!(bytes(dir, "moved") == bytes(dir, "part2"));
}

#[test]
fn changes_and_exchange_leave_answers_as_they_are() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let documents = documents();
    put_all(dir, &documents);
    put(dir, "1.jsonl", lines(&documents[..300], 0).as_bytes());
    put(dir, "2.jsonl", lines(&documents[300..], 300).as_bytes());
    done(dir, &format!("index 1.jsonl 2.jsonl -o whole {VECTORS} -q"));
    done(dir, &format!("index 1.jsonl -o grown {VECTORS} -q"));
    // the scale is that of the index
    done(dir, "append grown 2.jsonl --vector-field model.vector -q");
    assert!(bytes(dir, "grown") == bytes(dir, "whole"));
    put(dir, "ids", (300..700).map(|i| format!("d{i}\n")).collect::<String>().as_bytes());
    done(dir, "delete grown --ids ids --purge -q");
    done(dir, &format!("index 1.jsonl -o first {VECTORS} -q"));
    assert!(bytes(dir, "grown") == bytes(dir, "first"));
    done(dir, "export whole -o whole.ciff");
    done(dir, "import whole.ciff -o imported --as impacts -q");
    // nobody knows the scale of a CIFF file but who imports it
    done(dir, "import whole.ciff -o scaled --as impacts --vector-scale 70 -q");
    for change in ["merge first scaled -o both", "append scaled 2.jsonl --vector-field model.vector --vector-scale 40"]
    {
        let refused = gamut(dir, change);
        let said = String::from_utf8(refused.stderr).unwrap();
        assert!(refused.status.code() == Some(2) && said.contains("70") && said.contains("40"), "{said}");
    }
    let refused = gamut(dir, "import whole.ciff -o none --vector-scale 70");
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(refused.status.code() == Some(2) && said.contains("the file is read as one of frequencies"), "{said}");
    // or appends to it
    done(dir, "import whole.ciff -o more --as impacts --codec para-ef -q");
    put(dir, "more.jsonl", br#"{"id": "more", "vector": {"tide": 1.5}}"#);
    done(dir, "append more more.jsonl --vector-field vector --vector-scale 100 -q");
    let hits = done(dir, "query more tide -k 1000");
    assert!(hits.lines().any(|line| line.split_whitespace().skip(1).eq(["150", "more"])), "{hits}");
    queries(dir);
    let run = |options: &str| done(dir, &format!("query {options} --topics topics.jsonl --run - -k 20 -q"));
    let expected = run("whole");
    assert!(expected.lines().count() > 500);
    assert_eq!(run("imported"), expected);
    // a weight is the same whatever collection the index is a part of
    done(dir, "stats first --terms first.tsv");
    assert_eq!(run("whole --statistics first.tsv"), expected);
}

#[test]
fn what_does_not_fit_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let said = |line: &str| {
        let output = gamut(dir, line);
        (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let documents = [json!({"a": 1}), json!({"a": 256}), json!(7)];
    let lines = (1..).zip(documents).map(|(id, vector)| json!({ "id": id, "vector": vector }).to_string() + "\n");
    put(dir, "w.jsonl", lines.collect::<String>().as_bytes());
    put(dir, "ids", b"1\n");
    put(dir, "t.tsv", b"1\tsome words\n2\tmore words\n");
    put(dir, "t.jsonl", b"{\"id\": \"1\", \"text\": \"some words\"}\n");
    for (line, code, why) in [
        ("index w.jsonl -o i --vector-field vector --strict", 1, "the weight 256 of \"a\" is not from 0 to 255"),
        ("index w.jsonl -o j --vector-field vector", 0, "no object vector"),
        ("index w.jsonl -o k", 2, "\"vector\" has weights of terms, not a text"),
        ("index . -o mixed --vector-field vector -q", 0, ""),
        ("index t.tsv -o k --vector-field vector", 2, "t.tsv: it is tsv, and weights of terms are wanted"),
        (
            "index w.jsonl -o k --vector-field vector --vector-scale 0",
            2,
            "a scale of weights of 0.0: must be from 0.000001",
        ),
        ("index w.jsonl -o k --vector-field vector --store", 2, "cannot be used with"),
        ("append i t.jsonl", 2, "name the field with the weights of the new documents"),
        ("index t.jsonl -o texts --codec para-ef -q", 0, ""),
        ("append texts w.jsonl --vector-field vector", 2, "has terms of texts, and the new documents are weights"),
        ("merge i texts -o k", 2, "a tf is frequencies, not weights"),
        ("index w.jsonl -o scaled --vector-field vector --vector-scale 2 -q", 0, ""),
        ("merge i scaled -o k", 2, "its scale of weights is 2, not 1"),
        ("append i w.jsonl --vector-field vector --vector-scale 2", 2, "multiplied by 1, not by 2"),
        // nobody knows the scale of what was imported, and what it is merged with has one
        ("export i -o i.ciff -q", 0, ""),
        ("import i.ciff -o c --as impacts -q", 0, ""),
        ("merge c i scaled -o k", 2, "its scale of weights is 2, not 1"),
        ("merge c i -o ci -q", 0, ""),
        ("merge ci scaled -o k", 2, "its scale of weights is 2, not 1"),
        ("reencode i --drop impacts", 2, "are the scores of an index of weights"),
        ("query i a --scores bm25", 2, "are made of frequencies"),
        ("score i --topics t.tsv --pairs t.tsv --scores bm25", 2, "are made of frequencies"),
        (
            "index w.jsonl -o low --vector-field vector --vector-scale 0.3",
            0,
            "the greatest is 77 of 255; 1 weight rounded to 0",
        ),
        (
            "index w.jsonl -o k --vector-field vector --format tsv",
            2,
            "format tsv: has texts, and weights of terms are of JSON",
        ),
        ("index w.jsonl -o k --vector-field vector --order pagerank", 2, "goes with neither stored texts nor links"),
        ("query i a^1.5", 2, "take whole weights; multiply and round all weights\n"),
        ("dump i --text 1", 2, "has weights of terms, and no texts"),
        ("delete i --ids ids", 2, "--purge writes it anew without them"),
    ] {
        let (status, text) = said(line);
        assert!(status == code && text.contains(why), "{line}: {status}, {text}");
    }
    assert!(!dir.join("k").exists());
    let stats = done(dir, "stats i");
    assert!(stats.contains("json: weights of the field vector\n"), "{stats}");
}
