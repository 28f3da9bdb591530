//! `gamut query` as a user meets it: what is answered, explained and refused, on the CPU and, where there is an
//! adapter, on a GPU.

mod common;

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use common::put;
use gamut::query::and::AND;
use gamut::query::engine::PRESETS;
use gamut::query::method::EngineKind;
use gamut::query::or::OR;
use serde_json::Value;

fn gamut_with(args: &[&str], stdin: &[u8]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gamut"));
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the binary runs");
    // a command that refuses its options does not read
    let _ = child.stdin.take().expect("piped").write_all(stdin);
    child.wait_with_output().expect("it ends")
}

fn gamut(args: &[&str]) -> Output {
    gamut_with(args, b"")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// An index of 400 documents, and its path: "common" in all, "third" in every third …, "rare" in one; with the codecs
/// vbyte, raw and para-ef.
fn index(dir: &Path) -> String {
    let mut lines = String::new();
    for doc in 0..400 {
        let mut words = vec!["common".to_owned(); 1 + doc % 5];
        words.extend([3, 7, 50].iter().filter(|&n| doc % n == 0).map(|n| format!("every{n}")));
        words.extend((doc == 123).then(|| "rare".to_owned()));
        words.push(format!("word{doc}"));
        lines += &format!("{{\"id\": \"d{doc}\", \"contents\": \"{}\"}}\n", words.join(" "));
    }
    let input = put(dir, "collection.jsonl", lines.as_bytes());
    let out = dir.join("index").to_str().unwrap().to_owned();
    let options =
        ["--codec", "vbyte,raw,para-ef", "--sorter", "cpu", "--memory", "512MiB", "--threads", "2", "--impacts"];
    let built = gamut(&[&["index", input.to_str().unwrap(), "-o", &out], &options[..]].concat());
    assert_eq!(built.status.code(), Some(0), "{}", text(&built.stderr));
    out
}

/// Code, standard output and standard error.
fn run(index: &str, args: &[&str]) -> (i32, String, String) {
    let output = gamut(&[&["query", index], args].concat());
    (output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr))
}

/// The ids of the hits, best first.
fn ids(stdout: &str) -> Vec<&str> {
    stdout.lines().filter_map(|line| line.split_whitespace().nth(2)).collect()
}

#[test]
fn bad_queries_get_a_defined_answer() {
    let dir = tempfile::tempdir().unwrap();
    let index = index(dir.path());
    let nothing = [
        (vec![""], "the query has no terms"),
        (vec!["--", "?!"], "the query has no terms"),
        (vec!["unheard", "of"], "no document contains unheard, of"),
        (vec!["--mode", "and", "rare", "unheard"], "no document contains unheard; --mode or ignores them"),
        (vec!["--mode", "and", "rare", "every7"], "no document contains all terms; try --mode or"),
    ];
    for (args, why) in nothing {
        let (code, out, err) = run(&index, &args);
        assert_eq!((code, out.as_str()), (1, ""), "{args:?}: {err}");
        assert_eq!(err.trim_end(), format!("gamut: nothing found: {why}"), "{args:?}");
    }
    let (code, out, _) = run(&index, &["-k", "1000000", "common"]);
    assert_eq!((code, out.lines().count()), (0, 400), "k beyond the number of documents");
    let (_, once, _) = run(&index, &["rare"]);
    let (_, thrice, _) = run(&index, &["rare rare", "RARE"]);
    let score = |out: &str| out.split_whitespace().nth(1).unwrap().parse::<f64>().unwrap();
    assert_eq!((ids(&once), ids(&thrice)), (vec!["d123"], vec!["d123"]));
    assert!((score(&thrice) - 3.0 * score(&once)).abs() < 1e-3, "{thrice}{once}");
    // 10,000 terms, of which the index has 401
    let many: Vec<String> = (0..9_999).map(|i| format!("word{i}")).chain(["rare".to_owned()]).collect();
    let output = gamut_with(&["query", &index, "--json"], many.join(" ").as_bytes());
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["terms"].as_array().unwrap().len(), 10_000);
    assert_eq!(answer["hits"][0]["id"], "d123", "two terms");
}

