//! What is around a process: what it may write, and who reads what it says.
#![cfg(unix)]

mod common;

use std::path::Path;
use std::process::{Command, Stdio};

use common::{put, records};

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// With nobody at the other end of stderr a command does its work, and has the exit code that it has otherwise.
#[test]
fn a_closed_stderr_changes_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let input = put(dir.path(), "crawl.warc", &records(5, 60).concat());
    let (input, out, ciff) = (input.to_str().unwrap(), dir.path().join("index"), dir.path().join("index.ciff"));
    let (out, ciff) = (out.to_str().unwrap(), ciff.to_str().unwrap());
    let closed = |args: &[&str]| {
        let (end, pipe) = std::io::pipe().unwrap();
        drop(end);
        let mut command = Command::new(env!("CARGO_BIN_EXE_gamut"));
        command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(pipe).status().unwrap().code()
    };
    assert_eq!(closed(&["index", input, "-o", out, "--sorter", "cpu", "--memory", "512MiB"]), Some(0));
    assert_eq!(closed(&["export", out, "-o", ciff]), Some(0));
    assert_eq!(closed(&["verify", out]), Some(0));
    assert!(Path::new(ciff).exists());
    assert_eq!(closed(&["query", out, "unicornsdonotexist"]), Some(1));
    assert_eq!(closed(&["query", dir.path().join("none").to_str().unwrap(), "word"]), Some(2));
    assert_eq!(closed(&["query", out, "--no-such-option"]), Some(2));
}

#[test]
fn a_file_that_may_not_grow_is_an_error_and_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let input = put(dir.path(), "crawl.warc", &records(5, 60).concat());
    let out = dir.path().join("index");
    let limited = |blocks: u64| {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("ulimit -f {blocks}; exec \"$@\""), "sh", env!("CARGO_BIN_EXE_gamut"), "index"]);
        command.arg(&input).arg("-o").arg(&out).args(["--sorter", "cpu", "--memory", "512MiB"]).output().unwrap()
    };
    let refused = limited(1);
    assert_eq!(refused.status.code(), Some(2), "{:?}", refused.status);
    assert!(text(&refused.stderr).contains("File too large"), "{}", text(&refused.stderr));
    let left: Vec<_> = std::fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["crawl.warc"]);
    assert_eq!(limited(1 << 20).status.code(), Some(0));
}
