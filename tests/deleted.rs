//! An index with deleted documents answers every command as the same index after `--purge`, which no longer has them.

#[path = "common/server.rs"]
mod server;

use serde_json::Value;
use server::{GAMUT, Server, gamut};
use std::fs;
use std::path::Path;
use std::process::Command;

const DOCUMENTS: usize = 1200;

/// Documents that go: two of each seven, and all with one word.
fn goes(i: usize) -> bool {
    i % 7 < 2 || i % 100 == 50
}

/// `marked/index` has deleted documents in its files, `purged/index` had them; both are of stored texts and tables.
fn make(dir: &Path) {
    let line = |i: usize| {
        let lone = if i % 100 == 50 { "lone" } else { "" };
        let text = format!("page number {} {lone} {} and leaf {} <b>日本語</b>", i, "leaf ".repeat(i % 9), i * 31 % 97);
        serde_json::json!({ "id": format!("d{i}"), "contents": text }).to_string() + "\n"
    };
    fs::write(dir.join("c.jsonl"), (0..DOCUMENTS).map(line).collect::<String>()).unwrap();
    let gone: String = (0..DOCUMENTS).filter(|&i| goes(i)).map(|i| format!("d{i}\n")).collect();
    fs::write(dir.join("gone"), gone).unwrap();
    fs::write(dir.join("topics.tsv"), "1\tleaf 17\n2\tpage number 5\n3\tlone leaf\n4\tlone\n5\tnumber^2 31 leaf\n")
        .unwrap();
    let path = |name: &str| dir.join(name).to_str().unwrap().to_owned();
    for name in ["marked", "purged"] {
        let index = format!("{}/index", path(name));
        let build = ["index", &path("c.jsonl"), "-o", &index, "--store", "--tables", "--sorter", "cpu", "-q"];
        gamut(&build);
        gamut(&["delete", &index, "--ids", &path("gone"), "-q"]);
    }
    gamut(&["delete", &format!("{}/index", path("purged")), "--purge", "-q"]);
}

/// The same arguments for both indexes; `INDEX` and `OUT` stand for theirs. Exit code and standard output.
fn both(dir: &Path, args: &[&str]) -> [(i32, String); 2] {
    ["marked", "purged"].map(|name| {
        let args: Vec<String> = args
            .iter()
            .map(|arg| arg.replace("INDEX", &format!("{name}/index")).replace("OUT", &format!("{name}.out")))
            .collect();
        let out = Command::new(GAMUT).args(&args).current_dir(dir).output().unwrap();
        assert_ne!(out.status.code(), Some(2), "{args:?}: {}", String::from_utf8_lossy(&out.stderr));
        (out.status.code().unwrap(), String::from_utf8(out.stdout).unwrap())
    })
}

/// What both write to `OUT` is the same.
fn same_file(dir: &Path, args: &[&str]) -> String {
    let files = ["marked.out", "purged.out"].map(|name| dir.join(name));
    // No command replaces a file.
    files.iter().filter(|file| file.exists()).for_each(|file| fs::remove_file(file).unwrap());
    both(dir, args);
    let [marked, purged] = files.map(|file| fs::read_to_string(file).unwrap());
    assert_eq!(marked, purged, "{args:?}");
    marked
}

/// An answer in JSON without what names the index, its docIDs or the time.
fn answer(text: &str) -> Value {
    fn strip(value: &mut Value) {
        match value {
            Value::Object(fields) => {
                fields.retain(|name, _| !["seconds", "docid", "doc", "index"].contains(&name.as_str()));
                fields.values_mut().for_each(strip);
            }
            Value::Array(values) => values.iter_mut().for_each(strip),
            _ => {}
        }
    }
    let mut value = serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    strip(&mut value);
    value
}

#[test]
fn rankings_pairs_and_statistics_are_those_of_the_purged_index() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    make(dir);
    let query = ["query", "INDEX", "--topics", "topics.tsv", "--run", "OUT"];
    for more in [
        &["-k", "2000"][..],
        &["-k", "3", "--mode", "and"],
        &["-k", "5", "--mode", "and-or"],
        &["-k", "10", "--k1", "1.4", "--b", "0.7"],
    ] {
        let run = same_file(dir, &[&query, more].concat());
        assert!(run.lines().count() >= 5 && !run.contains(" d1 ") && !run.contains(" d50 "), "{more:?}: {run}");
    }
    // A subset of some that stay, some that are gone, and one that never was.
    let subset: String = (0..DOCUMENTS + 1).step_by(3).map(|i| format!("d{i}\n")).collect();
    fs::write(dir.join("subset"), subset).unwrap();
    let run = same_file(dir, &[&query[..], &["-k", "2000", "--within", "subset"]].concat());
    assert!(run.contains(" d3 ") && !run.contains(" d0 ") && !run.contains(" d4 "), "{run}");
    // Pairs with deleted documents have no score, as pairs with documents that are not there.
    let pairs: String = (0..DOCUMENTS).step_by(5).map(|i| format!("{} Q0 d{i} 1 1 x\n", 1 + i % 3)).collect();
    fs::write(dir.join("pairs.run"), pairs).unwrap();
    let scores = same_file(dir, &["score", "INDEX", "--topics", "topics.tsv", "--pairs", "pairs.run", "--run", "OUT"]);
    assert!(scores.contains(" d5 ") && !scores.contains(" d15 "), "{scores}");
    // What only deleted documents have nobody has, and a df is that of the others.
    let lone = both(dir, &["dump", "INDEX", "lone"]);
    assert_eq!((&lone[0], lone[0].0), (&lone[1], 1));
    let tops = both(dir, &["stats", "INDEX", "--top", "400", "--json"]).map(|(_, text)| {
        let stats: Value = serde_json::from_str(&text).unwrap();
        let rows = stats["top_terms"].as_array().unwrap().iter();
        let mut rows: Vec<(u64, String)> =
            rows.map(|row| (row["df"].as_u64().unwrap(), row["term"].to_string())).collect();
        rows.sort();
        rows
    });
    assert_eq!(tops[0], tops[1]);
    let terms = same_file(dir, &["stats", "INDEX", "--terms", "OUT", "--top", "0"]);
    assert!(terms.contains("leaf") && !terms.contains("lone"), "{terms}");
    // By the statistics of the whole collection, which deleted documents are not part of either.
    fs::rename(dir.join("purged.out"), dir.join("statistics.tsv")).unwrap();
    same_file(dir, &[&query[..], &["-k", "50", "--statistics", "statistics.tsv"]].concat());
}