#[test]
fn options_that_make_no_sense_are_refused_in_one_line() {
    let dir = tempfile::tempdir().unwrap();
    let index = index(dir.path());
    let refused: &[(&[&str], &str)] = &[
        (&["-k", "0"], "asks for no document"),
        (&["--mode", "and", "--or", "wand"], "--or wand: finds documents with any of the terms"),
        (&["--intersect", "gallop"], "--intersect gallop: finds documents with all of the terms"),
        (&["--intersect", "bogo", "--mode", "and"], "there are: merge, "),
        (&["--or", "bogo"], "there are: exhaustive, "),
        (&["--topk", "bogo"], "there are: selection, heap, partial-sort"),
        (&["--preset", "bogo"], "there are: ding, ao, wu, griffin, best"),
        (&["--preset", "ao"], "`gamut reencode"),
        (&["--codec", "pef"], "there are: raw, "),
        (&["--engine", "gpu", "--topk", "heap"], "runs on the CPU only"),
        (&["--engine", "gpu", "--or", "wand"], "runs on the CPU only"),
        (&["--engine", "gpu", "--device", "no such card"], "no such card"),
        (&["--engine", "cpu", "--device", "0"], "add --engine gpu"),
        (&["--or", "wand", "--gpu-memory", "1GiB"], "add --engine gpu"),
        (&["--engine", "cpu", "--preload"], "add --engine gpu"),
        (&["--migrate", "ratio"], "add --engine griffin"),
        (&["--engine", "griffin", "--mode", "and", "--migrate", "bogo"], "there are: ratio, length, learned, fixed"),
        (&["--engine", "griffin", "--mode", "and", "--migrate", "ratio=x"], "below is 0 to"),
        (&["--engine", "griffin", "--mode", "and", "--intersect", "daat"], "no query can move"),
        (&["--engine", "griffin", "--device", "all"], "one GPU"),
        (&["--k1", "-1"], "--k1"),
        (&["--b", "2"], "from 0 to 1"),
        (&["--scores", "impacts", "--b", "0.5"], "leave --k1 and --b out"),
        (&["--run", "x"], "--topics"),
        (&["--intersect", "pmf", "--mode", "and"], "runs on a GPU only"),
        (&["--batch", "para"], "--topics"),
    ];
    for (args, why) in refused {
        let (code, out, err) = run(&index, &[args, &["common"][..]].concat());
        assert_eq!((code, out.as_str()), (2, ""), "{args:?}: {err}");
        assert!(err.contains(why), "{args:?}: {err}");
        // clap's own errors have a usage behind them
        assert!(err.lines().count() == 1 || err.starts_with("error:"), "{args:?}: {err}");
    }
    let (code, _, err) = run(&index, &[]);
    assert_eq!(code, 2, "no query at all");
    assert!(err.contains("give one after the index"), "{err}");
}

#[test]
fn a_damaged_list_is_named_and_gives_no_result() {
    let dir = tempfile::tempdir().unwrap();
    let index = index(dir.path());
    let postings = Path::new(&index).join("raw").join("postings.bin");
    let mut bytes = std::fs::read(&postings).unwrap();
    let header = 64;
    bytes[header..].fill(0xff);
    std::fs::write(&postings, bytes).unwrap();
    for mode in ["and", "or"] {
        let (code, out, err) = run(&index, &["--codec", "raw", "--mode", mode, "--explain", "common", "every3"]);
        assert_eq!((code, out.as_str()), (2, ""), "{err}");
        assert!(err.contains("postings.bin: damaged at byte") && err.lines().count() == 1, "{err}");
    }
    // the other lists are not touched, and other queries of the same input are answered
    let (code, out, _) = run(&index, &["--codec", "vbyte", "--mode", "and", "common", "every50"]);
    assert_eq!((code, out.lines().count()), (0, 8));
    let output = gamut_with(&["query", &index, "--codec", "raw"], b"common\nrare\n");
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stdout).contains("d123"), "a term with one document lies in the dictionary");
}

