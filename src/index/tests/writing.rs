//! The writer: bytes that depend on the content only, publication, refusals.

use super::*;
use crate::{Error, codec};
use proptest::prelude::*;
use std::fs;

fn sample() -> Vec<Text<'static>> {
    vec![
        ("d0", "http://a.test/", "A title", "to be or not to be"),
        ("http://b.test/", "http://b.test/", "", "be"),
        ("d2", "", "Ünïcode", "or else what what what"),
        ("d0", "", "", ""),
    ]
}

/// Every file of a directory tree with its content.
pub(crate) fn tree(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in walkdir::WalkDir::new(dir) {
        let entry = entry.unwrap();
        if entry.file_type().is_file() {
            let name = entry.path().strip_prefix(dir).unwrap().to_string_lossy().into_owned();
            files.insert(name, fs::read(entry.path()).unwrap());
        }
    }
    files
}

fn entries(dir: &Path) -> usize {
    fs::read_dir(dir).unwrap().count()
}

#[test]
fn test_directory_holds_what_the_manifest_says() {
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("deep/er/index");
    let summary = build(&target, &sample(), &Plan::default()).unwrap();
    assert_eq!(entries(target.parent().unwrap()), 1, "nothing temporary is left");
    let s = summary.statistics;
    assert_eq!((s.documents, s.terms, s.postings, s.tokens, s.longest_document), (4, 6, 8, 12, 6));
    assert_eq!((s.duplicate_ids, s.lists), (1, 2));
    let files = tree(&target);
    let names: Vec<&str> = summary.files.iter().map(|file| file.name.as_str()).collect();
    let mut sorted = names.clone();
    sorted.sort_unstable();
    assert_eq!(files.keys().map(String::as_str).collect::<Vec<_>>(), sorted);
    for file in &summary.files {
        let content = &files[&file.name];
        assert_eq!(content.len() as u64, file.bytes, "{}", file.name);
        assert_eq!(format!("{:016x}", xxhash_rust::xxh3::xxh3_64(content)), file.xxh3, "{}", file.name);
    }
    let manifest = Manifest::read(&target).unwrap();
    assert_eq!(manifest.statistics, s);
    assert_eq!(manifest.codecs.iter().map(|codec| codec.name.as_str()).collect::<Vec<_>>(), codec::names());
}

#[test]
fn test_existing_targets() {
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("index");
    fs::create_dir(&target).unwrap();
    build(&target, &sample()[..2], &Plan::default()).expect("an empty directory may be filled");
    let before = tree(&target);
    let again = build(&target, &sample(), &Plan::default());
    assert!(matches!(again, Err(Error::Exists { .. })));
    assert_eq!(tree(&target), before, "refused without a trace");
    let force = || Plan { force: true, ..Plan::default() };
    build(&target, &sample(), &force()).unwrap();
    assert_ne!(tree(&target), before, "replaced");
    assert_eq!(entries(dir.path()), 1, "the old one is gone");
    let other = dir.path().join("thesis");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("chapter1.tex"), "x").unwrap();
    assert!(matches!(build(&other, &sample(), &force()), Err(Error::Invalid { .. })));
    assert_eq!(entries(&other), 1, "what is no index is not deleted");
    // Nor is what somebody put into an index.
    for name in ["notes.txt", "para-ef/notes.txt"] {
        fs::write(target.join(name), "mine").unwrap();
        let error = build(&target, &sample(), &force()).unwrap_err().to_string();
        assert!(error.contains(name) && error.contains("not part of the index"), "{error}");
        fs::remove_file(target.join(name)).unwrap();
    }
    // A link stays a link to the index that it leads to.
    #[cfg(unix)]
    {
        let (link, before) = (dir.path().join("link"), tree(&target));
        std::os::unix::fs::symlink(&target, &link).unwrap();
        let error = build(&link, &sample()[..1], &force()).unwrap_err().to_string();
        assert!(error.contains("is a link to") && error.contains("index"), "{error}");
        assert!(link.is_symlink() && tree(&target) == before);
    }
    let file = dir.path().join("file");
    fs::write(&file, "x").unwrap();
    assert!(matches!(build(&file, &sample(), &force()), Err(Error::Invalid { .. })));
}

