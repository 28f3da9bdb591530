//! `text.zst`: written on any number of threads, read at any place, kept by other orders and codecs, and damaged.

use super::damage::sign;
use super::*;
use crate::Error;
use crate::base::random::Rng;
use crate::index::change::reencode::{Change, PartChange, reencode};
use crate::index::format::texts::{FRAME, PART, SAMPLE, TEXTS};
use crate::order::Permutation;
use proptest::prelude::*;
use std::fs;
use std::ops::ControlFlow;
use std::path::PathBuf;

/// Texts of all sizes: empty ones, some that fill a part to the byte, some of several parts, with characters of several
/// bytes everywhere; `bytes` together, or a little more.
fn texts(bytes: usize) -> Vec<String> {
    let mut random = Rng::new(5, 0, 0);
    let words: Vec<String> = (0..3000)
        .map(|i| {
            let letters = (0..2 + random.below(9)).map(|_| char::from(b'a' + random.below(26) as u8));
            let end = if i % 9 == 0 { "é京" } else { "" };
            letters.chain(end.chars()).collect()
        })
        .collect();
    let (mut texts, mut total) = (Vec::new(), 0);
    while total < bytes {
        let len = match texts.len() % 40 {
            3 | 4 => 0,
            9 => PART,
            10 => PART - 1,
            11 => PART + 1,
            12 => 3 * PART + 100,
            _ => random.below(9000) as usize,
        };
        let mut text = String::with_capacity(len + 20);
        while text.len() < len {
            let rank = random.below(3000).min(random.below(3000));
            text += &words[rank as usize];
            text.push(' ');
        }
        while text.len() > len {
            text.pop();
        }
        text += &"x".repeat(len - text.len());
        total += text.len();
        texts.push(text);
    }
    texts
}

fn write(target: &Path, texts: &[String], threads: usize) {
    let ids: Vec<String> = (0..texts.len()).map(|i| i.to_string()).collect();
    let texts: Vec<Text<'_>> = ids.iter().zip(texts).map(|(id, text)| (id.as_str(), "", "", text.as_str())).collect();
    let codecs = codec::parse_list("vbyte").unwrap();
    build(target, &texts, &Plan { codecs, stored: Some(threads), ..Plan::default() }).unwrap();
}

fn assert_texts(target: &Path, expected: impl ExactSizeIterator<Item = impl AsRef<str>>) {
    let index = Index::open(target).unwrap();
    assert_eq!(index.statistics().documents as usize, expected.len());
    for (doc, text) in (0..).zip(expected) {
        assert_eq!(index.text(doc).unwrap(), text.as_ref(), "{doc}");
    }
    assert!(verify(target).unwrap().problems.is_empty(), "{:?}", verify(target).unwrap().problems);
}

#[test]
fn test_texts_come_back_whatever_the_threads() {
    let dir = tempfile::tempdir().unwrap();
    // without a dictionary, with one of all, with one of the first
    for (bytes, dictionary) in [(100 << 10, false), (1 << 20, true), (SAMPLE + (1 << 20), true)] {
        let texts = texts(bytes);
        let target = |threads: usize| dir.path().join(format!("{bytes}-{threads}"));
        write(&target(1), &texts, 1);
        assert_texts(&target(1), texts.iter());
        let content = fs::read(target(1).join(TEXTS)).unwrap();
        assert!(content.len() < bytes * 6 / 10, "{} of {bytes}", content.len());
        assert_eq!(content[64..68] == 0xec30_a437u32.to_le_bytes(), dictionary, "a dictionary of zstd");
        for threads in [2, 5] {
            write(&target(threads), &texts, threads);
            assert!(fs::read(target(threads).join(TEXTS)).unwrap() == content, "{threads} threads");
        }
    }
}

#[test]
fn test_a_part_of_a_text_is_its_start() {
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("index");
    let texts = texts(1 << 20);
    write(&target, &texts, 2);
    let index = Index::open(&target).unwrap();
    for (doc, text) in (0..).zip(&texts) {
        for most in [0, 1, 5000, PART, 2 * PART, usize::MAX] {
            let (start, whole) = index.text_start(doc, most).unwrap();
            assert!(text.starts_with(&start) && start.len() < most.saturating_add(PART), "{doc}");
            assert!(start.len() >= most.min(text.len()));
            assert_eq!(whole, start.len() == text.len() && (most > 0 || text.is_empty()), "{doc} {most}");
        }
        let mut parts = 0;
        let visit = |_: &str| {
            parts += 1;
            ControlFlow::Break(())
        };
        index.each_text_part(doc, visit).unwrap();
        assert_eq!(parts, 1);
    }
    assert!(matches!(index.text(texts.len() as u32), Err(Error::Damaged { .. })));
    assert!(matches!(index.text(u32::MAX), Err(Error::Damaged { .. })));
}

#[test]
fn test_other_orders_and_codecs_keep_texts() {
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("index");
    let texts = texts(600 << 10);
    write(&target, &texts, 2);
    let content = fs::read(target.join(TEXTS)).unwrap();
    let permutation = Permutation::random(texts.len() as u32, 3);
    reordered(&target, &permutation);
    let order = permutation.old_of_new();
    assert_texts(&target, order.iter().map(|&doc| &texts[doc as usize]));
    // in an order of an order
    reordered(&target, &permutation);
    assert_texts(&target, order.iter().map(|&doc| &texts[order[doc as usize] as usize]));
    let change = Change {
        add: codec::parse_list("pef").unwrap(),
        remove: vec!["vbyte".to_owned()],
        impacts: PartChange::Keep,
        tables: PartChange::Write,
        from: None,
        output: None,
        gpu: None,
        means: Means::new(2, 1),
    };
    reencode(&target, &change).unwrap();
    assert_texts(&target, order.iter().map(|&doc| &texts[order[doc as usize] as usize]));
    assert!(fs::read(target.join(TEXTS)).unwrap() == content);
}