#[test]
fn every_method_and_preset_gives_the_same_answer() {
    let dir = tempfile::tempdir().unwrap();
    let index = index(dir.path());
    let (_, and, _) = run(&index, &["--mode", "and", "common", "every3"]);
    for method in AND.on(EngineKind::Cpu).map(|method| method.name) {
        assert_eq!(run(&index, &["--mode", "and", "--intersect", method, "common", "every3"]).1, and, "{method}");
    }
    let (_, or, _) = run(&index, &["common", "every3"]);
    for method in OR.on(EngineKind::Cpu).map(|method| method.name).chain(["bmm"]) {
        assert_eq!(run(&index, &["--or", method, "--topk", "partial-sort", "common", "every3"]).1, or, "{method}");
    }
    for preset in ["griffin", "wu"] {
        assert_eq!(run(&index, &["--preset", preset, "common", "every3"]).1, or, "{preset}");
        assert_eq!(run(&index, &["--preset", preset, "--mode", "and", "common", "every3"]).1, and, "{preset}");
    }
    let (code, json, err) = run(&index, &["--preset", "ding", "--codec", "vbyte", "--json", "--explain", "common"]);
    assert_eq!(code, 0, "what is named besides a preset wins: {err}");
    let answer: Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&answer["codec"], &answer["engine"]), (&"vbyte".into(), &"cpu".into()));
    assert_eq!(answer["explain"]["methods"], serde_json::json!([["any term", "exhaustive"], ["top k", "heap"]]));
}

#[test]
fn an_explanation_says_what_was_done() {
    let dir = tempfile::tempdir().unwrap();
    let index = index(dir.path());
    let (code, out, err) = run(&index, &["--explain", "--or", "exhaustive", "-k", "2", "common every7", "unheard"]);
    assert_eq!(code, 0, "{err}");
    let lines: Vec<&str> = out.lines().collect();
    assert!(lines[3].starts_with("plan     any term; best 2 by BM25"), "{out}");
    assert_eq!(lines[4], "engine   cpu: any term by exhaustive, top k by selection");
    let row = |term: &str| -> Vec<&str> {
        let row = lines.iter().find(|line| line.starts_with(term)).expect("a row a term");
        row.split_whitespace().collect()
    };
    // 400 documents in blocks of 128, all of them scored
    let common = row("common");
    assert_eq!((common[1], common[2], common[5], common[7], common[8], common[9]), ("1", "400", "4", "4", "0", "400"));
    assert_eq!(row("unheard"), ["unheard", "1", "0"]);
    assert!(out.contains("5 of 5 blocks decoded, 458 of 458 postings scored, 400 documents ranked"), "{out}");
    assert!(lines.last().unwrap().starts_with("time     "), "{out}");
    let (_, json, _) = run(&index, &["--explain", "--json", "--mode", "and", "common", "rare"]);
    let explain = &serde_json::from_str::<Value>(&json).unwrap()["explain"];
    let term = &explain["terms"][0];
    assert_eq!((&term["term"], &term["df"], &term["blocks"]), (&"common".into(), &400.into(), &4.into()));
    assert_eq!(term["decoded"].as_u64().unwrap() + term["skipped"].as_u64().unwrap(), 4);
    assert_eq!(explain["terms"][1]["bytes"], 0, "a list of one document lies in the dictionary");
}

#[test]
fn queries_come_from_standard_input_too() {
    let dir = tempfile::tempdir().unwrap();
    let index = index(dir.path());
    let output = gamut_with(&["query", &index, "-k", "1"], b"rare\n\n  unheard \r\n:set k 5\nevery50");
    assert_eq!(output.status.code(), Some(0));
    let out = text(&output.stdout);
    let heads: Vec<&str> = out.lines().filter(|line| line.starts_with("> ")).collect();
    assert_eq!(heads, ["> rare", "> unheard", "> :set k 5", "> every50"], "commands are for the prompt");
    assert_eq!(text(&output.stderr).lines().count(), 2, "{}", text(&output.stderr));
    let output = gamut_with(&["query", &index, "--json", "--mode", "and"], b"rare\ncommon every50\n");
    let answers: Vec<Value> =
        text(&output.stdout).lines().map(|line| serde_json::from_str(line).expect("an object a line")).collect();
    assert_eq!(answers.iter().map(|a| a["hits"].as_array().unwrap().len()).collect::<Vec<_>>(), [1, 8]);
    assert_eq!(gamut_with(&["query", &index], b"unheard\n").status.code(), Some(1));
}

