//! `gamut score` and `gamut query --within` as their users run them: scores of pairs are those of whole rankings, and a
//! search within some documents is a whole ranking less the others.

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use common::{Random, put, word};

fn run(dir: &Path, args: &[&str]) -> (i32, String, String) {
    let out = Command::new(env!("CARGO_BIN_EXE_gamut")).current_dir(dir).args(args).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (out.status.code().unwrap(), text(out.stdout), text(out.stderr))
}

/// An index of 2,000 documents in another order than the input's, some ids with spaces, one twice, and 30 topics.
fn make(dir: &Path) {
    let mut random = Random(5);
    let id = |i: usize| match i {
        1999 => "d7".to_owned(),
        i if i % 50 == 0 => format!("d {i}"),
        i => format!("d{i}"),
    };
    let line = |i: usize, random: &mut Random| {
        let text: String = (0..3 + random.below(60)).map(|_| word(random) + " ").collect();
        serde_json::json!({ "id": id(i), "contents": text }).to_string() + "\n"
    };
    let lines: String = (0..2000).map(|i| line(i, &mut random)).collect();
    put(dir, "c.jsonl", lines.as_bytes());
    let topic = |i: usize, random: &mut Random| {
        format!("q{i}\t{}\n", (0..1 + i % 5).map(|_| word(random)).collect::<Vec<_>>().join(" "))
    };
    let topics: String = (0..30).map(|i| topic(i, &mut random)).collect();
    put(dir, "topics.tsv", topics.as_bytes());
    let args = ["index", "c.jsonl", "-o", "out", "--impacts", "--order", "random:3", "--sorter", "cpu", "-q"];
    assert_eq!(run(dir, &args).0, 0);
}

/// Query and document → rank and score, of a run in TREC's form.
fn parsed(text: &str) -> BTreeMap<(String, String), (usize, String)> {
    let line = |line: &str| {
        let fields: Vec<&str> = line.split(' ').collect();
        assert_eq!((fields.len(), fields[1], fields[5]), (6, "Q0", "gamut"), "{line}");
        ((fields[0].to_owned(), fields[2].to_owned()), (fields[3].parse().unwrap(), fields[4].to_owned()))
    };
    text.lines().map(line).collect()
}

#[test]
fn scores_of_pairs_are_those_of_rankings() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    make(dir);
    for more in [&["--scores", "bm25"][..], &["--scores", "impacts"], &["--k1", "1.6", "--b", "0.2"]] {
        let args = [&["query", "out", "--topics", "topics.tsv", "--run", "all.run", "-k", "5000"], more].concat();
        assert_eq!(run(dir, &args).0, 0);
        let whole = fs::read_to_string(dir.join("all.run")).unwrap();
        let all = parsed(&whole);
        // Each seventh line of the ranking, in another order; then a document without the words, and twice the same.
        // Of two documents with one id only one has a score.
        let mut lines: Vec<&str> = whole.lines().filter(|line| !line.contains(" d7 ")).step_by(7).collect();
        lines.reverse();
        let pairs: Vec<String> = lines.iter().map(|line| line.to_string()).collect();
        let missing = (1..50).map(|i| format!("d{i}")).find(|id| !all.contains_key(&("q0".to_owned(), id.clone())));
        let missing = missing.unwrap();
        let extra = [format!("q0 Q0 {missing} 1 1 x"), pairs[0].clone()];
        put(dir, "pairs.run", (pairs.join("\n") + "\n" + &extra.join("\n") + "\n").as_bytes());
        let args = [&["score", "out", "--topics", "topics.tsv", "--pairs", "pairs.run"], more].concat();
        let (code, out, err) = run(dir, &args);
        assert_eq!(code, 0, "{err}");
        let count = pairs.len() + 1;
        assert!(err.contains(&format!("{count} of {} pairs scored", count + 1)), "{err}");
        let scored = parsed(&out);
        assert_eq!(scored.len(), count);
        assert_eq!(scored[&("q0".to_owned(), missing.clone())].1, "0");
        for line in &pairs {
            let fields: Vec<&str> = line.split(' ').collect();
            let key = (fields[0].to_owned(), fields[2].to_owned());
            assert_eq!(scored[&key].1, all[&key].1, "{key:?}");
        }
        // In a query, the order of the whole ranking.
        let mut ranks: BTreeMap<&str, Vec<(usize, usize)>> = BTreeMap::new();
        for (key, (rank, _)) in &scored {
            let whole = all.get(key).map_or(usize::MAX, |(rank, _)| *rank);
            ranks.entry(&key.0).or_default().push((*rank, whole));
        }
        for (query, mut ranks) in ranks {
            ranks.sort_unstable();
            assert!(ranks.iter().map(|(rank, _)| *rank).eq(1..=ranks.len()), "{query}");
            assert!(ranks.windows(2).all(|pair| pair[0].1 < pair[1].1), "{query}: {ranks:?}");
        }
        // As a file, and the best two of each query.
        let args = [&args[..], &["--run", "scored.run", "-k", "2", "-q"]].concat();
        let (code, out, err) = run(dir, &args);
        assert_eq!((code, out.as_str(), err.as_str()), (0, "", ""));
        let best = parsed(&fs::read_to_string(dir.join("scored.run")).unwrap());
        let expected = scored.into_iter().filter(|(_, (rank, _))| *rank <= 2).collect::<BTreeMap<_, _>>();
        assert_eq!(best, expected);
    }
}

