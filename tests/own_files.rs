//! What gamut makes beside documents: it lies in no index, and is no document of the next build.

mod common;

use std::path::Path;
use std::process::{Command, Output};

use common::{gzip, put, records};

fn gamut(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_gamut")).args(args).output().expect("the binary runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn index(input: &Path, output: &Path, more: &[&str]) -> Output {
    gamut(&[&["index", input.to_str().unwrap(), "-o", output.to_str().unwrap(), "--sorter", "cpu"], more].concat())
}

/// What is written may not lie in an index: it would be in the way of every change, or take the place of a file of it.
#[test]
fn nothing_is_written_into_an_index() {
    let dir = tempfile::tempdir().unwrap();
    let input = put(dir.path(), "d.jsonl", b"{\"id\": \"a\", \"contents\": \"tide\"}\n");
    let out = dir.path().join("ix");
    assert_eq!(index(&input, &out, &["-q"]).status.code(), Some(0));
    let (ix, ciff) = (out.to_str().unwrap(), dir.path().join("d.ciff"));
    assert_eq!(gamut(&["export", ix, "-o", ciff.to_str().unwrap()]).status.code(), Some(0));
    let inside = |name: &str| out.join(name).to_str().unwrap().to_owned();
    let (manifest, file, folder) = (inside("manifest.json"), inside("file"), inside("vbyte/folder"));
    for args in [
        &["export", ix, "-o", &manifest, "--force"][..],
        &["export", ix, "-o", &file],
        &["stats", ix, "--terms", &file],
        &["reorder", ix, "--order", "random:1", "--permutation", &file],
        &["reorder", ix, "--order", "random:1", "-o", &folder],
        &["merge", ix, ix, "-o", &folder],
        &["index", input.to_str().unwrap(), "-o", &folder],
        &["import", ciff.to_str().unwrap(), "-o", &folder],
        &["reencode", ix, "--codec", "raw", "-o", &folder],
    ] {
        let refused = gamut(args);
        let error = text(&refused.stderr);
        assert!(refused.status.code() == Some(2) && error.contains("in the index"), "{args:?}: {error}");
    }
    assert_eq!(gamut(&["verify", ix]).status.code(), Some(0));
    std::fs::write(dir.path().join("ids"), "a\n").unwrap();
    let deleted = gamut(&["delete", ix, "--ids", dir.path().join("ids").to_str().unwrap()]);
    assert_eq!(deleted.status.code(), Some(0), "nothing is in the way: {}", text(&deleted.stderr));
}

/// Indexes below the input are left out, and so are their orders, and what is no file is never opened.
#[test]
fn what_gamut_made_below_the_input_is_no_document() {
    let dir = tempfile::tempdir().unwrap();
    let crawl = dir.path().join("crawl");
    std::fs::create_dir_all(crawl.join("pipe")).unwrap();
    let lines: String = (0..30).map(|i| format!("{{\"id\": \"d{i}\", \"contents\": \"tide {i}\"}}\n")).collect();
    put(&crawl, "d.jsonl", lines.as_bytes());
    put(&crawl, "my.order", b"in order of appearance\n");
    put(&crawl, "out.order.txt", b"0 1\n1 0\n");
    let pipe = crawl.join("pipe/manifest.json");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let documents = |more: &[&str]| {
        let built = index(&crawl, &crawl.join("out"), &[more, &["--force", "--json"]].concat());
        let json: serde_json::Value =
            serde_json::from_slice(&built.stdout).unwrap_or_else(|_| panic!("{}", text(&built.stderr)));
        json["documents"].as_u64().unwrap()
    };
    assert_eq!(documents(&["--order", "random:1"]), 32);
    assert_eq!(documents(&["--order", "random:2"]), 32);
    assert!(crawl.join("out.order").is_file() && crawl.join("out.order.2").is_file());
    assert_eq!(documents(&[]), 32);
    // of an index that is gone, too
    std::fs::remove_dir_all(crawl.join("out")).unwrap();
    let files = gamut(&["index", crawl.to_str().unwrap(), "-o", dir.path().join("x").to_str().unwrap(), "--json"]);
    let json: serde_json::Value =
        serde_json::from_slice(&files.stdout).unwrap_or_else(|_| panic!("{}", text(&files.stderr)));
    assert_eq!(json["documents"], 32);
    // what can be read once only
    for stream in [pipe.to_str().unwrap(), "-"] {
        let refused = gamut(&["index", stream, "-o", dir.path().join("y").to_str().unwrap()]);
        assert_eq!(refused.status.code(), Some(2));
        assert!(text(&refused.stderr).contains("write a pipe's content to a file first"), "{}", text(&refused.stderr));
    }
    // an archive is none of its members
    let zipped = [b"PK\x03\x04 stored ".as_slice(), &gzip(&records(1, 20)[0])].concat();
    let refused = index(&put(dir.path(), "z.zip", &zipped), &dir.path().join("y"), &["-q"]);
    assert!(
        refused.status.code() == Some(2) && text(&refused.stderr).contains("zip data"),
        "{}",
        text(&refused.stderr)
    );
}