/// A change begins with what it opens, so of two at a time one would be lost.
#[test]
fn an_index_that_somebody_changes_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    make(dir);
    fs::write(dir.join("more.jsonl"), "{\"id\": \"new\", \"contents\": \"leaf\"}\n").unwrap();
    let index = dir.join("purged/index");
    let change = |args: &str| {
        let args: Vec<&str> = args.split(' ').collect();
        let out = Command::new(GAMUT).args(&args).current_dir(dir).output().unwrap();
        (out.status.code(), String::from_utf8(out.stderr).unwrap())
    };
    // As every command that changes an index does while it is at it.
    let held = fs::File::open(&index).unwrap();
    held.lock().unwrap();
    let changes = [
        "append purged/index more.jsonl -q",
        "merge purged/index marked/index -o purged/index --force -q",
        "delete purged/index --match id=d6 -q",
        "delete purged/index --match id=d6 --purge -q",
        "reencode purged/index --codec vbyte -q",
        "reorder purged/index --order random:1 -q",
    ];
    let before = fs::read(index.join("manifest.json")).unwrap();
    for args in changes {
        let (code, said) = change(args);
        assert_eq!(code, Some(2), "{args}: {said}");
        assert!(said.contains("another process changes this index now"), "{args}: {said}");
    }
    assert_eq!(fs::read(index.join("manifest.json")).unwrap(), before);
    // Who only reads it, or writes to another place, is not asked.
    for args in ["query purged/index leaf", "merge purged/index marked/index -o elsewhere -q"] {
        assert_eq!(change(args).0, Some(0), "{args}");
    }
    drop(held);
    for args in changes {
        let (code, said) = change(args);
        assert_eq!(code, Some(0), "{args}: {said}");
    }
}

#[test]
fn snippets_and_the_server_show_nothing_of_deleted_documents() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    make(dir);
    let servers = ["marked", "purged"].map(|name| Server::start(&dir.join(name), &[]));
    for (query, found) in [("leaf 17", true), ("lone leaf", true), ("lone", false), ("page 日本語", true)] {
        let args = ["query", "INDEX", "--json", "--snippets", "-k", "20", "--", query];
        let [(code, marked), (purged_code, purged)] = both(dir, &args);
        assert_eq!((code, answer(&marked)), (purged_code, answer(&purged)), "{query}");
        assert_eq!(code, i32::from(!found), "{query}: {marked}");
        let body = serde_json::json!({ "q": query, "k": 20, "snippets": true }).to_string();
        let [marked, purged] = [&servers[0], &servers[1]].map(|server| {
            let (status, text) = server.post(&body);
            assert_eq!(status, 200, "{text}");
            answer(&text)
        });
        assert_eq!(marked, purged, "{query}");
        assert_eq!(marked["hits"].as_array().is_some_and(|hits| !hits.is_empty()), found, "{query}: {marked}");
    }
}

/// Escapes of URLs are part of an id, and what is deleted already names no other document.
#[test]
fn only_documents_that_are_named_are_deleted() {
    let dir = tempfile::tempdir().unwrap();
    let ids = ["http://a/%7Ejoe", "http://a/~joe", "50%25", "50%", "a b", "c%20d", "c d"];
    let line = |id: &&str| serde_json::json!({ "id": id, "contents": "page" }).to_string() + "\n";
    fs::write(dir.path().join("c.jsonl"), ids.iter().map(line).collect::<String>()).unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    gamut(&["index", &path("c.jsonl"), "-o", &path("index"), "--sorter", "cpu", "-q"]);
    fs::write(dir.path().join("gone"), "http://a/%7Ejoe\n50%25\na%20b\nc%20d\n").unwrap();
    let left = || {
        let run = ["query", &path("index"), "page", "-k", "20", "--json"];
        let out = Command::new(GAMUT).args(run).output().unwrap();
        let answer: Value = serde_json::from_slice(&out.stdout).unwrap();
        let hits = answer["hits"].as_array().unwrap().iter().map(|hit| hit["id"].as_str().unwrap().to_owned());
        hits.collect::<Vec<_>>()
    };
    let delete = || {
        let out = Command::new(GAMUT).args(["delete", &path("index"), "--ids", &path("gone")]).output().unwrap();
        out.status.code()
    };
    assert_eq!((delete(), left()), (Some(0), vec!["http://a/~joe".to_owned(), "50%".to_owned(), "c d".to_owned()]));
    // the same list once more: nothing of it is there
    assert_eq!((delete(), left().len()), (Some(1), 3));
}
