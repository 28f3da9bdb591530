//! Merges that several processes share: the lists of some shares come from files, and the bytes are those of one build.
//! Files of other indexes are refused, and damaged ones end the merge.

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use common::{Random, all_files, put, word};
use gamut::Error;
use gamut::base::means::Means;
use gamut::codec::parse_list;
use gamut::index::change::delete::{Delete, Which, delete};
use gamut::index::change::merge::{Found, Merge, Merged, OnDuplicate, Share, Shares, encode_lists, merge};
use gamut::pipeline::{BuildOptions, build};
use gamut::sort::SorterChoice;

/// Indexes of parts of a collection, and one of all.
fn parts(dir: &Path, codecs: &str, count: usize) -> Vec<PathBuf> {
    let mut random = Random(7);
    let mut line = |i: usize| {
        let text: Vec<String> = (0..random.below(150)).map(|_| word(&mut random)).collect();
        serde_json::json!({"id": format!("d{i}"), "contents": text.join(" ")}).to_string() + "\n"
    };
    let files: Vec<PathBuf> = (0..count)
        .map(|part| {
            let lines: String = (300 * part..300 * (part + 1)).map(&mut line).collect();
            put(dir, &format!("{part}.jsonl"), lines.as_bytes())
        })
        .collect();
    let make = |inputs: Vec<PathBuf>, output: PathBuf| {
        let options = BuildOptions {
            means: Means::new(2, 512 << 20),
            sorter: SorterChoice::parse("cpu").unwrap(),
            codecs: parse_list(codecs).unwrap(),
            ..BuildOptions::new(inputs, output.clone())
        };
        build(&options).unwrap();
        output
    };
    make(files.clone(), dir.join("whole"));
    files.into_iter().enumerate().map(|(i, file)| make(vec![file], dir.join(format!("part{i}")))).collect()
}

fn change<'a>(inputs: &'a [PathBuf], output: &'a Path) -> Merge<'a> {
    Merge {
        inputs,
        output,
        force: false,
        order: None,
        on_duplicate: OnDuplicate::KeepAll,
        impacts: None,
        tables: None,
        shares: None,
        means: Means::new(2, 512 << 20),
    }
}

fn lists(inputs: &[PathBuf], file: &Path, share: &str) -> Result<(), Error> {
    encode_lists(&change(inputs, file), share.parse()?).map(drop)
}

/// A merge that takes the files of some shares.
fn with(inputs: &[PathBuf], output: &Path, of: u32, files: &[(u32, &Path)]) -> Result<Merged, Error> {
    let found = |number: u32| {
        let file = files.iter().find(|(other, _)| *other == number);
        Ok(file.map_or(Found::Never, |(_, path)| Found::File(path.to_path_buf())))
    };
    merge(&Merge { shares: Some(Shares { of, found: &found }), ..change(inputs, output) })
}

fn assert_same(output: &Path, whole: &Path) {
    let bytes = |index: &Path| {
        let mut files = all_files(index);
        files.remove("build-report.json");
        files
    };
    let (output, whole) = (bytes(output), bytes(whole));
    assert!(output.keys().eq(whole.keys()));
    whole.iter().for_each(|(name, bytes)| assert!(output[name] == *bytes, "{name} differs"));
}

#[test]
fn whatever_comes_from_files_the_bytes_are_those_of_one_build() {
    for codecs in ["simdbp", "raw,lrc,pef", "vbyte,para-ef"] {
        let dir = tempfile::tempdir().unwrap();
        let inputs = parts(dir.path(), codecs, 3);
        for of in [1, 2, 3, 40] {
            let files: Vec<(u32, PathBuf)> =
                (1..=of).map(|number| (number, dir.path().join(format!("lists-{number}-{of}")))).collect();
            files.iter().for_each(|(number, file)| lists(&inputs, file, &format!("{number}/{of}")).unwrap());
            let files: Vec<(u32, &Path)> = files.iter().map(|(number, file)| (*number, file.as_path())).collect();
            for some in [&files[..], &files[1..], &files[..files.len() / 2], &[]] {
                let output = dir.path().join("out");
                let done = with(&inputs, &output, of, some).unwrap();
                assert_eq!(done.shares_taken as usize, some.len());
                assert_same(&output, &dir.path().join("whole"));
                fs::remove_dir_all(&output).unwrap();
            }
        }
    }
}