#[test]
fn queries_without_words_are_counted_and_named() {
    let dir = tempfile::tempdir().unwrap();
    let index = index(dir.path());
    let topics = put(dir.path(), "topics.tsv", b"1\trare\n2\t!?\n3\tunheard\n4\t\n");
    let path = dir.path().join("run");
    let files = ["--topics", topics.to_str().unwrap(), "--run", path.to_str().unwrap()];
    let (code, _, err) = run(&index, &files);
    assert_eq!(code, 0, "{err}");
    assert!(err.contains("1 of 4 topics") && err.ends_with("2 queries have no words: 2, 4\n"), "{err}");
}

#[test]
fn a_gpu_gives_the_same_documents() {
    let Some(device) = common::device() else { return };
    let dir = tempfile::tempdir().unwrap();
    let index = index(dir.path());
    let log: String = ["common every3", "rare", "every7 every50", "unheard", "", "every3 every3 word9", "every3 rare"]
        .iter()
        .enumerate()
        .map(|(i, query)| format!("{i}\t{query} \n"))
        .collect();
    let topics = put(dir.path(), "topics.tsv", log.as_bytes());
    let run_file = |mode: &str, more: &[&str]| {
        let path = dir.path().join("run");
        let files = ["--topics", topics.to_str().unwrap(), "--run", path.to_str().unwrap(), "-k", "500"];
        let (code, _, err) = run(&index, &[&["--mode", mode], &files[..], more].concat());
        assert_eq!(code, 0, "{err}");
        std::fs::read_to_string(path).unwrap()
    };
    for mode in ["and", "or", "and-or"] {
        let gpu = ["--engine", "gpu", "--device", &device];
        assert_eq!(run_file(mode, &gpu), run_file(mode, &[]), "{mode}");
        let buckets = ["--engine", "gpu", "--device", &device, "--batch", "buckets:size=2", "--preset", "wu"];
        assert_eq!(run_file(mode, &buckets), run_file(mode, &[]), "{mode}");
        for rule in ["ratio=128", "length=100", "fixed=gpu-cpu"] {
            let both = ["--engine", "griffin", "--device", &device, "--codec", "vbyte+para-ef", "--migrate", rule];
            assert_eq!(run_file(mode, &both), run_file(mode, &[]), "{mode} by {rule}");
        }
    }
    // a query that starts on the GPU and moves; one codec is missing
    let griffin = ["--preset", "griffin", "--device", &device, "--mode", "and", "--explain", "--migrate", "ratio=10"];
    let (code, out, err) = run(&index, &[&griffin[..], &["every50", "every7", "common"]].concat());
    assert_eq!(code, 0, "{err}");
    assert!(err.contains("does not have codec pfor, so the CPU reads para-ef, too"), "{err}");
    assert!(out.contains("engine   griffin, ") && out.contains(", ratio=10, top k by partial-sort"), "{out}");
    assert!(out.contains("moved once: 16 bytes in "), "two documents: {out}");
    let gpu = ["--engine", "gpu", "--device", &device, "--preload", "--gpu-memory", "64MiB", "--explain"];
    let (code, out, err) = run(&index, &[&gpu[..], &["common", "every3"]].concat());
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("engine   gpu, ") && out.contains("ranges of docIDs queued"), "{out}");
    let refused: [(&[&str], &str); 2] = [
        (&["--mode", "and", "--intersect", "pmf:levels=9"], "levels is 0 to 4"),
        (&["--mode", "and", "--intersect", "lrc"], "choose another intersector or codec"),
    ];
    for (args, why) in refused {
        let (code, _, err) = run(&index, &[args, &["--engine", "gpu", "--device", &device, "common"]].concat());
        assert!(code == 2 && err.contains(why) && err.lines().count() == 1, "{err}");
    }
    // each preset, wherever it answers
    assert_eq!(gamut(&["reencode", &index, "--codec", "pfor-recursive,hs-lrc,pfor,simdbp"]).status.code(), Some(0));
    for (preset, mode) in PRESETS.iter().flat_map(|preset| ["and", "or", "and-or"].map(|mode| (preset.name, mode))) {
        let expected = run_file(mode, &["--engine", "cpu", "--codec", "raw"]);
        let engines: [&[&str]; 3] = [&["cpu"], &["gpu", "--device", &device], &["griffin", "--device", &device]];
        for engine in engines {
            let given = [&["--preset", preset, "--engine"], engine].concat();
            assert_eq!(run_file(mode, &given), expected, "{preset}, {mode}, {engine:?}");
        }
    }
    // What is read is not written over, and standard output has no name.
    let topics = dir.path().join("topics");
    std::fs::write(&topics, "1\trare\n").unwrap();
    let topics = topics.to_str().unwrap();
    let (code, _, err) = run(&index, &["--topics", topics, "--run", topics]);
    assert!(code == 2 && err.contains("is the file of --topics"), "{err}");
    assert_eq!(std::fs::read(topics).unwrap(), b"1\trare\n");
    let statistics = dir.path().join("statistics");
    let statistics = statistics.to_str().unwrap();
    assert_eq!(gamut(&["stats", &index, "--terms", statistics]).status.code(), Some(0));
    let (run_file, manifest) = (dir.path().join("never"), format!("{index}/manifest.json"));
    let never = run_file.to_str().unwrap();
    for (args, why) in [
        (&["--run", &manifest][..], "lies in the index"),
        (&["--run", never, "--times", &manifest], "would lie in the index"),
        (&["--run", statistics, "--statistics", statistics], "is the file of --statistics"),
        (&["--run", never, "--times", topics], "is the file of --topics"),
        (&["--run", never, "--times", never], "is the file of --run"),
    ] {
        let (code, _, err) = run(&index, &[&["--topics", topics], args].concat());
        assert!(code == 2 && err.contains(why) && !run_file.exists(), "{args:?}: {err}");
    }
    let pairs = ["score", &index, "--topics", topics, "--pairs", topics, "--run"];
    for (file, why) in [(&manifest[..], "lies in the index"), (topics, "is the file of --topics")] {
        let out = gamut(&[&pairs[..], &[file]].concat());
        assert!(out.status.code() == Some(2) && text(&out.stderr).contains(why), "{}", text(&out.stderr));
    }
    assert_eq!(gamut(&["verify", &index]).status.code(), Some(0));
    // Two of the same statistics would count documents twice.
    let (code, _, err) = run(&index, &["--statistics", statistics, "--statistics", statistics, "rare"]);
    assert!(code == 2 && err.contains("is given twice"), "{err}");
    let (code, out, err) = run(&index, &["--topics", topics, "--run", "-", "-q", "--run-format", "msmarco"]);
    assert_eq!((code, &out[..], &err[..]), (0, "1\td123\t1\n", ""));
    // --json is --run-format json, and no other
    let by = |form: &[&str]| run(&index, &[&["--topics", topics, "--run", "-", "-q"], form].concat());
    let (code, out, err) = by(&["--json"]);
    assert!(code == 0 && out.starts_with("{\"id\":\"1\",\"hits\":[{\"rank\":1,\"id\":\"d123\""), "{out}{err}");
    assert_eq!(out, by(&["--run-format", "json"]).1);
    assert_eq!(out, by(&["--run-format", "json", "--json"]).1);
    let (code, _, err) = by(&["--run-format", "tsv", "--json"]);
    assert!(code == 2 && err.contains("stands for --run-format json"), "{err}");
    // What is wrong with a topic names it.
    let heavy = put(dir.path(), "heavy.jsonl", b"{\"id\": \"q7\", \"terms\": {\"rare\": 1e30}}\n");
    let (code, _, err) = run(&index, &["--topics", heavy.to_str().unwrap(), "--run", "-"]);
    assert!(code == 2 && err.contains("heavy.jsonl: topic q7: weight"), "{err}");
    // Judgements are read before the queries are answered.
    let (qrels, unwritten) = (dir.path().join("qrels"), dir.path().join("unwritten"));
    let measured = ["--topics", "-", "--run", unwritten.to_str().unwrap(), "--qrels", qrels.to_str().unwrap()];
    for judgements in [None, Some("1 0 d1\n")] {
        judgements.iter().for_each(|text| std::fs::write(&qrels, text).unwrap());
        let (code, _, err) = run(&index, &measured);
        assert!(code == 2 && err.contains("qrels") && !unwritten.exists(), "{judgements:?}: {err}");
    }
}