#[test]
fn test_a_directory_is_cleared_once_nothing_is_in_the_way() {
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("index");
    for in_the_way in [true, false] {
        let mut cleared = false;
        let check = |index: &Path| {
            fs::create_dir(index.join("runs")).unwrap();
            if in_the_way {
                fs::create_dir_all(target.join("thesis")).unwrap();
            }
            Ok(())
        };
        let clear = |index: &Path| {
            cleared = true;
            fs::remove_dir(index.join("runs")).unwrap();
            Ok(())
        };
        let built = build_cleared(&target, &sample(), &Plan::default(), check, clear);
        assert_eq!((built.is_ok(), cleared), (!in_the_way, !in_the_way));
        if in_the_way {
            assert!(matches!(built, Err(Error::Exists { .. })));
            fs::remove_dir_all(&target).unwrap();
        }
    }
    assert!(!target.join("runs").exists() && Index::open(&target).is_ok());
}

#[test]
fn test_dropped_writer_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("index");
    let mut writer = IndexWriter::create(&target, false, &codec::all()).unwrap();
    writer.documents().unwrap().push("a", "", "", 3).unwrap();
    assert!(writer.temp_dir().starts_with(dir.path()));
    drop(writer);
    assert_eq!(entries(dir.path()), 0);
}

#[test]
fn test_misuse_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let writer = || IndexWriter::create(&dir.path().join("index"), false, &codec::all()).unwrap();
    let fields = || ManifestFields { analyzer: AnalyzerSpec::named("simple"), order: "input".to_owned() };
    let batch = ListBatch { first_term: 0, lens: vec![1], docs: vec![0], tfs: vec![1] };
    let mut w = writer();
    let mut docs = w.documents().unwrap();
    docs.push("a", "", "", 1).unwrap();
    let docs = Arc::new(docs.finish().unwrap());
    let lists = w.encoder(docs.clone()).encode(&ListBatch { first_term: 1, ..batch.clone() });
    assert!(matches!(w.append(lists), Err(Error::Invalid { .. })), "a termID is left out");
    let lists = w.encoder(docs.clone()).encode(&batch);
    w.append(lists).unwrap();
    assert!(matches!(w.finish(&docs, fields()), Err(Error::Invalid { .. })), "no dictionary");
    let mut w = writer();
    let mut terms = w.terms().unwrap();
    terms.insert(b"b", 0).unwrap();
    assert!(matches!(terms.insert(b"a", 1), Err(Error::Invalid { .. })), "terms out of order");
    let mut w = writer();
    w.terms().unwrap().write([("a", 0)]).unwrap();
    assert!(matches!(w.finish(&docs, fields()), Err(Error::Invalid { .. })), "more terms than lists");
    assert!(matches!(IndexWriter::create(&dir.path().join("x"), false, &[]), Err(Error::Invalid { .. })));
}

#[test]
fn test_list_too_long_for_a_window_is_a_limit() {
    let dir = tempfile::tempdir().unwrap();
    let texts: Vec<Text<'_>> = (0..300).map(|_| ("d", "", "", "a")).collect();
    let plan = Plan { window: 16, ..Plan::default() };
    let error = build(&dir.path().join("index"), &texts, &plan).unwrap_err();
    assert!(matches!(error, Error::Limit { limit: 15, .. }), "{error}");
    assert_eq!(entries(dir.path()), 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn test_batches_leave_no_trace(
        texts in proptest::collection::vec("[a-h]{1,2}( [a-d]{1,2}){0,30}", 1..200),
        batch in 1usize..40, window in prop_oneof![Just(256u64), Just(512), Just(1 << 29)],
    ) {
        let texts: Vec<Text<'_>> = texts.iter().map(|text| ("id", "url", "title", text.as_str())).collect();
        let dir = tempfile::tempdir().unwrap();
        let trees: Vec<_> = [batch, usize::MAX]
            .map(|batch| {
                let target = dir.path().join(batch.to_string());
                build(&target, &texts, &Plan { window, batch, ..Plan::default() }).unwrap();
                tree(&target)
            })
            .into();
        prop_assert!(trees[0] == trees[1]);
    }
}
