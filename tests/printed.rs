//! What commands print: ids of strangers, differences of runs, and what becomes of it on a full disk.

mod common;

use std::path::Path;
use std::process::{Command, Output, Stdio};

use common::put;

fn gamut(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_gamut")).args(args).stdin(Stdio::null()).output().expect("the binary runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn index(input: &Path, output: &Path) -> Output {
    gamut(&["index", input.to_str().unwrap(), "-o", output.to_str().unwrap(), "--memory", "512MiB", "-q"])
}

#[test]
fn queries_that_moved_have_the_sign_of_their_means_in_text_and_json() {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str, bytes: &[u8]| put(dir.path(), name, bytes).to_str().unwrap().to_owned();
    let qrels = file("qrels", b"1 0 a 1\n2 0 a 1\n3 0 a 1\n");
    let good = file("good", b"1 Q0 a 1 2 x\n2 Q0 a 1 2 x\n3 Q0 a 1 2 x\n");
    let bad = file("bad", b"1 Q0 b 1 2 y\n2 Q0 b 1 2 y\n2 Q0 a 2 1 y\n3 Q0 a 1 2 y\n");
    let args = ["eval", &qrels, &good, &bad, "-m", "map", "--diff", "5"];
    let out = text(&gamut(&args).stdout);
    let fields = |begin: &str| -> Vec<String> {
        let line =
            out.lines().rfind(|line| line.split_whitespace().next() == Some(begin)).unwrap_or_else(|| panic!("{out}"));
        line.split_whitespace().map(str::to_owned).collect()
    };
    assert_eq!(fields("map")[1..5], ["good", "bad", "3", "+0.5000"], "{out}");
    assert_eq!(fields("1"), ["1", "1.0000", "0.0000", "+1.0000"], "{out}");
    assert_eq!(fields("2"), ["2", "1.0000", "0.5000", "+0.5000"], "{out}");
    let json: serde_json::Value = serde_json::from_slice(&gamut(&[&args[..], &["--json"]].concat()).stdout).unwrap();
    assert_eq!(json["pairs"][0]["difference"], 0.5, "{json}");
    let queries = serde_json::json!([{ "query": "1", "values": [1.0, 0.0] }, { "query": "2", "values": [1.0, 0.5] }]);
    let moved = serde_json::json!([{ "measure": "map", "runs": [good, bad], "queries": queries }]);
    assert_eq!(json["moved"], moved);
}

#[test]
fn ids_of_strangers_stay_on_their_lines() {
    let dir = tempfile::tempdir().unwrap();
    let lines = b"{\"id\": \"n\\nl\", \"contents\": \"tide\"}\n{\"id\": \"\\u001b[31m\", \"contents\": \"tide\"}\n\
        {\"id\": \"n\", \"contents\": \"wave\"}\n";
    let (input, out) = (put(dir.path(), "a.jsonl", lines), dir.path().join("ix"));
    assert_eq!(index(&input, &out).status.code(), Some(0));
    let out = out.to_str().unwrap();
    assert_eq!(text(&gamut(&["dump", out, "tide"]).stdout), "0\t1\tn%0Al\n1\t1\t%1B[31m\n");
    let found = gamut(&["delete", out, "--match", "id=n?l", "--dry-run"]);
    assert_eq!(text(&found.stdout), "n%0Al\n");
    let ids = put(dir.path(), "ids", &found.stdout);
    let again = gamut(&["delete", out, "--ids", ids.to_str().unwrap(), "--dry-run"]);
    assert_eq!(text(&again.stdout), "n%0Al\n", "{}", text(&again.stderr));
}

#[test]
fn a_file_of_the_name_of_standard_output_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let (input, out) =
        (put(dir.path(), "a.jsonl", b"{\"id\": \"a\", \"contents\": \"tide\"}\n"), dir.path().join("ix"));
    assert_eq!(index(&input, &out).status.code(), Some(0));
    put(dir.path(), "-", b"mine");
    let export = Command::new(env!("CARGO_BIN_EXE_gamut"))
        .args(["export", "ix", "-o", "-", "-q"])
        .current_dir(dir.path())
        .output();
    let export = export.unwrap();
    assert!(export.status.success() && !export.stdout.is_empty(), "{}", text(&export.stderr));
    assert_eq!(std::fs::read(dir.path().join("-")).unwrap(), b"mine");
}

/// A full disk behind standard output is an error of every command, of the help, too.
#[cfg(target_os = "linux")]
#[test]
fn what_cannot_be_printed_is_told() {
    for args in [&["--help"][..], &["--version"], &["schema", "eval"]] {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let out = Command::new(env!("CARGO_BIN_EXE_gamut")).args(args).stdout(full).output().unwrap();
        assert_eq!(out.status.code(), Some(2), "{args:?}");
        assert!(text(&out.stderr).contains("cannot write to standard output: No space left"), "{}", text(&out.stderr));
    }
}
