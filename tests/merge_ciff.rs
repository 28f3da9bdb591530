//! CIFF files and imported indexes in a merge: the merge of exports is the import of the merge's export, byte for byte,
//! and what nobody can define is refused.

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

fn ok(dir: &Path, args: &str) {
    let args: Vec<&str> = args.split(' ').collect();
    let (code, out, err) = run(dir, &args);
    assert_eq!(code, 0, "{args:?}: {out}{err}");
}

/// What a command is refused with.
fn refused(dir: &Path, args: &str) -> String {
    let args: Vec<&str> = args.split(' ').collect();
    let (code, out, err) = run(dir, &args);
    assert_eq!((code, out.as_str()), (2, ""), "{args:?}: {err}");
    err
}

/// Three parts of a collection as a.jsonl and so on, and all of it; each indexed, and exported as CIFF.
fn make(dir: &Path, more: &str) {
    let mut random = Random(11);
    let lines: Vec<String> = (0..900)
        .map(|i| {
            let text: String = (0..random.below(80)).map(|_| word(&mut random) + " ").collect();
            serde_json::json!({ "id": format!("d{i}"), "contents": format!("every {text}") }).to_string() + "\n"
        })
        .collect();
    for (name, range) in [("a", 0..300), ("b", 300..310), ("c", 310..900), ("all", 0..900)] {
        put(dir, &format!("{name}.jsonl"), lines[range].concat().as_bytes());
        ok(dir, &format!("index {name}.jsonl -o {name} --sorter cpu -q{more}"));
        ok(dir, &format!("export {name} -o {name}.ciff -q"));
    }
}

fn files(index: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = common::all_files(index);
    files.remove("build-report.json");
    files
}

fn assert_same(dir: &Path, a: &str, b: &str) {
    let [x, y] = [a, b].map(|name| files(&dir.join(name)));
    assert!(x.keys().eq(y.keys()), "{a}, {b}: {:?} and {:?}", x.keys(), y.keys());
    for (name, bytes) in &x {
        assert!(y[name] == *bytes, "{a} and {b}: {name} differs, {} and {} bytes", bytes.len(), y[name].len());
    }
}

#[test]
fn merges_of_exports_are_imports_of_merges() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    make(dir, "");
    ok(dir, "import all.ciff -o expected --analyzer simple -q");
    ok(dir, "merge a.ciff b.ciff c.ciff -o files --analyzer simple -q");
    assert_same(dir, "files", "expected");
    // Imported indexes, and a merge of them with a file.
    for name in ["a", "b", "c"] {
        ok(dir, &format!("import {name}.ciff -o i{name} --analyzer simple -q"));
    }
    ok(dir, "merge ia ib ic -o imported -q");
    assert_same(dir, "imported", "expected");
    ok(dir, "merge ia ib -o iab -q");
    ok(dir, "merge iab c.ciff -o steps -q");
    assert_same(dir, "steps", "expected");
    // With an index that a build made: termIDs are those of imports, and nothing else differs.
    ok(dir, "merge a b.ciff c -o mixed -q");
    assert_same(dir, "mixed", "expected");
    let (code, out, err) = run(dir, &["compare", "mixed", "all", "--only", "statistics,ids,lengths,terms,lists"]);
    assert_eq!(code, 0, "{out}{err}");
    ok(dir, "export imported -o again.ciff -q");
    assert!(fs::read(dir.join("again.ciff")).unwrap() == fs::read(dir.join("all.ciff")).unwrap());
    ok(dir, "verify mixed");
    put(dir, "topics", b"every w3 w9\nw1 w2 w3\nw17\n");
    for name in ["mixed", "all"] {
        ok(dir, &format!("query {name} --topics topics --run {name}.run -k 1000"));
    }
    assert!(fs::read(dir.join("mixed.run")).unwrap() == fs::read(dir.join("all.run")).unwrap());
}

