//! The parts of an input have its documents and its damage: each once, and in its order.

use std::fs;
use std::path::Path;

use proptest::prelude::*;

use super::super::part::Part;
use super::cuts::{build, options, warc_part, way};
use super::files::bzip2;
use super::*;

/// What the parts have, one behind the other, and how many are empty; or which is refused.
fn parts(paths: &[PathBuf], of: u32, options: &CorpusOptions) -> crate::Result<(Vec<Event>, usize)> {
    let (mut events, mut empty) = (Vec::new(), 0);
    for number in 1..=of {
        let options = CorpusOptions { part: Part::new(number, of)?, ..options.clone() };
        let corpus = Corpus::open(paths, &options)?;
        let disk: u64 = corpus.pieces(1).map(|piece| piece.disk_bytes()).sum();
        assert!(disk <= corpus.total_bytes());
        let reading = try_read(&corpus)?;
        empty += usize::from(reading.events.is_empty());
        events.extend(reading.events);
    }
    Ok((events, empty))
}

fn whole(paths: &[PathBuf], options: &CorpusOptions) -> Vec<Event> {
    read(&Corpus::open(paths, options).expect("known formats")).events
}

fn put(dir: &Path, name: &str, bytes: &[u8]) -> PathBuf {
    let path = dir.join(name);
    fs::write(&path, bytes).expect("a temporary file");
    path
}

/// Some documents in every format that can be cut, and in some that cannot.
fn corpora(dir: &Path) -> Vec<(&'static str, Vec<PathBuf>, bool)> {
    let pages: Vec<Vec<u8>> = (0..60).map(|n| page(&format!("http://a/{n}"), &vec![b'w'; n * n % 700])).collect();
    let warc = pages.concat();
    let members: Vec<u8> = pages.iter().flat_map(|page| gzip(page, 6)).collect();
    let frames: Vec<u8> = pages.iter().flat_map(|page| zstd::encode_all(&page[..], 1).expect("in memory")).collect();
    let streams: Vec<u8> = pages.iter().flat_map(|page| bzip2(page)).collect();
    let lines = |line: fn(usize) -> String| (0..200).map(line).collect::<String>().into_bytes();
    let jsonl =
        lines(|n| format!("{{\"id\": \"{n}\", \"contents\": \"{}\"}}\n{}", "w ".repeat(n % 30), "\n".repeat(n % 3)));
    let tsv = lines(|n| format!("{n}\tword {}\r\n", "w ".repeat(n % 20)));
    let trec = lines(|n| format!("<DOC>\n<DOCNO> {n} </DOCNO>\n<TEXT>{}</TEXT>\n</DOC>\n", "w ".repeat(n % 25)));
    let web = lines(|n| format!("<DOC>\n<DOCNO>{n}</DOCNO>\n<DOCHDR>\nhttp://a/{n}\n</DOCHDR>\n<p>w\n</DOC>\n\n"));
    let wiki = lines(|n| {
        format!("  <page><title>T</title><ns>0</ns><id>{n}</id><revision><text>w</text></revision></page>\n")
    });
    let wiki = [&b"<mediawiki>\n<siteinfo></siteinfo>\n"[..], &wiki, b"</mediawiki>\n"].concat();
    let arc = lines(|n| format!("http://a/{n} 1.2.3.4 20000101000000 text/plain {}\n{}\n", n % 40, "w".repeat(n % 40)));
    let arc = [&b"filedesc://a 0.0.0.0 20000101000000 text/plain 2\n1 \n\n"[..], &arc].concat();
    let pages: Vec<PathBuf> = (0..9).map(|n| put(dir, &format!("{n}.html"), b"<!DOCTYPE html><p>word")).collect();
    let one = |name: &'static str, bytes: Vec<u8>, cuts| (name, vec![put(dir, name, &bytes)], cuts);
    let (unit, jsonl_gz) = (gzip(&warc, 6), gzip(&jsonl, 6));
    let utf16: Vec<u8> = "\u{feff}1\tone\n2\ttwo\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let mut all = vec![
        one("warc", warc, true),
        one("warc.gz", members, true),
        one("warc.zst", frames, true),
        one("warc.bz2", streams, true),
        one("jsonl", jsonl, true),
        one("tsv", tsv, true),
        one("newswire", trec, true),
        one("trecweb", web, true),
        one("mediawiki", wiki, true),
        one("arc", arc, true),
        one("one-member.warc.gz", unit, false),
        one("jsonl.gz", jsonl_gz, false),
        one("utf16", utf16, false),
        ("pages", pages, true),
    ];
    let mixed = all.iter().flat_map(|(_, paths, _)| paths.clone()).chain([put(dir, "empty", b"")]).collect();
    all.push(("mixed", mixed, true));
    all
}

#[test]
fn test_every_document_is_in_one_part() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    for (name, paths, cuts) in corpora(dir.path()) {
        for piece_bytes in [8 << 20, 300] {
            let options = CorpusOptions { piece_bytes, ..CorpusOptions::default() };
            let expected = whole(&paths, &options);
            assert!(damage(&expected).is_empty() && ids(&expected).len() >= 2, "{name}");
            for of in 1..=7 {
                let (events, empty) = parts(&paths, of, &options).expect("places to cut at");
                assert!(events == expected, "{name}, {of} parts: {:?} of {:?}", ids(&events), ids(&expected));
                let units = if cuts { 0 } else { of as usize - 1 };
                assert_eq!(empty, units, "{name}, {of} parts");
            }
        }
    }
}

