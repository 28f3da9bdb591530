//! Indexes that earlier releases wrote, one per format version, opened, verified and queried by this one.
//!
//! `golden/v2` is an index of 280 small pages in every codec of its time, with impacts and ranks, by analysis of
//! version 1. `golden/v3` is what `gamut reorder --order random:1` and then `--order input` made of it: its lists have
//! thresholds, too.

use std::path::{Path, PathBuf};

use gamut::index::{Index, format, verify};
use gamut::query::{Bm25, Mode, Scores, Searcher};

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

/// The folders with the format version that each is of.
fn versions() -> Vec<(PathBuf, u32)> {
    let entries = std::fs::read_dir(golden()).unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<_> = entries
        .map(|path| {
            let version = path.file_name().unwrap().to_str().unwrap().strip_prefix('v').unwrap().parse().unwrap();
            (path, version)
        })
        .collect();
    found.sort();
    found
}

#[test]
fn the_current_version_is_there_and_every_one_is_sound() {
    let versions = versions();
    assert!(versions.iter().any(|&(_, version)| version == format::VERSION), "no golden index of this format");
    for (path, version) in versions {
        let index = Index::open(&path).unwrap();
        assert_eq!(index.manifest().version, version);
        let verified = verify(&path).unwrap();
        assert!(verified.problems.is_empty(), "{}: {:?}", path.display(), verified.problems);
        assert_eq!((verified.postings > 3000, index.statistics().documents), (true, 280));
    }
}

/// The best three with their scores, as they were when the index was made.
fn ask(index: &Index, codec: &str, scores: Scores, text: &str) -> Vec<String> {
    let searcher = Searcher::new(index, Some(codec), Bm25::default()).unwrap().with_scores(scores).unwrap();
    let plan = searcher.plan(&searcher.parse(text).unwrap()).unwrap();
    let hits = searcher.search(&plan, Mode::AndOr, 3).unwrap();
    hits.iter().map(|hit| format!("{} {:.4}", index.name(hit.doc).unwrap().id, hit.score)).collect()
}

#[test]
fn every_version_answers_as_ever() {
    versions().iter().for_each(|(path, _)| answers_as_ever(path));
}

fn answers_as_ever(path: &Path) {
    let index = Index::open(path).unwrap();
    let codecs: Vec<&str> = index.codecs().map(|codec| codec.codec().name()).collect();
    assert_eq!(codecs.len(), 18, "a release reads every codec that there was");
    for codec in codecs {
        let keeper = ["http://h0.test/100 4.8443", "http://h2.test/7 4.5174", "http://h1.test/101 4.2770"];
        assert_eq!(ask(&index, codec, Scores::Bm25, "Lighthouse keeper"), keeper, "{codec}");
        let frequent = ["http://h0.test/265 79.0000", "http://h4.test/24 78.0000", "http://h0.test/75 78.0000"];
        assert_eq!(ask(&index, codec, Scores::Impacts, "w0 w39"), frequent, "{codec}");
    }
    // Its rules cut words at soft hyphens, and so do queries.
    let first = index.codecs().next().unwrap().codec().name();
    assert_eq!(index.manifest().analyzer.rules, 1);
    assert_eq!(ask(&index, first, Scores::Bm25, "com\u{ad}puter"), ["http://h2.test/7 5.1911"]);
    assert_eq!(ask(&index, first, Scores::Bm25, "computer"), Vec::<String>::new());
    assert!(index.pagerank().is_some_and(|ranks| ranks.len() == 280));
}

/// What changes an index of an earlier version writes one of this version, into which it takes some files as they are.
#[test]
fn an_earlier_version_is_taken_over() {
    let dir = tempfile::tempdir().unwrap();
    let run = |args: &[&str]| {
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_gamut")).args(args).output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    };
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let (earlier, reencoded, merged) = (golden().join("v2"), path("reencoded"), path("merged"));
    let earlier = earlier.to_str().unwrap();
    run(&["reencode", earlier, "--codec", "simdbp,vbyte", "-o", &reencoded]);
    // lists of both without and with thresholds, where an index is read; none of the second one's documents stays
    run(&["merge", earlier, &reencoded, "--on-duplicate", "keep-first", "-o", &merged]);
    for (target, has_thresholds) in [(&reencoded, false), (&merged, true)] {
        let target = Path::new(target);
        let problems = verify(target).unwrap().problems;
        assert!(problems.is_empty(), "{}: {problems:?}", target.display());
        let index = Index::open(target).unwrap();
        assert_eq!(index.manifest().version, format::VERSION);
        let frequencies = std::fs::read(target.join("tf.bin")).unwrap();
        let same = frequencies == std::fs::read(golden().join("v2/tf.bin")).unwrap();
        assert_eq!(same, !has_thresholds, "{}", target.display());
        let keeper = ["http://h0.test/100 4.8443", "http://h2.test/7 4.5174", "http://h1.test/101 4.2770"];
        assert_eq!(ask(&index, "simdbp", Scores::Bm25, "Lighthouse keeper"), keeper);
    }
}

/// An index from the future is refused in one line that says what to do.
#[test]
fn rules_and_formats_to_come_are_refused() {
    let text = std::fs::read_to_string(golden().join("v3/manifest.json")).unwrap();
    for (from, to, expected) in [
        ("\"version\": 3", "\"version\": 4", "format version 4, but this gamut reads versions 2 to 3"),
        ("\"name\": \"simple\"", "\"name\": \"simple\", \"rules\": 99", "the manifest was changed"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        assert!(text.contains(from));
        std::fs::write(dir.path().join("manifest.json"), text.replacen(from, to, 1)).unwrap();
        let error = Index::open(dir.path()).err().unwrap().to_string();
        assert!(error.contains(expected) && !error.contains('\n'), "{error}");
    }
}
