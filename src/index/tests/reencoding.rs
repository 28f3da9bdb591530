//! Codecs added, replaced and taken out: always the bytes of a build.

use super::*;
use crate::Error;
use crate::gpu::testing::gpu;
use crate::index::change::reencode::{Change, PartChange, estimate, reencode};
use crate::index::format::manifest::MANIFEST;
use std::fs;

/// Some thousand short documents: lists from one document to most of them, frequencies over 1.
pub(super) fn texts() -> Vec<(String, String)> {
    let mut state = 7u64;
    let mut random = move |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    (0..3000)
        .map(|doc| {
            let words: Vec<String> = (0..1 + random(12))
                .map(|_| {
                    let among = 1 + random(200);
                    let rank = random(among);
                    format!("w{rank}")
                })
                .collect();
            (format!("d{doc}"), words.join(" "))
        })
        .collect()
}

fn make(target: &Path, codecs: Vec<Arc<dyn Codec>>) {
    let texts = texts();
    let texts: Vec<Text<'_>> = texts.iter().map(|(id, text)| (id.as_str(), "", "", text.as_str())).collect();
    // A window so small that lists must move.
    build(target, &texts, &Plan { codecs, window: 1 << 12, ..Plan::default() }).unwrap();
}

/// Every file of an index by name, but the manifest.
pub(super) fn files(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in walkdir::WalkDir::new(dir).into_iter().map(|entry| entry.unwrap()) {
        if entry.file_type().is_file() && entry.file_name() != MANIFEST {
            let name = entry.path().strip_prefix(dir).unwrap().to_string_lossy().into_owned();
            files.insert(name, fs::read(entry.path()).unwrap());
        }
    }
    files
}

pub(super) fn change<'a>(add: &str, remove: &[&str], means: &Means) -> Change<'a> {
    Change {
        add: if add.is_empty() { Vec::new() } else { codec::parse_list(add).unwrap() },
        remove: remove.iter().map(|&name| name.to_owned()).collect(),
        impacts: PartChange::Keep,
        tables: PartChange::Keep,
        from: None,
        output: None,
        gpu: None,
        means: means.clone(),
    }
}

/// Who opens an index meets the old one or the new one, never files of both.
#[test]
fn test_an_index_opens_while_others_take_its_place() {
    let dir = tempfile::tempdir().unwrap();
    let go = Means::new(1, 1);
    let index = dir.path().join("index");
    make(&index, codec::parse_list("raw").unwrap());
    std::thread::scope(|scope| {
        let changes = scope.spawn(|| {
            for i in 0..40 {
                let (add, remove) = if i % 2 == 0 { ("vbyte,simple9", "raw") } else { ("raw", "vbyte") };
                let removed = if i % 2 == 0 { vec![remove] } else { vec![remove, "simple9"] };
                reencode(&index, &change(add, &removed, &go)).unwrap();
            }
        });
        let mut opened = 0;
        while !changes.is_finished() {
            let found = Index::open(&index).unwrap_or_else(|error| panic!("after {opened}: {error}"));
            assert!([1, 2].contains(&found.codecs().count()));
            opened += 1;
        }
    });
}

#[test]
fn test_reencoded_folders_are_those_of_a_build() {
    let dir = tempfile::tempdir().unwrap();
    let go = Means::new(3, 1);
    let (all, one) = (dir.path().join("all"), dir.path().join("one"));
    make(&all, codec::all());
    make(&one, codec::parse_list("raw").unwrap());
    let first = files(&one);
    // Through every codec, each from the one before, and back.
    let mut names = codec::names();
    names.rotate_left(1);
    let mut before = "raw";
    for name in names {
        let done = reencode(&one, &change(name, &[before], &go)).unwrap();
        assert_eq!((done.from.split(':').next(), done.written.len()), (Some(before), 1));
        assert_eq!(Manifest::read(&one).unwrap().codecs.len(), 1);
        let built = files(&all);
        for (file, bytes) in files(&one) {
            assert!(built[&file] == bytes, "{file} differs from what a build writes");
        }
        let verified = verify(&one).unwrap();
        assert!(verified.problems.is_empty(), "{:?}", verified.problems);
        before = name;
    }
    assert!(files(&one) == first, "the way back ends where it began");
    // All at once, then away with all but one.
    reencode(&one, &change("all", &[], &go)).unwrap();
    assert!(
        files(&one) == files(&all) && fs::read(one.join(MANIFEST)).unwrap() == fs::read(all.join(MANIFEST)).unwrap()
    );
    let others: Vec<&str> = codec::names().into_iter().filter(|&name| name != "raw").collect();
    reencode(&one, &change("", &others, &go)).unwrap();
    assert!(files(&one) == first);
}

