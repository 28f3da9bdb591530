//! Flipped, missing and foreign bytes: opening, reading and verifying never panic, and verifying always notices.

use super::writing::tree;
use super::*;
use crate::postings::{Cursor, END, List, Postings};
use proptest::prelude::*;
use std::fs;

/// Lists of all sizes: one document, a few, one block, many blocks, with and without frequencies above 1.
fn texts() -> Vec<String> {
    (0..900u32)
        .map(|i| {
            let mut text = "all ".repeat(1 + (i % 3) as usize);
            if i % 2 == 0 {
                text += "even ";
            }
            if i % 7 == 0 {
                text += "seven seven ";
            }
            if i < 128 {
                text += "early ";
            }
            text + &format!("only{i} pair{}", i / 2)
        })
        .collect()
}

fn sample(dir: &Path) -> std::path::PathBuf {
    let target = dir.join("index");
    let texts = texts();
    let ids: Vec<String> = (0..texts.len()).map(|i| format!("http://host{}.test/{i}", i % 5)).collect();
    let texts: Vec<Text<'_>> =
        ids.iter().zip(&texts).map(|(id, text)| (id.as_str(), id.as_str(), "T", &text[..])).collect();
    build(
        &target,
        &texts,
        &Plan { window: 1024, impacts: Some(2), tables: Some(2), stored: Some(2), ..Plan::default() },
    )
    .unwrap();
    target
}

/// Reads everything that can be read, in every way.
fn read_all(dir: &Path) {
    let Ok(index) = Index::open(dir) else { return };
    let mut ids = Vec::new();
    for term in ["all", "even", "seven", "early", "only5", "only899", "pair7", "none"] {
        ids.extend(index.lookup(term.as_bytes()).ok().flatten());
    }
    ids.extend([0, 1, 63, 64, 65, 700, u32::MAX]);
    for &id in &ids {
        let Ok(term) = index.term(id) else { continue };
        if let Some(impacts) = index.impacts() {
            impacts.bound(&term);
            if let Ok(bytes) = impacts.list(&term) {
                assert_eq!(bytes.len(), term.df as usize);
            }
        }
    }
    for codec in index.codecs() {
        for &id in &ids {
            let Ok(term) = index.term(id) else { continue };
            let open = || index.list(&term, codec).map(Cursor::new);
            let Ok(mut cursor) = open() else { continue };
            let mut last = None;
            while cursor.doc() != END {
                assert!(last < Some(cursor.doc()), "docIDs increase");
                last = Some(cursor.doc());
                cursor.tf();
                cursor.advance();
            }
            let Ok(mut cursor) = open() else { continue };
            for target in (0..1000).step_by(90) {
                assert!(cursor.seek(target) >= target);
            }
        }
    }
    for id in ["", "d0", "d450", "no such"] {
        let _ = index.find_id(id);
    }
    for doc in [0, 1, 450, 899, 900] {
        let _ = index.name(doc);
        let _ = index.text(doc);
    }
    for query in ["all even", "seven early only5 none"] {
        for mode in [crate::query::Mode::And, crate::query::Mode::Or] {
            let Ok(searcher) = crate::query::Searcher::new(&index, None, crate::query::Bm25::default()) else { return };
            let _ = searcher.parse(query).and_then(|query| searcher.search(&searcher.plan(&query)?, mode, 5));
            // again, with the tables of lists in memory, if they are not in the index
            let _ = searcher.parse(query).and_then(|query| {
                let plan = searcher.plan(&query)?;
                searcher.prepare(&plan, mode, 5)?;
                searcher.search(&plan, mode, 5)
            });
        }
    }
}

#[test]
fn test_a_sound_index_verifies() {
    let dir = tempfile::tempdir().unwrap();
    let target = sample(dir.path());
    let verified = verify(&target).unwrap();
    assert!(verified.problems.is_empty(), "{:?}", verified.problems);
    let s = Manifest::read(&target).unwrap().statistics;
    let codecs = crate::codec::FAMILIES.len() as u64;
    assert_eq!(verified.postings, s.postings * codecs, "every posting of all codecs");
    assert_eq!(verified.lists, s.terms * codecs);
}