#[test]
fn a_file_that_comes_late_is_taken_and_one_that_does_not_come_is_not_waited_for_for_ever() {
    let dir = tempfile::tempdir().unwrap();
    let inputs = parts(dir.path(), "simdbp", 2);
    let (file, output) = (dir.path().join("lists"), dir.path().join("out"));
    let asked = AtomicU32::new(0);
    let found = |number: u32| {
        if number != 2 {
            return Ok(if number == 1 { Found::Never } else { Found::NotYet });
        }
        if asked.fetch_add(1, Ordering::Relaxed) == 3 {
            lists(&inputs, &file, "2/3")?;
        }
        Ok(if file.exists() { Found::File(file.clone()) } else { Found::NotYet })
    };
    let shares = Some(Shares { of: 3, found: &found });
    assert_eq!(merge(&Merge { shares, ..change(&inputs, &output) }).unwrap().shares_taken, 1);
    assert_same(&output, &dir.path().join("whole"));
}

#[test]
fn files_of_other_lists_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    let inputs = parts(dir.path(), "simdbp", 3);
    let turned: Vec<PathBuf> = inputs.iter().rev().cloned().collect();
    lists(&turned, &path("turned"), "2/2").unwrap();
    lists(&inputs[..2], &path("fewer"), "2/2").unwrap();
    let (kept, text) = (path("kept"), path("text"));
    let keep = Merge { on_duplicate: OnDuplicate::KeepFirst, ..change(&inputs, &kept) };
    encode_lists(&keep, Share::new(2, 2).unwrap()).unwrap();
    lists(&inputs, &path("before"), "2/2").unwrap();
    assert!(matches!(lists(&inputs, &path("before"), "2/2"), Err(Error::Exists { .. })));
    let means = Means::new(2, 512 << 20);
    let which = Which { ids: vec!["d301".to_owned()], patterns: Vec::new() };
    let index = inputs[1].clone();
    delete(&index, &Delete { which: &which, purge: false, output: None, order: None, means }).unwrap();
    for name in ["turned", "fewer", "kept", "before"] {
        let error = with(&inputs, &path("out"), 2, &[(2, &path(name))]).unwrap_err();
        assert!(matches!(error, Error::Invalid { .. }) && error.to_string().contains("of other indexes"), "{error}");
        assert!(!path("out").exists());
    }
    // Without the document that was deleted, as a merge of its own.
    lists(&inputs, &path("after"), "2/2").unwrap();
    with(&inputs, &path("shared"), 2, &[(2, &path("after"))]).unwrap();
    merge(&change(&inputs, &path("alone"))).unwrap();
    assert_same(&path("shared"), &path("alone"));
    // Another share, no file of lists, and a directory.
    lists(&inputs, &path("third"), "3/3").unwrap();
    fs::write(&text, "dear").unwrap();
    for file in ["third", "text", "part0"] {
        assert!(with(&inputs, &path("out"), 2, &[(2, &path(file))]).is_err(), "{file}");
        assert!(!path("out").exists());
    }
    // Nothing else is replaced.
    let over = Merge { force: true, ..change(&inputs, &text) };
    assert!(encode_lists(&over, Share::new(2, 2).unwrap()).is_err());
    assert_eq!(fs::read(&text).unwrap(), b"dear");
}

/// Every byte counts: a file with any one changed, or cut anywhere, gives an error and no index.
#[test]
fn damage_is_an_error_and_never_an_index() {
    let dir = tempfile::tempdir().unwrap();
    let inputs = parts(dir.path(), "simdbp", 2);
    let (file, output) = (dir.path().join("lists"), dir.path().join("out"));
    lists(&inputs, &file, "2/2").unwrap();
    let whole = fs::read(&file).unwrap();
    let step = whole.len() / 60;
    let places = (0..96).chain((96..whole.len()).step_by(step)).chain([whole.len() - 1]);
    for at in places.clone() {
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (at % 8);
        fs::write(&file, &bytes).unwrap();
        let error = with(&inputs, &output, 2, &[(2, &file)]).unwrap_err();
        // The first bytes say what the file is.
        let said = matches!(error, Error::Damaged { .. }) || at < 8 && matches!(error, Error::Invalid { .. });
        assert!(said, "byte {at}: {error}");
        assert!(!output.exists(), "byte {at}");
    }
    let longer = [&whole[..], &[0; 16]].concat();
    for bytes in places.map(|at| &whole[..at]).chain([&longer[..]]) {
        fs::write(&file, bytes).unwrap();
        assert!(with(&inputs, &output, 2, &[(2, &file)]).is_err(), "{} bytes", bytes.len());
        assert!(!output.exists());
    }
    fs::write(&file, &whole).unwrap();
    with(&inputs, &output, 2, &[(2, &file)]).unwrap();
    assert_same(&output, &dir.path().join("whole"));
}