/// A weight is as many words, wherever it comes from.
#[test]
fn weights_count_as_repeated_words() {
    let dir = tempfile::tempdir().unwrap();
    let index = index(dir.path());
    let answer = |words: &str| run(&index, &["--mode", "or", "-k", "20", words]);
    assert_eq!(answer("every3^3 every7").1, answer("every3 every7 every3 every3").1);
    assert_ne!(answer("every3^0.25 every7").1, answer("every3 every7").1);
    let (code, _, error) = answer("every3^0 every7");
    assert!(code == 2 && error.contains("weight 0 of \"every3\""), "{error}");
    let (code, hits, _) = answer("every3^-2");
    assert!(code == 0 && hits.lines().count() == 20 && hits.contains("  -1.002"), "{hits}");
    assert_eq!(run(&index, &["--or", "exhaustive", "-k", "20", "every3^-2"]).1, hits);
    let (code, _, error) = run(&index, &["--or", "wand", "every3^-2 every7"]);
    assert!(code == 2 && error.contains("--or wand") && error.contains("choose one of exhaustive"), "{error}");
    let topics = [
        ("weights", "{\"id\": 1, \"terms\": {\"every3\": 3, \"every7\": 1}}\n{\"id\": 2, \"query\": \"rare\"}\n"),
        ("words", "1\tevery3 every3 every3 every7\n2\trare\n"),
    ];
    let runs = topics.map(|(name, lines)| {
        let topics = put(dir.path(), &format!("{name}.topics"), lines.as_bytes());
        let out = dir.path().join(name);
        let files = ["--topics", topics.to_str().unwrap(), "--run", out.to_str().unwrap()];
        assert_eq!(run(&index, &files).0, 0);
        std::fs::read(out).unwrap()
    });
    assert!(!runs[0].is_empty() && runs[0] == runs[1]);
}