#[test]
fn test_missing_and_cut_files_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let target = sample(dir.path());
    for (name, content) in tree(&target) {
        let path = target.join(&name);
        fs::remove_file(&path).unwrap();
        let error = Index::open(&target).err().unwrap().to_string();
        assert!(error.contains(&name), "{error}");
        // without its manifest a directory is no index, which is no damage
        if let Ok(verified) = verify(&target) {
            assert_eq!(verified.problems.iter().map(ToString::to_string).collect::<Vec<_>>(), [error]);
        }
        for len in [0, content.len() / 2, content.len() - 1] {
            fs::write(&path, &content[..len]).unwrap();
            assert!(Index::open(&target).is_err(), "{name} cut to {len}");
            let problems = verify(&target).unwrap().problems;
            assert!(problems[0].to_string().contains(&name) && problems.len() == 1, "{problems:?}");
        }
        fs::write(&path, &content).unwrap();
    }
    assert!(verify(&target).unwrap().problems.is_empty());
}

#[test]
fn test_other_versions_are_refused_clearly() {
    let dir = tempfile::tempdir().unwrap();
    let target = sample(dir.path());
    let manifest = target.join("manifest.json");
    let text = fs::read_to_string(&manifest).unwrap();
    let version = |version: u32| format!("\"version\": {version},");
    let current = version(format::VERSION);
    assert!(text.contains(&current));
    // before the first version that is read, and after the last one
    for other in [format::FIRST - 1, format::VERSION + 1] {
        fs::write(&manifest, text.replace(&current, &version(other))).unwrap();
        let error = Index::open(&target).err().unwrap().to_string();
        let expected =
            format!("version {other}, but this gamut reads versions {} to {}", format::FIRST, format::VERSION);
        assert!(error.contains(&expected), "{error}");
    }
    fs::write(&manifest, text).unwrap();
    let file = target.join("tf.bin");
    let mut bytes = fs::read(&file).unwrap();
    bytes[8] = 7;
    fs::write(&file, bytes).unwrap();
    let error = Index::open(&target).err().unwrap().to_string();
    assert!(error.contains("tf.bin") && error.contains("byte 8") && error.contains("version 7"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn test_flipped_bytes_are_seen_and_never_panic(
        file: proptest::sample::Index, flips in proptest::collection::vec((any::<proptest::sample::Index>(), 1u8..), 1..4),
    ) {
        thread_local! {
            static SAMPLE: (tempfile::TempDir, std::path::PathBuf) = {
                let dir = tempfile::tempdir().unwrap();
                let target = sample(dir.path());
                (dir, target)
            };
        }
        SAMPLE.with(|(_, target)| {
            let files = tree(target);
            let (name, content) = files.iter().nth(file.index(files.len())).unwrap();
            let mut bytes = content.clone();
            for (at, flip) in flips {
                let at = at.index(bytes.len());
                bytes[at] ^= flip;
            }
            if bytes == *content {
                return Ok(());
            }
            fs::write(target.join(name), &bytes).unwrap();
            read_all(target);
            let seen = !verify(target).unwrap().problems.is_empty();
            fs::write(target.join(name), content).unwrap();
            prop_assert!(seen, "damage in {name}");
            Ok(())
        })?;
    }
}

/// Makes the manifest vouch for a file's present content, so that only the comparison of files can see damage.
pub(super) fn sign(dir: &Path, name: &str) {
    let mut manifest = Manifest::read(dir).unwrap();
    let content = fs::read(dir.join(name)).unwrap();
    let file = manifest.files.iter_mut().find(|file| file.name == name).unwrap();
    file.xxh3 = format!("{:016x}", xxhash_rust::xxh3::xxh3_64(&content));
    fs::write(dir.join("manifest.json"), manifest.to_json()).unwrap();
}

#[test]
fn test_damage_that_the_checksums_hide_is_seen() {
    let dir = tempfile::tempdir().unwrap();
    let target = sample(dir.path());
    for (name, content) in tree(&target) {
        if name == "manifest.json" {
            continue;
        }
        let (mut tried, mut seen) = (0, 0);
        // Past the header, which opening compares byte by byte.
        for at in (64..content.len()).step_by(content.len() / 40 + 1) {
            // Zeros are mostly padding between and behind lists, whose content readers ignore.
            if content[at] == 0 {
                continue;
            }
            let mut bytes = content.clone();
            bytes[at] ^= 1 << (at % 8);
            fs::write(target.join(&name), &bytes).unwrap();
            sign(&target, &name);
            read_all(&target);
            tried += 1;
            seen += u32::from(!verify(&target).unwrap().problems.is_empty());
        }
        fs::write(target.join(&name), &content).unwrap();
        sign(&target, &name);
        // For a changed letter of a title or id there is no other copy to compare.
        let enough = if name == "docs.zst" { 0 } else { tried * 8 / 10 };
        assert!(tried > 3 && seen >= enough, "{name}: {seen} of {tried}");
    }
    assert!(verify(&target).unwrap().problems.is_empty());
}

/// So are the bounds of ranges.
#[test]
fn test_bounds_of_ranges_that_the_checksums_hide_are_seen() {
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("index");
    let text = |doc: usize| {
        let words = (1..9).filter(|word| doc.is_multiple_of(*word));
        words.map(|word| format!("w{word} ").repeat(1 + doc % 5)).collect::<String>()
    };
    let texts: Vec<String> = (0..700).map(text).collect();
    let texts: Vec<_> = texts.iter().map(|text| ("", "", "", text.as_str())).collect();
    let codecs = crate::codec::parse_list("simdbp:range=2").unwrap();
    build(&target, &texts, &Plan { codecs, ..Plan::default() }).unwrap();
    let index = Index::open(&target).unwrap();
    let codec = index.codecs().next().unwrap();
    let lists = (0..index.statistics().terms as u32).map(|id| index.list(&index.term(id).unwrap(), codec).unwrap());
    let places: Vec<(usize, usize)> = lists
        .filter_map(|list| match list {
            List::Blocks(list) => list.ranges.map(|(ranges, words)| {
                assert_eq!(words.len(), ranges.words());
                (list.skips_at as usize + 3 * list.skips.len(), words.len())
            }),
            List::Single { .. } => None,
        })
        .collect();
    drop(index);
    assert!(places.len() == 2, "lists of 700 and of 350 documents: {places:?}");
    let content = fs::read(target.join("simdbp/lists.bin")).unwrap();
    // the word before the bounds, a bound, and what follows them
    for (number, (place, words)) in places.iter().cycle().take(6).enumerate() {
        let at = 4 * place + [0, 4, 4 * words - 1][number / 2];
        let mut bytes = content.clone();
        bytes[at] ^= 1;
        fs::write(target.join("simdbp/lists.bin"), &bytes).unwrap();
        sign(&target, "simdbp/lists.bin");
        let problems = verify(&target).unwrap().problems;
        let said = problems.first().map(ToString::to_string).unwrap_or_default();
        assert!(said.contains("bounds of the ranges") && said.contains(&format!("byte {}", at / 4 * 4)), "{said}");
    }
}

/// Thresholds are just what the postings give: one too high would lose documents.
#[test]
fn test_thresholds_that_the_checksums_hide_are_seen() {
    let dir = tempfile::tempdir().unwrap();
    let target = sample(dir.path());
    let index = Index::open(&target).unwrap();
    let codec = index.codecs().next().unwrap();
    let lists = (0..index.statistics().terms as u32).map(|id| index.list(&index.term(id).unwrap(), codec).unwrap());
    let places: Vec<usize> = lists
        .filter_map(|list| match list {
            List::Blocks(list) if !list.thresholds.0.is_empty() => Some(list.tf_at as usize - list.thresholds.0.len()),
            _ => None,
        })
        .collect();
    drop(index);
    assert!(places.len() > 3, "{}", places.len());
    let content = fs::read(target.join("tf.bin")).unwrap();
    for (number, place) in places.iter().step_by(places.len() / 4 + 1).enumerate() {
        let mut bytes = content.clone();
        let low = &mut bytes[4 * place..4 * place + 2];
        let step = u16::from_le_bytes([low[0], low[1]]);
        low.copy_from_slice(&(if number % 2 == 0 { step + 1 } else { step - 1 }).to_le_bytes());
        fs::write(target.join("tf.bin"), &bytes).unwrap();
        sign(&target, "tf.bin");
        let problems = verify(&target).unwrap().problems;
        let said = problems.first().map(ToString::to_string).unwrap_or_default();
        assert!(said.contains("thresholds") && said.contains(&format!("byte {}", 4 * place)), "{said}");
    }
}
