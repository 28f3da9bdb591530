//! Whole builds: the same input gives the same bytes whatever the threads, memory, block size,
//! sorter, pipeline or container; and what a build that fails leaves behind, which is nothing.

mod common;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use common::{gzip, index_bytes, put, records};
use gamut::Error;
use gamut::build::{self, BuildOptions, BuildReport, Pipeline, SilentProgress};

fn build(options: &BuildOptions) -> gamut::Result<BuildReport> {
    build::build(options, Arc::new(SilentProgress))
}

fn options(input: PathBuf, output: PathBuf) -> BuildOptions {
    BuildOptions {
        threads: 2,
        memory: 512 << 20,
        sorter: "cpu".into(),
        codecs: vec!["all".into()],
        impacts: true,
        ..BuildOptions::new(vec![input], output)
    }
}

/// The differences between two indexes, by file name.
fn differences(a: &Path, b: &Path) -> Vec<String> {
    let (a, b) = (index_bytes(a), index_bytes(b));
    let names: std::collections::BTreeSet<_> = a.keys().chain(b.keys()).collect();
    names.into_iter().filter(|name| a.get(*name) != b.get(*name)).cloned().collect()
}

#[test]
fn same_input_same_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let records = records(7, 1500);
    let members: Vec<u8> = records.iter().flat_map(|r| gzip(r)).collect();
    let plain: Vec<u8> = records.concat();
    let inputs = [
        put(dir.path(), "members.warc.gz", &members),
        put(dir.path(), "plain.warc", &plain),
        put(dir.path(), "whole.warc.gz", &gzip(&plain)),
        put(dir.path(), "frames.warc.zst", &zstd::encode_all(&plain[..], 3).unwrap()),
    ];
    let reference = dir.path().join("reference");
    let base = options(inputs[0].clone(), reference.clone());
    let report = build(&base).unwrap();
    assert_eq!(report.documents, 1500);
    assert_eq!(report.blocks, 1);

    type Change = fn(&mut BuildOptions);
    let changes: &[(&str, Change)] = &[
        ("one thread", |o| o.threads = 1),
        ("eight threads", |o| o.threads = 8),
        ("8 GiB", |o| o.memory = 8 << 30),
        ("small blocks", |o| o.block_keys = 1 << 12),
        ("small blocks, five threads", |o| (o.block_keys, o.threads) = (3000, 5)),
        ("serial", |o| o.pipeline = Pipeline::Serial),
        ("serial, small blocks", |o| (o.pipeline, o.block_keys) = (Pipeline::Serial, 1 << 13)),
        ("cpu pipeline", |o| o.pipeline = Pipeline::Cpu),
        ("small pieces", |o| o.corpus.piece_bytes = 10_000),
        ("one record at a time", |o| (o.corpus.solo_bytes, o.threads) = (500, 4)),
    ];
    for (name, change) in changes {
        let mut changed = options(inputs[0].clone(), dir.path().join("changed"));
        changed.force = true;
        change(&mut changed);
        let report = build(&changed).unwrap();
        assert_eq!(differences(&reference, &changed.output), Vec::<String>::new(), "{name}");
        if changed.block_keys > 0 {
            assert!(report.blocks > 10, "{name}: {} blocks", report.blocks);
        }
    }
    for input in &inputs[1..] {
        let output = dir.path().join("container");
        build(&BuildOptions { force: true, ..options(input.clone(), output.clone()) }).unwrap();
        assert_eq!(differences(&reference, &output), Vec::<String>::new(), "{}", input.display());
        let mut solo = BuildOptions { force: true, threads: 4, ..options(input.clone(), output.clone()) };
        (solo.corpus.solo_bytes, solo.corpus.piece_bytes) = (500, 10_000);
        build(&solo).unwrap();
        assert_eq!(differences(&reference, &output), Vec::<String>::new(), "{}, solo", input.display());
    }
    // The comparison can fail: another seed gives other bytes.
    let other: Vec<u8> = common::records(8, 1500).iter().flat_map(|r| gzip(r)).collect();
    let output = dir.path().join("other");
    build(&options(put(dir.path(), "other.warc.gz", &other), output.clone())).unwrap();
    assert!(!differences(&reference, &output).is_empty());
}

