//! `--engine auto` and `gamut calibrate` as a user meets them.

mod common;

use common::put;
use gamut::gpu::adapters;
use gamut::index::Index;
use gamut::query::Mode;
use gamut::query::cost::file::{Calibration, DeviceFacts, DeviceId, Facts, Kept};
use gamut::query::cost::{FEWEST, Features, Learned, OnGpu};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// Code, standard output and standard error of gamut with a cache of its own.
fn gamut(cache: &Path, args: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gamut"));
    let output =
        command.args(args).env("XDG_CACHE_HOME", cache).stdin(Stdio::null()).output().expect("the binary runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    (output.status.code().unwrap_or(-1), text(output.stdout), text(output.stderr))
}

/// An index of 200 documents, and a log of 100 different queries and some others.
fn index_and_log(dir: &Path) -> (String, String) {
    let document =
        |i: usize| format!("{{\"id\": \"d{i}\", \"contents\": \"all word{} word{} word{}\"}}\n", i % 3, i % 7, i % 100);
    let input = put(dir, "collection.jsonl", (0..200).map(document).collect::<String>().as_bytes());
    let query = |i: usize| format!("q{i}\tall word{i}\nz{i}\tword{i} unheard\n");
    let log = put(dir, "log.tsv", (0..100).map(query).collect::<String>().as_bytes());
    let out = dir.join("index").to_str().unwrap().to_owned();
    let (code, _, err) = gamut(dir, &["index", input.to_str().unwrap(), "-o", &out, "--sorter", "cpu"]);
    assert_eq!(code, 0, "{err}");
    (out, log.to_str().unwrap().to_owned())
}

#[test]
fn a_calibration_is_made_shown_used_and_refused_when_damaged() {
    let dir = tempfile::tempdir().unwrap();
    let (index, log) = index_and_log(dir.path());
    let (code, out, _) = gamut(dir.path(), &["calibrate", &index, "--show"]);
    assert_eq!((code, out.as_str()), (0, "nothing is known of this index; a rule stands for what queries cost\n"));
    let explain = || {
        let (code, out, err) = gamut(dir.path(), &["query", &index, "--explain", "all", "word5"]);
        assert_eq!(code, 0, "{err}");
        let line = out.lines().find(|line| line.starts_with("auto ")).expect("says why").to_owned();
        (line, err)
    };
    let (line, err) = explain();
    assert!(line.contains("to open it: too much for one query; costs by rule") && err.is_empty(), "{line}{err}");
    let calibrate = ["calibrate", &index, "--topics", &log, "--rounds", "1"];
    let (code, out, err) = gamut(dir.path(), &[&calibrate[..], &["--device", "none"]].concat());
    assert_eq!(code, 0, "{err}");
    for part in ["100 queries", "CPU, one thread", "20 %", "kept in "] {
        assert!(out.contains(part), "{part} in {out}");
    }
    assert!(!out.contains("GPU, in batches"), "{out}");
    let (_, shown, _) = gamut(dir.path(), &["calibrate", &index, "--show"]);
    assert!(shown.contains("100 queries, measured ") && shown.contains("CPU, one thread"), "{shown}");
    let (line, _) = explain();
    assert!(line.ends_with("costs by calibration and rule"), "{line}");
    let path = out.lines().find_map(|line| line.strip_prefix("kept in ")).expect("a file").to_owned();
    let mut bytes = fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&path, bytes).unwrap();
    let (line, err) = explain();
    assert!(line.ends_with("costs by rule"), "{line}");
    assert!(err.lines().count() == 1 && err.contains(&path) && err.contains("gamut calibrate"), "{err}");
    // what it cannot do is said in a line
    let few = put(dir.path(), "few.txt", b"all\nword1\n");
    for (args, why) in [
        (&["--topics", few.to_str().unwrap()][..], "2 different queries of known words were taken of "),
        (&["--topics", &log, "--device", "no such card"], "no such card"),
        (&["--topics", &log, "--mode", "and-or"], "leave it out"),
        (&["--topics", "nothing"], "nothing"),
    ] {
        let (code, out, err) = gamut(dir.path(), &[&["calibrate", &index], args].concat());
        assert_eq!((code, out.as_str()), (2, ""), "{args:?}");
        assert!(err.contains(why) && err.lines().filter(|line| line.starts_with("gamut: ")).count() > 0, "{err}");
    }
}

