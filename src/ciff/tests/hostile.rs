//! Files that break the format: one line each, with the byte and the record, and no index.

use super::super::import::filled;
use super::super::source::CiffFile;
use super::*;
use crate::Error;
use crate::base::random::SplitMix64;
use std::sync::atomic::Ordering;

/// The bytes of messages, each behind its length.
fn messages(parts: &[&[u8]]) -> Vec<u8> {
    let mut out = Vec::new();
    for part in parts {
        super::super::wire::put_varint(&mut out, part.len() as u64);
        out.extend_from_slice(part);
    }
    out
}

fn header(lists: i32, docs: i32) -> Vec<u8> {
    PHeader { version: 1, num_postings_lists: lists, num_docs: docs, ..PHeader::default() }.encode_to_vec()
}

fn changed(change: impl FnOnce(&mut File)) -> Vec<u8> {
    let mut file = File::small();
    change(&mut file);
    file.bytes()
}

fn posting(docid: i32, tf: i32) -> PPosting {
    PPosting { docid, tf }
}

/// What is wrong, and what the line must say.
fn cases() -> Vec<(Vec<u8>, &'static str)> {
    let good = File::small().bytes();
    let record = PRecord { docid: 0, collection_docid: "A".to_owned(), doclength: 1 }.encode_to_vec();
    let list = PList { term: "a".into(), df: 1, cf: 1, postings: vec![posting(0, 1)] }.encode_to_vec();
    vec![
        (vec![], "the file is empty"),
        (vec![0], "no header of a CIFF file: version 0"),
        (b"PK\x03\x04 this is a zip archive, or was".to_vec(), "begins here, but the file ends"),
        (vec![0xff; 40], "has more than 64 bits"),
        (changed(|file| file.header.version = 2), "version 2, and gamut reads version 1"),
        (changed(|file| file.header.num_docs = -3), "num_docs is -3, below 0"),
        (changed(|file| file.header.average_doclength = f64::NAN), "average_doclength is NaN"),
        (changed(|file| file.header.average_doclength = 1e-300), "average_doclength is 1e-300"),
        (changed(|file| file.header.description = "x".repeat(2 << 20)), "no header of a CIFF file: it would have 2097"),
        // Counts that promise terabytes.
        (
            changed(|file| file.header.num_postings_lists = i32::MAX),
            "postings list 5 of 2147483647: this is no PostingsList",
        ),
        (changed(|file| file.header.num_docs = i32::MAX), "promises 2147483647 messages DocRecord, and 3 came"),
        (changed(|file| file.header.num_postings_lists = 3), "document 1 of 3: this is no DocRecord"),
        (changed(|file| file.header.num_docs = 2), "the file goes on behind its last document"),
        (messages(&[&header(9, 0)]), "promises 9 messages PostingsList, and 0 came"),
        // As many bytes that might all come before its term: more than any memory, but not there.
        (
            [&messages(&[&header(1, 1)])[..], &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 0x10, 1]].concat(),
            "a message of 72057594037927935 bytes begins here, but the file ends 2 bytes behind it",
        ),
        // A message that promises an exabyte, and postings that do.
        (
            [&messages(&[&header(1, 1)])[..], &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0f, 0x0a, 1, b'a']]
                .concat(),
            "a message of 9007199254740991 bytes begins here, but the file ends 3 bytes behind it",
        ),
        (
            messages(&[&header(1, 1), &[0x0a, 1, b'a', 0x22, 0xff, 0xff, 0xff, 0xff, 0x0f, 8, 1, 16, 1], &record]),
            "postings list 1 of 1 (\"a\"): a field of 4294967295 bytes, but the message has",
        ),
        (messages(&[&header(1, 1), &[0x0a, 1, b'a', 0x22, 3, 8, 0x80, 0x80], &record]), "a number is cut short"),
        // Postings.
        (changed(|file| file.lists[1].postings[1].docid = 0), "(\"bee\"): document 0 stands there twice: a gap of 0"),
        (changed(|file| file.lists[1].postings[1].docid = i32::MAX), "document 2147483647 has no DocRecord"),
        (
            changed(|file| {
                file.lists[2].postings[1].docid = i32::MAX;
                file.lists[2].postings[0].docid = i32::MAX;
            }),
            "no DocRecord",
        ),
        (changed(|file| file.lists[1].postings[1].docid = -1), "docid is -1, below 0"),
        (changed(|file| file.lists[0].postings[0].tf = 0), "(\"ant\"): tf of document 0 is 0"),
        (changed(|file| file.lists[0].postings[0].tf = -7), "tf of document 0 is -7"),
        (changed(|file| file.lists[3].postings[0].docid = 3), "document 3 has no DocRecord"),
        (changed(|file| file.lists[2].df = 2), "df is 2, but it has 3 postings"),
        (changed(|file| file.lists[2].df = -1), "df is -1, below 0"),
        (changed(|file| file.lists[2].postings.clear()), "postings list 3 of 4 (\"cow\"): it has no posting"),
        // Terms.
        (changed(|file| file.lists[3].term = "bee".into()), "postings list 4 is of the term \"bee\", and so is list 2"),
        (changed(|file| file.lists[1].term = String::new()), "postings list 2 of 4: it has no term"),
        (changed(|file| file.lists[1].term = "x".repeat(5000)), "its term has 5000 bytes"),
        (messages(&[&header(1, 1), &[0x0a, 1, 0xff, 0x10, 1, 0x22, 2, 16, 1], &record]), "the term is not UTF-8"),
        (messages(&[&header(1, 1), &[&list[..], &[0x0a, 1, b'b']].concat(), &record]), "it has two terms"),
        // Documents.
        (changed(|file| file.records[2].docid = 1), "docid 1 stands in two records, of \"D1\" and of \"D2\""),
        (changed(|file| file.records[2].docid = -1), "docid is -1, below 0"),
        (changed(|file| file.records[1].doclength = -1), "document 2 of 3: doclength is -1"),
        (changed(|file| file.records[1].collection_docid.clear()), "document 2 of 3: it has no collection_docid"),
        (changed(|file| file.records[1].collection_docid = "x".repeat(70_000)), "over"),
        (messages(&[&header(1, 1), &list, &[0x12, 1, 0xc0]]), "collection_docid is not UTF-8"),
        // Compressed data that breaks off.
        (super::super::pack::tests::gzip(&good)[..30].to_vec(), "the compressed data is damaged or cut short"),
        (zstd::encode_all(&good[..], 1).unwrap()[..30].to_vec(), "the compressed data is damaged or cut short"),
    ]
}