/// Several files are read ahead at once, and what each holds needs a turn: nobody may wait for ever.
#[test]
fn enormous_records_in_several_files_take_turns() {
    let dir = tempfile::tempdir().unwrap();
    let crawl = dir.path().join("crawl");
    std::fs::create_dir(&crawl).unwrap();
    for i in 0..4 {
        let records = records(20 + i, 60);
        put(&crawl, &format!("whole{i}.warc.gz"), &gzip(&records.concat()));
        put(&crawl, &format!("members{i}.warc.gz"), &records.iter().flat_map(|r| gzip(r)).collect::<Vec<u8>>());
    }
    let reference = dir.path().join("reference");
    build(&options(crawl.clone(), reference.clone())).unwrap();
    for (threads, solo_bytes, pipeline) in
        [(1, 100, Pipeline::Overlapped), (4, 100, Pipeline::Serial), (4, 3000, Pipeline::Overlapped)]
    {
        let mut changed = options(crawl.clone(), dir.path().join("changed"));
        (changed.force, changed.threads, changed.pipeline) = (true, threads, pipeline);
        (changed.corpus.solo_bytes, changed.corpus.piece_bytes, changed.block_keys) = (solo_bytes, 4000, 1 << 12);
        build(&changed).unwrap();
        assert_eq!(differences(&reference, &changed.output), Vec::<String>::new(), "{threads} {solo_bytes}");
    }
}

#[test]
fn gpu_sorters_give_the_same_bytes() {
    let Some(device) = test_device() else { return };
    let dir = tempfile::tempdir().unwrap();
    let members: Vec<u8> = records(3, 300).iter().flat_map(|r| gzip(r)).collect();
    let input = put(dir.path(), "crawl.warc.gz", &members);
    let reference = dir.path().join("reference");
    build(&options(input.clone(), reference.clone())).unwrap();
    for sorter in ["bitonic", "radix"] {
        let output = dir.path().join(sorter);
        let with_gpu = BuildOptions {
            sorter: sorter.into(),
            device: Some(device.clone()),
            block_keys: 20_000,
            ..options(input.clone(), output.clone())
        };
        let report = build(&with_gpu).unwrap();
        assert_eq!(report.warnings, Vec::<String>::new());
        assert_ne!(report.device, "CPU");
        assert_eq!(differences(&reference, &output), Vec::<String>::new(), "{sorter}");
    }
}

/// The adapter that tests use: the one that `GAMUT_TEST_DEVICE` names, else the first, software too.
#[allow(clippy::print_stderr, reason = "a test that was skipped must say so")]
fn test_device() -> Option<String> {
    let named = std::env::var("GAMUT_TEST_DEVICE").ok();
    let device = named.or_else(|| gamut::gpu::adapters().first().map(|a| a.name.clone()));
    if device.is_none() {
        assert!(std::env::var_os("GAMUT_REQUIRE_GPU").is_none(), "GAMUT_REQUIRE_GPU is set, and no adapter was found");
        eprintln!("SKIPPED: no Vulkan adapter, not even a software one (mesa-vulkan-drivers)");
    }
    device
}