#[test]
fn what_is_missing_is_said() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    make(dir);
    put(dir, "pairs", b"q1 d1\nq1 nothing\nq99 d1\nq1 d7\nq2 d%2050\n");
    let (code, out, err) =
        run(dir, &["score", "out", "--topics", "topics.tsv", "--pairs", "pairs", "--run-format", "tsv"]);
    assert_eq!(code, 0, "{err}");
    let pairs: Vec<Vec<&str>> = out.lines().map(|line| line.split('\t').take(2).collect()).collect();
    assert_eq!(pairs.len(), 3, "{out}");
    assert!(pairs.contains(&vec!["q2", "d 50"]), "{out}");
    for line in [
        "gamut: 1 query of the pairs is not among the topics: q99\n",
        "gamut: 1 document of the pairs is not in the index: nothing\n",
        "gamut: 1 id is of several documents, and stands for the first of the input: d7\n",
        "3 of 5 pairs scored in ",
    ] {
        assert!(err.contains(line), "{line}{err}");
    }
    put(dir, "none", b"q99 d1\n");
    assert_eq!(run(dir, &["score", "out", "--topics", "topics.tsv", "--pairs", "none"]).0, 1);
    put(dir, "bad", b"q1 d1\nq2\n");
    let (code, out, err) = run(dir, &["score", "out", "--topics", "topics.tsv", "--pairs", "bad", "--run", "x"]);
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(err.starts_with("gamut: line 2 of bad: has neither 2 columns") && !dir.join("x").exists(), "{err}");
    let (code, _, err) = run(dir, &["score", "out", "--topics", "-", "--pairs", "-"]);
    assert!(code == 2 && err.contains("cannot have both"), "{err}");
}

#[test]
fn within_is_the_whole_ranking_less_the_others() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    make(dir);
    put(dir, "none.txt", b"nothing\n");
    for (step, k) in [(2, 10), (2, 1000), (40, 10), (700, 10)] {
        let ids: Vec<String> =
            (0..2000).step_by(step).map(|i| if i % 50 == 0 { format!("d {i}") } else { format!("d{i}") }).collect();
        put(dir, "ids.txt", (ids.join("\n") + "\n").as_bytes());
        for mode in ["or", "and"] {
            let all = ["query", "out", "--topics", "topics.tsv", "--mode", mode, "--run", "all.run", "-k", "5000"];
            run(dir, &all);
            let mut expected = String::new();
            let (mut query, mut rank) = (String::new(), 0);
            for line in fs::read_to_string(dir.join("all.run")).unwrap().lines() {
                let fields: Vec<&str> = line.split(' ').collect();
                if query != fields[0] {
                    (query, rank) = (fields[0].to_owned(), 0);
                }
                if ids.contains(&fields[2].replace("%20", " ")) && rank < k {
                    rank += 1;
                    expected += &format!("{} Q0 {} {rank} {} gamut\n", fields[0], fields[2], fields[4]);
                }
            }
            let k = k.to_string();
            let args = [
                "query",
                "out",
                "--topics",
                "topics.tsv",
                "--mode",
                mode,
                "--run",
                "some.run",
                "-k",
                &k,
                "--within",
                "ids.txt",
            ];
            let (code, _, err) = run(dir, &args);
            assert_eq!(code, i32::from(expected.is_empty()), "{err}");
            assert_eq!(fs::read_to_string(dir.join("some.run")).unwrap(), expected, "{mode}, every {step}th");
        }
    }
    let (code, out, err) = run(dir, &["query", "out", "--within", "none.txt", "word"]);
    assert_eq!((code, out.as_str()), (1, ""));
    assert!(err.contains("no document has the id nothing"), "{err}");
    let (code, _, err) = run(dir, &["query", "out", "--within", "-"]);
    assert!(code == 2 && err.contains("from where the queries come"), "{err}");
    for engine in [&["--engine", "gpu"][..], &["--preload"], &["--engine", "griffin"]] {
        let (code, _, err) = run(dir, &[&["query", "out", "--within", "ids.txt", "word"], engine].concat());
        assert!(code == 2 && err.contains("--within") && err.contains("the CPU"), "{err}");
    }
}