/// A calibration by which a GPU is free makes `auto` take it, and the run file is the same.
#[test]
fn auto_writes_the_same_run_file_on_either_processor() {
    let dir = tempfile::tempdir().unwrap();
    let (index, log) = index_and_log(dir.path());
    // few queries are not worth a thought
    let lines = fs::read_to_string(&log).unwrap();
    let again = |turn: usize| lines.lines().map(move |line| format!("{turn}-{line}\n"));
    fs::write(&log, (0..40).flat_map(again).collect::<String>()).unwrap();
    let run = |name: &str, args: &[&str]| {
        let path = dir.path().join(name);
        let files = ["query", &index, "--topics", &log, "--run", path.to_str().unwrap()];
        let (code, _, err) = gamut(dir.path(), &[&files[..], args].concat());
        assert_eq!(code, 0, "{err}");
        (fs::read(path).unwrap(), err)
    };
    let (expected, _) = run("cpu.run", &["--engine", "cpu"]);
    let (bytes, err) = run("auto.run", &[]);
    assert!(bytes == expected && !err.contains("auto:"), "few queries are for the CPU: {err}");
    let Some(device) = common::device() else { return };
    let opened = Index::open(Path::new(&index)).unwrap();
    let checksum = &opened.manifest().checksum;
    let features = Features { shortest: 2, second: 9, sum: 11, terms: 2, k: 10, mode: Mode::Or };
    let always = |seconds: f64| Learned::from(&vec![(features, seconds); FEWEST]).unwrap();
    let report = adapters().into_iter().find(|adapter| adapter.name.contains(&device)).expect("it is there");
    let codec = gamut::query::Searcher::new(&opened, None, Default::default()).unwrap().codec_name();
    let facts = Facts {
        when: 1,
        codec,
        queries: FEWEST as u64,
        device: Some(DeviceFacts { id: DeviceId::of(&report), opening: 0.0, per_posting: 0.0 }),
        means: Vec::new(),
        steps: None,
    };
    let gpu = Some(OnGpu { alone: always(1e-7), batched: always(1e-7) });
    let folder = dir.path().join("gamut");
    Calibration { facts, cpu: always(1.0), gpu, steps: None }.store(&folder, checksum).unwrap();
    assert_eq!(Kept::read(&folder, checksum).calibrations.len(), 1);
    let (bytes, err) = run("gpu.run", &["--engine", "auto", "--device", &device]);
    assert!(err.contains("auto: ") && err.contains(" answers; ") && err.contains("GPU: "), "{err}");
    assert!(bytes == expected);
    // no query is so dear that it would be the first one on a GPU
    let one = ["query", &index, "--device", &device, "--explain", "all", "word5"];
    let (code, out, err) = gamut(dir.path(), &one);
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("engine   cpu: ") && out.contains("1.00 s expected on the CPU"), "{out}");
}

#[test]
fn queries_move_by_what_a_calibration_has_learned() {
    let Some(device) = common::device() else { return };
    let dir = tempfile::tempdir().unwrap();
    let (index, log) = index_and_log(dir.path());
    let both = ["query", &index, "--engine", "griffin", "--device", &device, "--mode", "and", "--explain"];
    let ask = |rule: &str| gamut(dir.path(), &[&both[..], &["--migrate", rule, "word1", "word2", "all"]].concat());
    let (code, _, err) = ask("learned");
    assert_eq!(code, 2, "{err}");
    let parts = ["--migrate learned", "nothing is known of steps", "run `gamut calibrate INDEX --topics LOG --codec "];
    for part in parts.into_iter().chain(["--intersect svs,merge-path`"]) {
        assert!(err.contains(part), "{part} in {err}");
    }
    let log_of_three = dir.path().join("three.txt");
    let lines: String = (0..60).map(|i| format!("all word{} word{} word{i}\n", i % 3, i % 7)).collect();
    fs::write(&log_of_three, lines).unwrap();
    let log_of_three = log_of_three.to_str().unwrap();
    let calibrate = |log: &str| {
        let args = ["calibrate", &index, "--topics", log, "--rounds", "1", "--device", &device, "--queries", "60"];
        let (code, out, err) = gamut(dir.path(), &args);
        assert_eq!(code, 0, "{err}");
        out + &err
    };
    // queries of two terms never move
    let said = calibrate(&log);
    assert!(said.contains("steps for --migrate learned are left out: ") && said.contains("moves"), "{said}");
    assert_eq!(ask("learned").0, 2);
    let said = calibrate(log_of_three);
    assert!(said.contains("steps by svs and merge-path: ") && said.contains("a move to the GPU"), "{said}");
    let (code, out, err) = ask("learned");
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("as expected by calibration") && out.contains("merge-path, learned"), "{out}");
    let hits = |out: &str| out.split("plan ").next().map(str::to_owned);
    assert_eq!(hits(&out), hits(&ask("fixed=cpu").1));
    let (code, _, err) = gamut(
        dir.path(),
        &[&both[..], &["--migrate", "learned", "--intersect", "svs,gpu-binary", "word1", "all"]].concat(),
    );
    assert!(code == 2 && err.contains("the steps that were measured are of svs and merge-path"), "{err}");
}