/// Words over the limit are dropped, and the report says how many and where the first was, whatever the threads.
#[test]
fn words_dropped_for_their_length_are_reported() {
    let dir = tempfile::tempdir().unwrap();
    let page = |i: usize| {
        let long = match i {
            70 => format!("{} ", "y".repeat(256)),
            90 => format!("{} {} ", "z".repeat(10_000), "é".repeat(128)),
            _ => "x".repeat(255),
        };
        let http = format!("HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n<p>short {long} end");
        gzip(&common::record("response", &format!("http://a.test/{i}"), http.as_bytes()))
    };
    let members: Vec<Vec<u8>> = (0..120).map(page).collect();
    let offset: usize = members[..70].iter().map(Vec::len).sum();
    let input = put(dir.path(), "crawl.warc.gz", &members.concat());
    for (threads, piece_bytes) in [(1, 8 << 20), (5, 1000)] {
        let mut options = options(input.clone(), dir.path().join("index"));
        (options.threads, options.corpus.piece_bytes, options.force) = (threads, piece_bytes, true);
        let report = build(&options).unwrap();
        let first = report.long_words.first.clone().unwrap();
        assert_eq!((report.long_words.count, first.offset, first.id.as_str()), (3, offset as u64, "http://a.test/70"));
        assert_eq!(report.tokens, 120 * 3 - 2);
        let line = format!("3 words over 255 bytes; first: http://a.test/70 at byte {offset} of {}", input.display());
        assert!(report.summary().contains(&line), "{}", report.summary());
        let stored = std::fs::read_to_string(options.output.join("build-report.json")).unwrap();
        let stored: BuildReport = serde_json::from_str(&stored).unwrap();
        assert_eq!(stored.long_words, report.long_words);
    }
    let plain = put(dir.path(), "plain.warc.gz", &members[0]);
    let report = build(&options(plain, dir.path().join("none"))).unwrap();
    assert_eq!((report.long_words.count, report.long_words.first.as_ref()), (0, None));
    assert!(!report.summary().contains("dropped"));
}

/// What lies beside the index: nothing temporary may stay.
fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn failures_leave_nothing_behind() {
    let dir = tempfile::tempdir().unwrap();
    let members: Vec<u8> = records(1, 40).iter().flat_map(|r| gzip(r)).collect();
    let input = put(dir.path(), "crawl.warc.gz", &members);
    let empty = put(dir.path(), "empty.warc.gz", b"");
    let output = dir.path().join("index");
    let before = names(dir.path());

    let missing = build(&options(dir.path().join("no-such-file"), output.clone()));
    assert!(matches!(missing, Err(Error::Io { .. })), "{missing:?}");
    let none = build(&options(empty, output.clone()));
    assert!(matches!(none, Err(Error::NoDocuments { .. })), "{none:?}");
    let memory = build(&BuildOptions { memory: 1 << 20, ..options(input.clone(), output.clone()) });
    assert!(matches!(memory, Err(Error::Memory { .. })), "{memory:?}");
    let codec = build(&BuildOptions { codecs: vec!["zip".into()], ..options(input.clone(), output.clone()) });
    assert!(matches!(codec, Err(Error::UnknownName { .. })), "{codec:?}");
    let sorter = build(&BuildOptions { sorter: "bogo".into(), ..options(input.clone(), output.clone()) });
    assert!(matches!(sorter, Err(Error::UnknownName { .. })), "{sorter:?}");
    let cancelled = BuildOptions { cancel: Arc::new(AtomicBool::new(true)), ..options(input.clone(), output.clone()) };
    let cancelled = build(&cancelled);
    assert!(matches!(cancelled, Err(Error::Interrupted)), "{cancelled:?}");
    assert_eq!(names(dir.path()), before);

    build(&options(input.clone(), output.clone())).unwrap();
    let first = index_bytes(&output);
    let exists = build(&options(input.clone(), output.clone()));
    assert!(matches!(exists, Err(Error::Exists { .. })), "{exists:?}");
    // A failed replacement keeps what was there.
    let replaced = build(&BuildOptions { force: true, ..options(dir.path().join("no-such-file"), output.clone()) });
    assert!(replaced.is_err());
    assert_eq!(index_bytes(&output), first);
    build(&BuildOptions { force: true, ..options(input, output.clone()) }).unwrap();
    assert_eq!(index_bytes(&output), first);
    let mut after = before;
    after.push("index".into());
    after.sort();
    assert_eq!(names(dir.path()), after);
}
