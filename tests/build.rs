//! Whole builds: the same input gives the same bytes whatever the threads, memory, block size,
//! sorter, pipeline or container; and what a build that fails leaves behind, which is nothing.

mod common;

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use common::{gzip, index_bytes, put, records};
use gamut::base::means::Means;
use gamut::codec::parse_list;
use gamut::gpu::Choice;
use gamut::index::Index;
use gamut::pipeline::{BuildOptions, BuildReport, Pipeline, build};
use gamut::query::{Bm25, Mode, Searcher};
use gamut::sort::SorterChoice;
use gamut::text::AnalyzerSpec;
use gamut::{Error, codec};

fn options(input: PathBuf, output: PathBuf) -> BuildOptions {
    BuildOptions {
        means: Means::new(2, 512 << 20),
        sorter: SorterChoice::parse("cpu").unwrap(),
        codecs: codec::all(),
        impacts: true,
        tables: true,
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
        ("one thread", |o| o.means.threads = 1),
        ("eight threads", |o| o.means.threads = 8),
        ("8 GiB", |o| o.means.memory = 8 << 30),
        ("small blocks", |o| o.block_keys = 1 << 12),
        ("small blocks, five threads", |o| (o.block_keys, o.means.threads) = (3000, 5)),
        ("serial", |o| o.pipeline = Pipeline::Serial),
        ("serial, small blocks", |o| (o.pipeline, o.block_keys) = (Pipeline::Serial, 1 << 13)),
        ("spimi", |o| o.pipeline = Pipeline::Spimi),
        ("spimi, small blocks", |o| (o.pipeline, o.block_keys) = (Pipeline::Spimi, 1 << 12)),
        ("cpu pipeline", |o| o.pipeline = Pipeline::Cpu),
        ("small pieces", |o| o.corpus.piece_bytes = 10_000),
        ("one record at a time", |o| (o.corpus.solo_bytes, o.means.threads) = (500, 4)),
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
        let mut solo = BuildOptions { force: true, ..options(input.clone(), output.clone()) };
        solo.means.threads = 4;
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
    for (threads, solo_bytes, pipeline) in [
        (1, 100, Pipeline::Overlapped),
        (4, 100, Pipeline::Serial),
        (4, 3000, Pipeline::Overlapped),
        (4, 3000, Pipeline::Spimi),
    ] {
        let mut changed = options(crawl.clone(), dir.path().join("changed"));
        (changed.force, changed.means.threads, changed.pipeline) = (true, threads, pipeline);
        (changed.corpus.solo_bytes, changed.corpus.piece_bytes, changed.block_keys) = (solo_bytes, 4000, 1 << 12);
        build(&changed).unwrap();
        assert_eq!(differences(&reference, &changed.output), Vec::<String>::new(), "{threads} {solo_bytes}");
    }
}

#[test]
fn gpu_sorters_give_the_same_bytes() {
    let Some(device) = common::device() else { return };
    let dir = tempfile::tempdir().unwrap();
    let members: Vec<u8> = records(3, 300).iter().flat_map(|r| gzip(r)).collect();
    let input = put(dir.path(), "crawl.warc.gz", &members);
    let reference = dir.path().join("reference");
    build(&options(input.clone(), reference.clone())).unwrap();
    let mut blocks = Vec::new();
    for sorter in ["bitonic", "radix", "quick", "radix-split", "auto"] {
        let output = dir.path().join(sorter);
        let with_gpu = BuildOptions {
            sorter: SorterChoice::parse(sorter).unwrap(),
            device: Choice::parse(&device),
            block_keys: 20_000,
            ..options(input.clone(), output.clone())
        };
        let report = build(&with_gpu).unwrap();
        assert_eq!(report.warnings, Vec::<String>::new());
        assert_ne!(report.device, "CPU");
        assert_eq!(differences(&reference, &output), Vec::<String>::new(), "{sorter}");
        assert_eq!(report.sorter, if sorter == "auto" { "bitonic" } else { sorter });
        // a limit that the network's one buffer of 2^18 keys fits, and no second one
        let limited = BuildOptions { force: true, block_keys: 1 << 18, device_memory: 3 << 20, ..with_gpu };
        let report = build(&limited).unwrap();
        assert_eq!(differences(&reference, &output), Vec::<String>::new(), "{sorter} with little device memory");
        blocks.push((sorter, report.plan.block_keys));
    }
    let keys = |sorter: &str| blocks.iter().find(|(name, _)| *name == sorter).map(|(_, keys)| *keys);
    assert_eq!(keys("bitonic"), Some(1 << 18), "{blocks:?}");
    // as many as fit, which is more than half
    assert!(keys("radix-split").is_some_and(|keys| (1 << 17..1 << 18).contains(&keys)), "{blocks:?}");
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
        (options.means.threads, options.corpus.piece_bytes, options.force) = (threads, piece_bytes, true);
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
    let little = Means::new(2, 1 << 20);
    let memory = build(&BuildOptions { means: little, ..options(input.clone(), output.clone()) });
    assert!(matches!(memory, Err(Error::Memory { .. })), "{memory:?}");
    let codec = parse_list("zip");
    assert!(matches!(codec, Err(Error::UnknownName { .. })), "{codec:?}");
    let sorter = SorterChoice::parse("bogo");
    assert!(matches!(sorter, Err(Error::UnknownName { .. })), "{sorter:?}");
    let cancelled = options(input.clone(), output.clone());
    cancelled.means.cancel.store(true, Ordering::Relaxed);
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

/// One page a script, and a word from its middle.
const PAGES: [(&str, &str, &str); 8] = [
    ("chinese", "今天天气很好，我们在图书馆里学习，然后去公园散步。", "图书馆"),
    ("japanese", "昨日は東京の図書館で本を読みました。帰りに喫茶店で休みました。", "喫茶店"),
    ("thai", "วันนี้อากาศดีมากเราไปห้องสมุดเพื่ออ่านหนังสือแล้วกลับบ้าน", "หนังสือ"),
    ("lao", "ມື້ນີ້ອາກາດດີຫຼາຍພວກເຮົາໄປໂຮງຮຽນເພື່ອອ່ານປຶ້ມ", "ໂຮງຮຽນ"),
    ("khmer", "ថ្ងៃនេះអាកាសធាតុល្អណាស់យើងទៅសាលារៀនដើម្បីអានសៀវភៅ", "អាន"),
    ("burmese", "ယနေ့ရာသီဥတုကောင်းပါတယ်ကျွန်တော်စာအုပ်ဖတ်ပါတယ်", "စာအုပ်"),
    ("korean", "오늘은 날씨가 좋아서 우리는 도서관에서 책을 읽었습니다", "도서관에서"),
    ("latin", "The naïve reader's co\u{ad}operation began x_1", "cooperation"),
];

/// An index of the pages, by an analyzer.
fn pages(dir: &Path, analyzer: AnalyzerSpec) -> Index {
    let lines: String =
        PAGES.iter().map(|(id, text, _)| format!("{{\"id\": \"{id}\", \"contents\": \"{text}\"}}\n")).collect();
    let output = dir.join(&analyzer.name);
    let input = put(dir, "pages.jsonl", lines.as_bytes());
    build(&BuildOptions { analyzer, impacts: false, ..options(input, output.clone()) }).unwrap();
    Index::open(&output).unwrap()
}

/// The ids of what a query finds.
fn found(searcher: &Searcher, text: &str) -> Vec<String> {
    let plan = searcher.plan(&searcher.parse(text).unwrap()).unwrap();
    let hits = searcher.search(&plan, Mode::And, 10).unwrap();
    hits.iter().map(|hit| searcher.index().name(hit.doc).unwrap().id.to_string()).collect()
}

#[test]
fn a_page_of_each_script_is_found_by_a_word_from_its_middle() {
    let dir = tempfile::tempdir().unwrap();
    let index = pages(dir.path(), AnalyzerSpec::named("segment"));
    let searcher = Searcher::new(&index, None, Bm25::default()).unwrap();
    for (id, text, word) in PAGES {
        assert!(!text.starts_with(word), "{id}");
        assert_eq!(found(&searcher, word), [id], "{word}");
    }
    // Words of `simple` are as long as there is no space, and pairs of characters need no dictionary.
    let index = pages(dir.path(), AnalyzerSpec::named("simple"));
    let searcher = Searcher::new(&index, None, Bm25::default()).unwrap();
    assert!(found(&searcher, PAGES[2].2).is_empty());
    let index = pages(dir.path(), AnalyzerSpec::named("cjk"));
    let searcher = Searcher::new(&index, None, Bm25::default()).unwrap();
    assert_eq!(
        (found(&searcher, "图书馆"), found(&searcher, "도서관")),
        (vec!["chinese".into()], vec!["korean".into()])
    );
}

/// A tokenizer that gamut does not know: built with, recorded by name, and queried with.
#[test]
fn a_tokenizer_of_the_caller_builds_and_queries() {
    let dir = tempfile::tempdir().unwrap();
    let mine = || AnalyzerSpec::of_tokenizer("mine", gamut::text::LuceneTokenizer::default()).unwrap();
    let index = pages(dir.path(), mine());
    assert_eq!((index.manifest().analyzer.name.as_str(), &index.manifest().analyzer.unicode), ("mine", &None));
    let searcher = Searcher::analyzed_by(&index, None, Bm25::default(), &mine()).unwrap();
    assert_eq!(found(&searcher, "reader's x_1"), ["latin"], "tokens are terms as they are");
    assert!(found(&searcher, "the").is_empty());
    for error in [
        Searcher::new(&index, None, Bm25::default()).err().unwrap(),
        Searcher::analyzed_by(&index, None, Bm25::default(), &AnalyzerSpec::named("simple")).err().unwrap(),
    ] {
        assert!(error.to_string().contains("\"mine\""), "{error}");
    }
}

/// The manifest says by which Unicode words were made.
#[test]
fn the_version_of_unicode_is_recorded() {
    let dir = tempfile::tempdir().unwrap();
    let index = pages(dir.path(), AnalyzerSpec::named("english"));
    let made_by = &index.manifest().analyzer;
    assert_eq!((made_by.unicode.as_deref(), made_by.other_unicode()), (Some(gamut::text::UNICODE), None));
    let other = AnalyzerSpec { unicode: Some("17.0".to_owned()), ..made_by.clone() };
    let line = other.other_unicode().unwrap();
    assert!(line.contains("17.0") && line.contains(gamut::text::UNICODE) && !line.contains('\n'), "{line}");
    assert_eq!(AnalyzerSpec { unicode: None, ..made_by.clone() }.other_unicode(), None);
}