#[test]
fn test_a_gpu_decodes_the_same() {
    let Some(gpu) = gpu() else { return };
    let dir = tempfile::tempdir().unwrap();
    let go = Means::new(3, 1);
    let (all, one) = (dir.path().join("all"), dir.path().join("one"));
    make(&all, codec::all());
    make(&one, codec::parse_list("para-ef").unwrap());
    reencode(&one, &Change { gpu: Some(&gpu), ..change("all", &[], &go) }).unwrap();
    assert!(files(&one) == files(&all));
}

#[test]
fn test_sizes_are_foretold() {
    let dir = tempfile::tempdir().unwrap();
    let go = Means::new(3, 1);
    let all = dir.path().join("all");
    make(&all, codec::all());
    let estimates = estimate(&all, &change("all", &[], &go)).unwrap();
    for estimate in &estimates {
        let real = estimate.present.unwrap();
        // Windows are filled up with zeros, list places are packed by 64.
        assert!(real.abs_diff(estimate.bytes) <= real / 20 + 64, "{estimate:?}");
    }
    assert_eq!(estimates.len(), codec::names().len());
}

#[test]
fn test_what_cannot_be_done_leaves_the_index_as_it_was() {
    let dir = tempfile::tempdir().unwrap();
    let (go, stop) = (Means::new(3, 1), stopped());
    let index = dir.path().join("index");
    make(&index, codec::parse_list("raw,vbyte").unwrap());
    let before = (files(&index), fs::read(index.join(MANIFEST)).unwrap());
    let fails = |change: &Change<'_>| reencode(&index, change).unwrap_err();
    assert!(matches!(fails(&change("para-ef", &[], &stop)), Error::Interrupted));
    assert!(matches!(fails(&change("", &["para-ef"], &go)), Error::UnknownName { .. }));
    assert!(matches!(fails(&change("", &["raw", "vbyte"], &go)), Error::Invalid { .. }));
    assert!(matches!(fails(&change("", &[], &go)), Error::Invalid { .. }));
    assert!(matches!(fails(&change("vbyte", &["vbyte"], &go)), Error::Invalid { .. }));
    assert!(matches!(fails(&Change { from: Some("para-ef"), ..change("vbyte", &[], &go) }), Error::UnknownName { .. }));
    assert!(matches!(fails(&Change { output: Some(&index), ..change("vbyte", &[], &go) }), Error::Exists { .. }));
    // What somebody put beside the files of a codec stays.
    fs::write(index.join("vbyte/notes.txt"), "mine").unwrap();
    let error = fails(&change("para-ef", &["vbyte"], &go)).to_string();
    assert!(error.contains("vbyte/notes.txt") && error.contains("not part of the index"), "{error}");
    fs::remove_file(index.join("vbyte/notes.txt")).unwrap();
    assert!(before == (files(&index), fs::read(index.join(MANIFEST)).unwrap()));
    // Verify finds a changed word that still decodes; other changes are found here.
    let path = index.join("vbyte/postings.bin");
    let mut bytes = fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..].fill(0xff);
    fs::write(&path, &bytes).unwrap();
    assert!(matches!(fails(&change("para-ef", &[], &go)), Error::Damaged { .. }));
    // From the sound codec it works, and the damaged one can be written anew.
    let mended = Change { from: Some("raw"), ..change("vbyte", &[], &go) };
    reencode(&index, &mended).unwrap();
    assert!(before == (files(&index), fs::read(index.join(MANIFEST)).unwrap()));
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "nothing is left beside the index");
    // Foreign files would go with the old directory.
    fs::create_dir(index.join("other")).unwrap();
    assert!(matches!(fails(&change("para-ef", &[], &go)), Error::Invalid { .. }));
    fs::remove_dir(index.join("other")).unwrap();
    // Another place: the index stays.
    let other = dir.path().join("other");
    reencode(&index, &Change { output: Some(&other), ..change("para-ef", &["raw"], &go) }).unwrap();
    assert!(before.0 == files(&index));
    let names = |dir: &Path| Manifest::read(dir).unwrap().codecs.into_iter().map(|c| c.name).collect::<Vec<_>>();
    assert_eq!(names(&other), ["vbyte", "para-ef"]);
    assert!(verify(&other).unwrap().problems.is_empty());
}