/// A process that is killed leaves what the next one goes on with.
#[test]
fn a_killed_run_goes_on_and_gives_the_same_file() {
    let dir = tempfile::tempdir().unwrap();
    let index = index(dir.path());
    let lines: String =
        (0..20_000).map(|i| format!("q{i}\tcommon every{} word{}\n", [3, 7, 50][i % 3], i % 400)).collect();
    let topics = put(dir.path(), "topics.tsv", lines.as_bytes());
    let [whole, path] = ["whole", "run"].map(|name| dir.path().join(name));
    // so great a k makes windows of 64 queries
    let args = |run: &Path| {
        let files = ["--topics", topics.to_str().unwrap(), "--run", run.to_str().unwrap(), "-k", "100000"];
        files.map(str::to_owned)
    };
    let (code, _, err) = run(&index, &args(&whole).each_ref().map(String::as_str));
    assert_eq!(code, 0, "{err}");
    let mark = dir.path().join(".run.resume");
    let (mut kills, mut begun) = (0, std::time::Instant::now());
    loop {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gamut"));
        command.args(["query", &index]).args(args(&path)).arg("--resume").stderr(Stdio::piped());
        let mut child = command.spawn().expect("the binary runs");
        let before = std::fs::read(&mark).ok();
        // until it has noted something, and a bit longer
        let ended = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break Some(status);
            }
            if std::fs::read(&mark).ok() != before {
                std::thread::sleep(std::time::Duration::from_millis(17 * kills % 50));
                break None;
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
        };
        assert!(begun.elapsed().as_secs() < 300, "each process goes on");
        if let Some(status) = ended {
            assert_eq!(status.code(), Some(0), "{}", text(&child.wait_with_output().unwrap().stderr));
            break;
        }
        child.kill().unwrap();
        child.wait().unwrap();
        kills += 1;
        begun = std::time::Instant::now();
        // it may have ended just before
        if path.exists() {
            assert!(
                std::fs::read(&whole).unwrap() == std::fs::read(&path).unwrap(),
                "a file that is there is complete"
            );
            if !mark.exists() {
                break;
            }
        }
    }
    assert!(std::fs::read(&whole).unwrap() == std::fs::read(&path).unwrap(), "after {kills} kills");
    assert!(kills > 0, "a run takes longer than it takes to note something");
    assert!(!mark.exists() && !dir.path().join(".run.part").exists());
}