/// Where a piece ends, the next one begins: nothing of sound files is read twice.
#[test]
fn test_pieces_meet() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    for (name, paths, _) in corpora(dir.path()) {
        for piece_bytes in [300, 337, 1000] {
            let options = CorpusOptions { piece_bytes, ..CorpusOptions::default() };
            let reading = read(&Corpus::open(&paths, &options).expect("files of known formats"));
            assert_eq!(reading.redone, 0, "{name}: {} pieces", reading.pieces);
        }
    }
}

/// More parts than documents, or than bytes.
#[test]
fn test_empty_parts() {
    let (_dir, path) = file("a.tsv", b"1\tone\n2\ttwo\n");
    let expected = whole(std::slice::from_ref(&path), &CorpusOptions::default());
    assert_eq!(parts(&[path], 100, &CorpusOptions::default()).expect("parts"), (expected, 98));
    let (_dir, path) = file("none", b"");
    assert_eq!(parts(&[path], 3, &CorpusOptions::default()).expect("parts"), (Vec::new(), 3));
}

/// Which parts there are, and that their bytes cover all.
#[test]
fn test_names_and_ranges() {
    for bad in ["0/3", "4/3", "1/0", "3", "/", "a/b", "-1/3", "1/4294967296", "1/100001", "1/3/5"] {
        assert!(bad.parse::<Part>().is_err(), "{bad}");
    }
    assert_eq!("2/3".parse::<Part>().expect("a part").to_string(), "2/3");
    let sizes = [10, 0, 1, u64::from(u32::MAX) * 1000, 7, 0];
    for of in [1, 2, 3, 7, 1000] {
        let mut ends = [0; 6];
        for number in 1..=of {
            for (range, end) in Part::new(number, of).expect("a part").ranges(&sizes).into_iter().zip(&mut ends) {
                assert!(range.is_empty() || range.start == *end);
                *end = range.end.max(*end);
            }
        }
        assert_eq!(ends, sizes);
    }
}

/// Only the bytes of a part are read, the first of each file and those around a cut: the rest may be anything.
#[test]
fn test_a_part_does_not_read_what_is_before_it() {
    let pages: Vec<u8> = (0..40_000).flat_map(|n| page(&format!("http://a/{n}"), &[b'w'; 300])).collect();
    let (_dir, path) = file("a.warc", &pages);
    let options = CorpusOptions { part: Part::new(3, 4).expect("a part"), ..CorpusOptions::default() };
    let expected = read(&Corpus::open(std::slice::from_ref(&path), &options).expect("a file")).events;
    assert!(expected.len() > 9_000);
    let mut other = pages.clone();
    let quarter = pages.len() / 4;
    assert!(quarter > 3 << 20);
    // The format is told by the first bytes.
    other[2 << 20..2 * quarter].fill(b'x');
    other[3 * quarter + 4096..].fill(b'x');
    fs::write(&path, &other).expect("a temporary file");
    assert!(read(&Corpus::open(&[path], &options).expect("a file")).events == expected);
}

/// An archive in a record that is not compressed looks like records: the part in which the record lies is refused.
#[test]
fn test_a_wrong_guess_is_refused() {
    let inner: Vec<u8> = (0..20).flat_map(|n| page(&format!("http://inner/{n}"), &[b'i'; 200])).collect();
    let outer = [page("http://outer/1", b"a"), page("http://outer/2", &inner), page("http://outer/3", b"c")].concat();
    let (_dir, path) = file("a.warc", &outer);
    let error = parts(std::slice::from_ref(&path), 2, &CorpusOptions::default()).expect_err("a cut within an archive");
    assert!(error.to_string().contains("a.warc: cannot be cut at byte"), "{error}");
    let options = CorpusOptions { part: Part::new(2, 2).expect("a part"), ..CorpusOptions::default() };
    let second = read(&Corpus::open(&[path], &options).expect("a file")).events;
    assert!(ids(&second)[0].starts_with("http://inner/"), "it cannot know better");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Damage and archives within archives: the parts are the whole, or one of them is refused.
    #[test]
    fn prop_parts_are_the_whole(
        stretches in prop::collection::vec((warc_part(), way()), 1..12),
        compressed: bool,
        of in 1..8_u32,
    ) {
        let first = record("warcinfo", "", b"a: b\r\n");
        let bytes = match compressed {
            true => [gzip(&first, 6), build(&stretches)].concat(),
            false => first.into_iter().chain(stretches.into_iter().flat_map(|(bytes, _)| bytes)).collect(),
        };
        let (_dir, path) = file("input", &bytes);
        let expected = whole(std::slice::from_ref(&path), &options());
        if let Ok((events, _)) = parts(&[path], of, &options()) {
            prop_assert_eq!(events, expected);
        }
    }
}
