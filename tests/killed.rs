//! Processes that are killed while they make an index: what was there before is there, or what was to come, and the
//! next process sweeps what the dead one left.

mod common;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use common::{Random, put, word};
use gamut::index::{Index, verify};

fn start(dir: &Path, line: &str) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gamut"));
    command.current_dir(dir).args(line.split_whitespace()).stdin(Stdio::null());
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

fn run(dir: &Path, line: &str) {
    assert_eq!(start(dir, line).wait().unwrap().code(), Some(0), "{line}");
}

/// Hidden directories of indexes.
fn hidden(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.extension().is_some_and(|end| end == "unfinished")).collect()
}

fn collection(dir: &Path) {
    let mut random = Random(7);
    let line = |i: usize| {
        let text: Vec<String> = (0..120).map(|_| word(&mut random)).collect();
        format!("{{\"id\":\"d{i}\",\"text\":\"{}\"}}\n", text.join(" "))
    };
    put(dir, "a.jsonl", (0..4000).map(line).collect::<String>().as_bytes());
    put(dir, "ids", (0..4000).step_by(3).map(|i| format!("d{i}\n")).collect::<String>().as_bytes());
    run(dir, "index a.jsonl -o base --sorter cpu --memory 512MiB -q");
    run(dir, "export base -o a.ciff -q");
    run(dir, "merge base base -o lists --lists 2/2 -q");
}

#[test]
fn a_killed_process_leaves_the_old_index_or_the_new_one_and_is_swept() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    collection(dir);
    let mut left = 0;
    for line in [
        "index a.jsonl -o out --force --sorter cpu --memory 512MiB -q",
        "import a.ciff -o out --force -q",
        "import a.ciff -o out --force -q --order random:3",
        "merge base base -o out --force -q",
        "merge base base -o out --force -q --with lists",
        "delete out --ids ids -q",
        "delete out --purge -q",
    ] {
        for wait in [2, 5, 9, 14, 22, 35, 60, 110] {
            let mut child = start(dir, line);
            std::thread::sleep(Duration::from_millis(wait));
            child.kill().unwrap();
            child.wait().unwrap();
            left = left.max(hidden(dir).len());
            if dir.join("out").exists() {
                let verified = verify(&dir.join("out")).unwrap();
                assert!(verified.problems.is_empty(), "{line}, killed after {wait} ms: {:?}", verified.problems);
            }
        }
        // those that are killed before they sweep leave what was there; the next one sweeps it
        let documents = || Index::open(&dir.join("out")).map(|index| index.collection().documents).unwrap_or_default();
        // a delete may have been done before it was killed
        let before = documents();
        let code = start(dir, line).wait().unwrap().code();
        assert!(code == Some(0) || (code == Some(1) && before == documents()), "{line}: {code:?}");
        if code == Some(0) {
            assert_eq!(hidden(dir), [""; 0].map(PathBuf::from), "{line}");
        }
        assert!(verify(&dir.join("out")).unwrap().problems.is_empty(), "{line}");
    }
    assert!(left > 0, "no process was killed while it made an index");
    assert_eq!(Index::open(&dir.join("out")).unwrap().statistics().documents, 8000 - 2 * 1334);
}