#[test]
fn topics_come_from_standard_input_and_go_into_three_formats() {
    let dir = tempfile::tempdir().unwrap();
    let index = index(dir.path());
    let path = dir.path().join("run");
    let formats = [
        ("trec", "a Q0 d123 1 "),
        ("tsv", "a\td123\t1\t"),
        ("json", "{\"id\":\"a\",\"hits\":[{\"rank\":1,\"id\":\"d123\",\"score\":"),
    ];
    for (format, start) in formats {
        let args = ["query", &index, "--topics", "-", "--run", path.to_str().unwrap(), "--run-format", format];
        let output = gamut_with(&args, b"a\trare\nb\tunheard\n");
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let lines = std::fs::read_to_string(&path).unwrap();
        assert!(lines.starts_with(start), "{lines}");
        assert_eq!(lines.lines().count(), if format == "json" { 2 } else { 1 }, "{lines}");
    }
    let several = "rare\ncommon rare\nevery common\n".repeat(40);
    let files = ["--topics", "-", "--run", path.to_str().unwrap()];
    let by = |threads: &[&str]| {
        let output = gamut_with(&[&["query", &index][..], &files, threads].concat(), several.as_bytes());
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        std::fs::read(&path).unwrap()
    };
    let all = by(&[]);
    for threads in ["1", "3"] {
        assert!(by(&["--threads", threads]) == all, "{threads} threads");
    }
    // standard input and standard output are no files, and none takes the place of the other
    for (files, stdin) in [
        (&["--topics", "-", "--run", "-"][..], "1\trare\n"),
        (&["--topics", path.to_str().unwrap(), "--run", "-", "--within", "-"], "d123\n"),
    ] {
        std::fs::write(&path, "1\trare\n").unwrap();
        let output = gamut_with(&[&["query", &index], files].concat(), stdin.as_bytes());
        assert!(text(&output.stdout).starts_with("1 Q0 d123 1 "), "{files:?}: {}", text(&output.stderr));
    }
    let within = Command::new(env!("CARGO_BIN_EXE_gamut"))
        .args(["query", ".", "--topics", path.to_str().unwrap(), "--run", "-"])
        .current_dir(&index)
        .output()
        .unwrap();
    assert!(text(&within.stdout).starts_with("1 Q0 d123 1 "), "{}", text(&within.stderr));
    let refused: [(&[&str], &str); 6] = [
        (&["--qrels", "-"], "--qrels and --topics name it"),
        (&["--run-format", "tsv", "--tag", "x"], "a column of --run-format trec"),
        (&["--tag", "x y"], "must be one word"),
        (&["--run", "/dev/null", "--resume"], "no plain file"),
        (&["--run", "/dev/null", "--qrels", "qrels"], "/dev/null is none"),
        (&["--within", "-"], "from where the queries come"),
    ];
    for (more, why) in refused {
        let files = if more.contains(&"--run") { &files[..2] } else { &files[..] };
        let (code, _, err) = run(&index, &[files, more].concat());
        assert!(code == 2 && err.contains(why) && err.lines().count() == 1, "{err}");
    }
}