#[test]
fn test_broken_files_are_one_line_and_no_index() {
    let dir = tempfile::tempdir().unwrap();
    let there = imported(dir.path(), "there", &File::small().bytes());
    let before = there.manifest().clone();
    let mut wrong = Vec::new();
    for (bytes, said) in cases() {
        let path = put(dir.path(), "broken.ciff", &bytes);
        let output = dir.path().join("none");
        let line = import(&options(&path, &output)).map_or_else(|error| error.to_string(), |done| format!("{done:?}"));
        if !(line.contains(said) && line.contains("broken.ciff: damaged at byte") && !line.contains('\n')) {
            wrong.push(format!("{said}\n  {line}"));
        }
        // An index that is to be replaced stays as it was.
        import(&ImportOptions { force: true, ..options(&path, there.dir()) }).expect_err(said);
        assert_eq!(*Index::open(there.dir()).unwrap().manifest(), before);
        let mut names: Vec<_> =
            std::fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["broken.ciff", "there", "there.ciff"], "{said}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn test_the_byte_is_that_of_the_record() {
    let dir = tempfile::tempdir().unwrap();
    let bytes = changed(|file| file.lists[1].postings[1].docid = 0);
    // A posting without its docid: tf 3.
    let at = bytes.windows(4).position(|window| window == [0x22, 2, 0x10, 3]).unwrap();
    let path = put(dir.path(), "file", &bytes);
    let error = import(&options(&path, &dir.path().join("index"))).unwrap_err();
    assert!(matches!(error, Error::Damaged { offset, .. } if offset == at as u64), "{error} {at}");
    let packed = put(dir.path(), "file.gz", &super::super::pack::tests::gzip(&bytes));
    let error = import(&options(&packed, &dir.path().join("index"))).unwrap_err();
    assert!(matches!(&error, Error::Damaged { offset, what, .. } if *offset == at as u64 && what.contains("inflated")));
}

/// Every file that ends too early is told so, and none is an index.
#[test]
fn test_every_cut_is_seen() {
    let dir = tempfile::tempdir().unwrap();
    let bytes = File::small().bytes();
    for cut in 0..bytes.len() {
        let path = put(dir.path(), "file", &bytes[..cut]);
        let found = CiffFile::open(&path).and_then(|file| filled(&options(&path, &dir.path().join("index")), &file));
        assert!(matches!(found, Err(Error::Damaged { .. })), "{cut}");
    }
}

/// Thousands of files with some bytes changed: an error in one line, or lists that can be encoded; never a panic.
#[test]
fn test_changed_bytes_never_panic() {
    let dir = tempfile::tempdir().unwrap();
    let mut random = SplitMix64::new(5);
    let original = File::small().bytes();
    let (mut good, mut bad) = (0, 0);
    for round in 0..3000 {
        let mut bytes = original.clone();
        for _ in 0..1 + random.next() % 3 {
            let at = (random.next() % bytes.len() as u64) as usize;
            match random.next() % 4 {
                0 => bytes[at] ^= 1 << (random.next() % 8),
                1 => bytes[at] = [0, 1, 0x7f, 0x80, 0xff][(random.next() % 5) as usize],
                2 => drop(bytes.remove(at)),
                _ => bytes.insert(at, random.next() as u8),
            }
        }
        let path = put(dir.path(), "file", &bytes);
        let weights = round % 2 == 0;
        let options =
            ImportOptions { weights, means: Means::new(1, 1 << 30), ..options(&path, &dir.path().join("index")) };
        match CiffFile::open(&path).and_then(|file| filled(&options, &file)) {
            Ok(_) => good += 1,
            Err(Error::Damaged { .. } | Error::Invalid { .. }) => bad += 1,
            Err(other) => panic!("{other}: {bytes:?}"),
        }
    }
    assert!(good > 50 && bad > 1000, "{good} {bad}");
}

#[test]
fn test_an_import_can_be_ended() {
    let dir = tempfile::tempdir().unwrap();
    for bytes in [File::small().bytes(), super::super::pack::tests::gzip(&File::small().bytes())] {
        let path = put(dir.path(), "file", &bytes);
        let options = options(&path, &dir.path().join("index"));
        options.means.cancel.store(true, Ordering::Relaxed);
        assert!(matches!(import(&options), Err(Error::Interrupted)));
        let little = ImportOptions { means: Means::new(1, 1 << 20), ..options };
        assert!(matches!(import(&little), Err(Error::Memory { .. } | Error::Interrupted)));
        assert!(!dir.path().join("index").exists());
    }
}