#[test]
fn test_frames_end_where_files_end() {
    let dir = tempfile::tempdir().unwrap();
    let frames = |ends: &[usize]| {
        let mut writer = IndexWriter::create(&dir.path().join("index"), true, &codec::all()).unwrap();
        let mut stored = writer.texts(1).unwrap();
        for i in 0..10 {
            stored.push("some text").unwrap();
            if ends.contains(&i) {
                stored.end_frame().unwrap();
                stored.end_frame().unwrap();
            }
        }
        stored.finish().unwrap();
        let content = fs::read(writer.temp_dir().join(TEXTS)).unwrap();
        let footer = content.len() - 40;
        content[footer..].chunks(8).map(|n| u64::from_le_bytes(n.try_into().unwrap())).collect::<Vec<_>>()
    };
    assert_eq!(frames(&[])[..2], [10, 1]);
    assert_eq!(frames(&[0, 4, 9])[..2], [10, 3]);
    assert_eq!(frames(&[0, 4, 9])[3..], [0, 90], "no dictionary, 90 bytes of text");
}

#[test]
fn test_an_index_without_texts_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("index");
    build(&target, &[("a", "", "", "x")], &Plan::default()).unwrap();
    let index = Index::open(&target).unwrap();
    assert!(!index.has_texts() && index.text_bytes().is_none());
    let error = index.text(0).unwrap_err().to_string();
    assert!(error.contains("stores no texts") && error.contains("--store"), "{error}");
}

/// Reads every text and a part of every text. No text is longer than all of a sound file.
fn read_all(target: &Path, most: usize) {
    let Ok(index) = Index::open(target) else { return };
    for doc in 0..index.statistics().documents as u32 + 1 {
        if let Ok((text, _)) = index.text_start(doc, most) {
            assert!(text.len() < most + PART);
        }
    }
}

fn small(dir: &Path) -> (PathBuf, Vec<u8>, Vec<String>) {
    let target = dir.join("index");
    let mut texts = texts(300 << 10);
    texts.truncate(60);
    write(&target, &texts, 1);
    let content = fs::read(target.join(TEXTS)).unwrap();
    (target, content, texts)
}

/// Whatever a bit does, a text that is read is the right one, unless the bit is in the directory or the footer, where a
/// text may seem to be another document's.
#[test]
fn test_no_wrong_byte_of_a_frame_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let (target, content, texts) = small(dir.path());
    let number = |i: usize| u64::from_le_bytes(content[content.len() - 40 + 8 * i..][..8].try_into().unwrap()) as usize;
    let (directory, frames) = (number(2), number(1));
    assert!(frames > 3 && number(3) > 1000);
    let mut refused = 0;
    for at in (64..directory).step_by(997).chain(directory - 3..directory) {
        let mut bytes = content.clone();
        bytes[at] ^= 1 << (at % 8);
        fs::write(target.join(TEXTS), &bytes).unwrap();
        let index = Index::open(&target).unwrap();
        let mut wrong = 0;
        for (doc, expected) in (0..).zip(&texts) {
            match index.text(doc) {
                Ok(text) => assert_eq!(&text, expected),
                Err(error) => {
                    assert!(error.to_string().contains(TEXTS), "{error}");
                    wrong += 1;
                }
            }
        }
        refused += usize::from(wrong > 0);
        assert!(!verify(&target).unwrap().problems.is_empty());
    }
    assert!(refused > 100, "{refused}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    /// A directory or a footer of any numbers never makes a reader panic, loop or take much memory.
    #[test]
    fn test_a_hostile_directory_is_harmless(
        words in prop::collection::vec((0usize..30, prop_oneof![any::<u32>(), 0u32..100, Just(u32::MAX), Just(1 << 31)]), 1..6),
        cut in prop::option::of(0usize..2000),
    ) {
        thread_local! {
            static SAMPLE: (tempfile::TempDir, PathBuf, Vec<u8>) = {
                let dir = tempfile::tempdir().unwrap();
                let (target, content, _) = small(dir.path());
                (dir, target, content)
            };
        }
        SAMPLE.with(|(_, target, content)| {
            let mut bytes = content.clone();
            for (word, value) in words {
                let at = bytes.len() - 4 * (word + 1);
                bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
            }
            if let Some(cut) = cut {
                bytes.drain(64..64 + cut);
            }
            fs::write(target.join(TEXTS), &bytes).unwrap();
            let mut manifest = Manifest::read(target).unwrap();
            let file = manifest.files.iter_mut().find(|file| file.name == TEXTS).unwrap();
            file.bytes = bytes.len() as u64;
            fs::write(target.join("manifest.json"), manifest.to_json()).unwrap();
            sign(target, TEXTS);
            read_all(target, 3 * FRAME);
            let problems = verify(target).unwrap().problems;
            prop_assert!(bytes == *content || !problems.is_empty() || content.len() == bytes.len());
            Ok(())
        })?;
    }
}
