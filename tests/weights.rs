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

#[test]
fn parts_and_changes_give_the_same_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let documents = documents();
    put_all(dir, &documents);
    put(dir, "1.jsonl", lines(&documents[..300], 0).as_bytes());
    put(dir, "2.jsonl", lines(&documents[300..], 300).as_bytes());
    let without_report = |index: &str| {
        let mut bytes = all_files(&dir.join(index));
        bytes.remove("build-report.json");
        bytes
    };
    done(dir, &format!("index 1.jsonl 2.jsonl -o whole {VECTORS} --threads 2 -q"));
    let whole = without_report("whole");
    for (number, memory) in [(1, "256MiB"), (2, "1GiB")] {
        done(dir, &format!("index {number}.jsonl -o part{number} {VECTORS} --memory {memory} --threads 1 -q"));
    }
    done(dir, "merge part1 part2 -o merged -q");
    assert!(without_report("merged") == whole);
    done(dir, &format!("append part1 2.jsonl {VECTORS} -q"));
    assert!(without_report("part1") == whole);
    done(dir, &format!("index all.jsonl -o resumed {VECTORS} --resume --threads 2 -q"));
    assert!(without_report("resumed") == whole);
    done(dir, "reorder part2 --order random:3 -o moved -q");
    done(dir, "reorder moved --order input -q");
    assert!(without_report("moved") == without_report("part2"));
    done(dir, "export whole -o whole.ciff");
    done(dir, "import whole.ciff -o imported --as impacts -q");
    queries(dir);
    let run = |index: &str| done(dir, &format!("query {index} --topics topics.jsonl --run - -k 20 -q"));
    assert!(run("whole").lines().count() > 500);
    assert_eq!(run("whole"), run("imported"));
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
    put(dir, "t.tsv", b"1\tsome words\n2\tmore words\n");
    put(dir, "t.jsonl", b"{\"id\": \"1\", \"text\": \"some words\"}\n");
    for (line, code, why) in [
        ("index w.jsonl -o i --vector-field vector --strict", 1, "the weight 256 of \"a\" is not from 0 to 255"),
        ("index w.jsonl -o j --vector-field vector", 0, "no object vector"),
        ("index w.jsonl -o k", 2, "\"vector\" has weights of terms, not a text"),
        ("index t.tsv -o k --vector-field vector", 2, "it is a text, and weights of terms are wanted"),
        ("index w.jsonl -o k --vector-field vector --vector-scale 0", 2, "a scale of weights of 0: must be above 0"),
        ("index w.jsonl -o k --vector-field vector --store", 2, "cannot be used with"),
        ("append i t.jsonl", 2, "name the field with the weights of the new documents"),
        ("index t.jsonl -o texts -q", 0, ""),
        ("append texts w.jsonl --vector-field vector", 2, "has terms of texts, and the new documents are weights"),
        ("merge i texts -o k", 2, ""),
    ] {
        let (status, text) = said(line);
        assert!(status == code && text.contains(why), "{line}: {status}, {text}");
    }
    assert!(!dir.join("k").exists());
    let stats = done(dir, "stats i");
    assert!(stats.contains("json: weights of the field vector\n"), "{stats}");
}