#[test]
fn options_come_from_the_first_index() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    make(dir, " --codec simdbp,pef --impacts --tables --order random:3");
    ok(dir, "import all.ciff -o expected --analyzer simple --codec simdbp,pef --impacts --tables --order random:3 -q");
    ok(dir, "merge a.ciff b c.ciff -o out -q");
    // An export has the documents in the order of docIDs, which is random here.
    let (code, out, err) = run(dir, &["compare", "out", "expected", "--only", "statistics,terms"]);
    assert_eq!(code, 0, "{out}{err}");
    assert!(files(&dir.join("out")).keys().eq(files(&dir.join("expected")).keys()));
    ok(dir, "verify out");
    let error = refused(dir, "merge a b.ciff -o no --codec vbyte");
    assert!(error.contains("b.ciff: cannot be merged with") && error.contains("its choice of codecs"), "{error}");
    let error = refused(dir, "merge a b -o no --codec vbyte");
    assert!(error.contains("--codec is for CIFF files"), "{error}");
    let error = refused(dir, "merge a b.ciff -o no --as impacts");
    assert!(
        error.contains("b.ciff: cannot be merged with") && error.contains("a tf is weights, not frequencies"),
        "{error}"
    );
    assert!(!dir.join("no").exists());
    assert!(fs::read_dir(dir).unwrap().all(|entry| !entry.unwrap().file_name().to_string_lossy().starts_with('.')));
}

#[test]
fn weights_are_merged() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    make(dir, " --impacts");
    for name in ["a", "b", "c", "all"] {
        ok(dir, &format!("export {name} -o {name}.weights --impacts -q"));
    }
    ok(dir, "merge a.weights b.weights c.weights -o out --as impacts -q");
    ok(dir, "import a.weights -o ia --as impacts -q");
    ok(dir, "merge ia b.weights c.weights -o again -q");
    assert_same(dir, "out", "again");
    ok(dir, "verify out");
    // what is said of a file goes before what the first index has
    let error = refused(dir, "merge ia b.ciff -o no --as frequencies");
    assert!(error.contains("b.ciff: cannot be merged with") && error.contains("not weights"), "{error}");
    ok(dir, "export out -o out.weights --impacts -q");
    ok(dir, "import out.weights -o back --as impacts -q");
    assert_same(dir, "out", "back");
}

/// Sets the number of documents that the header of a CIFF file gives its collection.
fn with_documents(dir: &Path, name: &str, to: &str, documents: u8) {
    let bytes = fs::read(dir.join(name)).unwrap();
    // The header's length, and in it field 5, total_docs, a varint of two bytes.
    let header = usize::from(bytes[0]) & 0x7f | if bytes[0] & 0x80 != 0 { usize::from(bytes[1]) << 7 } else { 0 };
    let start = if bytes[0] & 0x80 != 0 { 2 } else { 1 };
    let head = &bytes[start..start + header];
    let mut at = 0;
    while head[at] != 5 << 3 {
        at += 1;
        while head[at] & 0x80 != 0 {
            at += 1;
        }
        at += 1;
    }
    assert!(head[at + 1] & 0x80 != 0 && head[at + 2] & 0x80 == 0, "two bytes");
    let mut changed = bytes.clone();
    changed[start + at + 2] = documents;
    fs::write(dir.join(to), changed).unwrap();
}

#[test]
fn parts_of_collections() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    make(dir, "");
    // 300 documents become those of a collection of 44 + 128 · 20.
    with_documents(dir, "a.ciff", "part.ciff", 20);
    let error = refused(dir, "merge part.ciff b.ciff -o no");
    assert!(error.contains("b.ciff: is no part of the collection of 2604 documents"), "{error}");
    assert!(error.contains("part.ciff is a part of, so nobody knows the statistics"), "{error}");
    let error = refused(dir, "merge a part.ciff -o no");
    assert!(error.contains("is no part of the collection of 2604 documents"), "{error}");
    ok(dir, "merge part.ciff part.ciff -o twice -q");
    let (_, out, _) = run(dir, &["stats", "twice", "--json"]);
    let stats: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(stats["imported"]["documents"], 2604, "{out}");
    let parts = ["part.ciff"; 9].join(" ");
    let error = refused(dir, &format!("merge {parts} -o no"));
    assert!(error.contains("a part of 2604 documents, but the parts have 2700 together"), "{error}");
    let error = refused(dir, "merge part.ciff part.ciff -o no --on-duplicate keep-first");
    assert!(error.contains("count documents that would go; keep all"), "{error}");
    assert!(!dir.join("no").exists());
    // Documents of whole collections may go.
    ok(dir, "merge a.ciff a.ciff b.ciff -o kept --on-duplicate keep-last -q");
    ok(dir, "merge a.ciff b.ciff -o ab -q");
    assert_same(dir, "kept", "ab");
}
