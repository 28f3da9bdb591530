//! Arbitrary bytes: nothing panics, nothing loops, whatever the cut.

use proptest::prelude::*;

use super::*;

/// Beginnings by which files are taken for something.
const HEADS: &[&[u8]] = &[
    b"WARC/1.0\r\nContent-Length: 3\r\nWARC-Type: conversion\r\n\r\nabc\r\n\r\n",
    b"filedesc://a 0.0.0.0 20000101000000 text/plain 2\n1\n",
    b"<DOC>\n<DOCNO>1</DOCNO>\n<DOCHDR>\nhttp://a/\n</DOCHDR>\n",
    b"<DOC>\n<DOCNO>1</DOCNO><TEXT>",
    b"<mediawiki>\n<page><id>1</id>",
    b"{\"id\": 1, \"contents\": \"x\"}\n",
    b"[{\n",
    b"a\tb\n",
    b"<html>",
    b"words",
];

/// Pieces of syntax of all formats.
const PARTS: &[&[u8]] = &[
    b"WARC/1.0\r\n",
    b"Content-Length: 99\r\n",
    b"\r\n\r\n",
    b"WARC-Type: response\r\n",
    b"HTTP/1.1 200 OK\r\n",
    b"Content-Encoding: gzip\r\n",
    b"Content-Encoding: br, zstd, deflate\r\n",
    b"Transfer-Encoding: chunked\r\n\r\n",
    b"http://a/ 1.1.1.1 20000101000000 text/html 7\n",
    b"<DOC>",
    b"</DOC>",
    b"\n<DOC>\n",
    b"<DOCNO>",
    b"</DOCNO>",
    b"<DOCHDR>",
    b"</DOCHDR>",
    b"<TEXT>",
    b"</TEXT>",
    b"<!--",
    b"-->",
    b"<page>",
    b"</page>",
    b"<text>",
    b"</text>",
    b"&#x;",
    b"&amp",
    b"{{",
    b"[[",
    b"{\"id\": \"",
    b"\", \"contents\": \"",
    b"\"}",
    b"\\u12",
    b"\\",
    b"\"",
    b"\n",
    b"\t",
    b"\x1f\x8b\x08\x00",
    b"\x28\xb5\x2f\xfd",
    b"BZh91AY&SY",
    b"\xff\xfe",
    b"\x00",
    b"ffffffff\r\n",
    b"-1",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn prop_nothing_panics(
        head in prop::sample::select(HEADS.to_vec()),
        parts in prop::collection::vec(prop_oneof![
            prop::sample::select(PARTS.to_vec()).prop_map(<[u8]>::to_vec),
            prop::collection::vec(any::<u8>(), 0..30),
        ], 0..30),
        wrap in 0..4,
        flip in prop::option::of((any::<prop::sample::Index>(), any::<u8>())),
        range in 1..300_usize,
    ) {
        let plain = [head, &parts.concat()].concat();
        let mut bytes = match wrap {
            0 => plain,
            1 => gzip(&plain, 1),
            2 => zstd::encode_all(&plain[..], 1).expect("writing to memory"),
            _ => plain.chunks(60).flat_map(|part| gzip(part, 0)).collect(),
        };
        if let Some((at, flip)) = flip {
            let at = at.index(bytes.len());
            bytes[at] ^= flip;
        }
        let (_dir, path) = file("input", &bytes);
        let options = CorpusOptions { max_record: 500, piece_bytes: 64, ..CorpusOptions::default() };
        if let Ok(corpus) = Corpus::open(std::slice::from_ref(&path), &options) {
            let events = read(&corpus).events;
            // Each event stands for some bytes.
            prop_assert!(events.len() <= 100 * bytes.len() + 1);
        }
        let cut = Corpus::open(&[path], &options).map(|corpus| corpus.cut_into(range, 300));
        if let Ok(corpus) = cut && corpus.files()[0].format == "warc" {
            read(&corpus);
        }
    }
}
