//! HTTP: what becomes a document, and codings with their lies.

use std::io::Write;

use proptest::prelude::*;

use super::super::decode::{Undone, undo};
use super::super::members::Inflater;
use super::*;

fn one(block: &[u8]) -> Vec<Event> {
    read_bytes(&record("response", "http://a/", block), &CorpusOptions::default())
}

fn kinds(events: &[Event]) -> Vec<Option<SkipKind>> {
    events.iter().map(Event::kind).collect()
}

fn zlib(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).expect("writing to memory");
    encoder.finish().expect("writing to memory")
}

fn raw_deflate(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).expect("writing to memory");
    encoder.finish().expect("writing to memory")
}

fn brotli(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    brotli::CompressorWriter::new(&mut out, 4096, 4, 20).write_all(bytes).expect("writing to memory");
    out
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 1).expect("writing to memory")
}

fn chunk(bytes: &[u8], size: usize) -> Vec<u8> {
    let mut out = Vec::new();
    for part in bytes.chunks(size) {
        out.extend(format!("{:x};x=y\r\n", part.len()).into_bytes());
        out.extend_from_slice(part);
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(b"0\r\n\r\n");
    out
}

/// Undoes codings of a body with a limit.
fn decoded(body: &[u8], transfer: &str, content: &str, max: usize) -> (Vec<u8>, bool, bool) {
    let mut buffers = [b"junk".to_vec(), b"of before".to_vec()];
    let Undone { body, lies, too_large } =
        undo(body, &[transfer.as_bytes()], &[content.as_bytes()], max, &mut Inflater::new(), &mut buffers);
    (body.to_vec(), lies.is_some(), too_large)
}

#[test]
fn test_status_and_media_type() {
    let cases: &[(&str, &str, &str, Option<SkipKind>)] = &[
        ("HTTP/1.1 200 OK", "text/html", "x", None),
        ("HTTP/1.0 200", "TEXT/HTML ; charset=x", "x", None),
        ("http/2 200", "application/xhtml+xml", "x", None),
        ("HTTP/1.1 200 OK", "text/plain", "x", None),
        ("HTTP/1.1 200 OK", "", "<!doctype html>x", None),
        ("HTTP/1.1 200 OK", "", "just words", None),
        ("HTTP/1.1 200 OK", "", "\u{0}\u{1}\u{2}", Some(SkipKind::MediaType)),
        ("HTTP/1.1 200 OK", "image/png", "x", Some(SkipKind::MediaType)),
        ("HTTP/1.1 404 Not Found", "text/html", "x", Some(SkipKind::HttpStatus)),
        ("HTTP/1.1 301 Moved", "text/html", "x", Some(SkipKind::HttpStatus)),
        ("HTTP/1.1 OK", "text/html", "x", Some(SkipKind::BadHead)),
        ("GET / HTTP/1.1", "text/html", "x", Some(SkipKind::BadHead)),
    ];
    for (status, media, body, expected) in cases {
        for end in ["\r\n", "\n", "\r\r\n"] {
            let field = if media.is_empty() { String::new() } else { format!("content-TYPE:{media}{end}") };
            let events = one(format!("{status}{end}X: y{end}{field}{end}{body}").as_bytes());
            assert_eq!(kinds(&events), [*expected], "{status} {media} {body}");
            if expected.is_none() {
                assert_eq!(bodies(&events), [*body]);
            }
        }
    }
}

/// Redirects, with the URLs they are of.
#[derive(Default)]
struct Redirects(Vec<(String, String)>);

impl DocSink for Redirects {
    fn doc(&mut self, _: &Doc<'_>) {}
    fn skip(&mut self, _: Skip) {}
    fn redirect(&mut self, redirect: &Redirect<'_>) {
        self.0.push((redirect.url.into(), redirect.location.into()));
    }
}

#[test]
fn test_redirects_are_handed_on() {
    let http = |status: &str, field: &str| format!("HTTP/1.1 {status}\r\nA: b\r\n{field}\r\n\r\n").into_bytes();
    let blocks = [
        http("301 Moved", "LOCATION: /new \r\nLocation: /second"),
        http("302 Found", "Location: http://b/\u{e4}"),
        http("303", "Location:"),
        http("308 Permanent Redirect", "Content-Type: text/html"),
        http("200 OK", "Location: /no"),
        http("404 Not Found", "Location: /no"),
    ];
    let warc = blocks.iter().zip('a'..).flat_map(|(block, name)| record("response", &format!("http://{name}/"), block));
    let arc = blocks.iter().zip('a'..).flat_map(|(block, name)| {
        let head = format!("http://{name}/ 1.2.3.4 20140216050221 text/html {}\n", block.len());
        [head.as_bytes(), block, b"\n"].concat()
    });
    for bytes in [warc.collect::<Vec<u8>>(), arc.collect()] {
        let (_dir, path) = file("input", &bytes);
        let corpus = Corpus::open(&[path], &CorpusOptions::default()).expect("a file of a known format");
        let mut found = Redirects::default();
        for piece in corpus.pieces(1) {
            corpus.reader().read(&piece, &mut found);
        }
        let found: Vec<_> = found.0.iter().map(|(url, location)| (url.as_str(), location.as_str())).collect();
        assert_eq!(found, [("http://a/", "/new"), ("http://b/", "http://b/\u{e4}"), ("http://c/", "")]);
    }
}

#[test]
fn test_first_of_repeated_fields_counts() {
    let block = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=\"EUC-JP\"\r\nContent-Type: image/png\r\n\r\nx";
    let events = one(block);
    assert!(matches!(&events[..], [Event::Doc { charset: Some(label), .. }] if label == "EUC-JP"), "{events:?}");
}

#[test]
fn test_last_valid_type_of_a_list_counts() {
    let cases: &[(&str, Option<SkipKind>, Option<&str>)] = &[
        ("text/html, text/html; charset=utf-8", None, Some("utf-8")),
        ("text/html;charset=koi8-r,text/html", None, Some("koi8-r")),
        ("text/plain; charset=koi8-r, text/html", None, None),
        ("image/png, text/html", None, None),
        ("text/html, image/png", Some(SkipKind::MediaType), None),
        ("text/html, */*", None, None),
        ("text/html, nonsense", None, None),
        ("*/*, ", None, None),
        ("text/html; x=\"a, image/png\"; charset=big5", None, Some("big5")),
        ("text/html; x=\"a, image/png", Some(SkipKind::MediaType), None),
        ("; charset=big5", None, Some("big5")),
    ];
    for (value, skipped, label) in cases {
        let events = one(&response(&format!("Content-Type: {value}\r\n"), b"<p>words"));
        assert_eq!(kinds(&events), [*skipped], "{value}");
        if let [Event::Doc { charset, .. }] = &events[..] {
            assert_eq!(charset.as_deref(), *label, "{value}");
        }
    }
    let resource = "WARC/1.0\r\nWARC-Type: resource\r\nWARC-Target-URI: http://a/\r\n\
        Content-Type: image/png, text/html\r\nContent-Length: 5\r\n\r\n<p>hi\r\n\r\n";
    assert_eq!(ids(&read_bytes(resource.as_bytes(), &CorpusOptions::default())), ["http://a/"]);
}

#[test]
fn test_folded_fields() {
    for fold in ["\r\n ", "\n\t", "\r\r\n  \r\n "] {
        // A line that goes on is no field of its own, whatever it looks like.
        let fields =
            format!("X-A: b{fold}Content-Type: image/png\r\nContent-Type: text/html;{fold}charset=x-mac-cyrillic\r\n");
        let events = one(&response(&fields, b"<p>x"));
        assert!(
            matches!(&events[..], [Event::Doc { charset: Some(label), content: Content::Html, .. }]
            if label == "x-mac-cyrillic"),
            "{events:?}"
        );
        let fields = format!("Content-Type:{fold}text/html\r\nContent-Encoding: identity,{fold}gzip\r\n");
        assert_eq!(bodies(&one(&response(&fields, &gzip(b"<p>y", 6)))), ["<p>y"]);
    }
    let events = one(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n <p>a body may begin with a space");
    assert_eq!(bodies(&events), [" <p>a body may begin with a space"]);
}

#[test]
fn test_lines_of_codings_are_one_list() {
    let page = b"<p>some words, some words";
    let coded = gzip(&zlib(page), 6);
    for fields in [
        "Content-Encoding: identity\r\nContent-Encoding: deflate, gzip\r\n",
        "Content-Encoding: deflate\r\nX: y\r\ncontent-encoding: gzip\r\n",
        "Content-Encoding: deflate\r\nTransfer-Encoding: identity\r\nTransfer-Encoding: gzip\r\n",
    ] {
        let events = one(&response(&format!("Content-Type: text/html\r\n{fields}"), &coded));
        assert_eq!(
            (kinds(&events), bodies(&events)),
            (vec![None], vec![String::from_utf8_lossy(page).into_owned()]),
            "{fields}"
        );
    }
}

#[test]
fn test_codings_are_undone_and_lies_are_told() {
    let page = b"<p>some words, some words, some words</p>".repeat(50);
    let max = 1 << 20;
    for (coding, bytes) in [
        ("gzip", gzip(&page, 6)),
        ("X-GZIP", [gzip(&page[..100], 6), gzip(&page[100..], 0)].concat()),
        ("deflate", zlib(&page)),
        ("deflate", raw_deflate(&page)),
        ("br", brotli(&page)),
        ("zstd", zstd(&page)),
        ("identity", page.clone()),
        ("", page.clone()),
        ("gzip, br", brotli(&gzip(&page, 6))),
        ("deflate, gzip, zstd", zstd(&gzip(&zlib(&page), 6))),
    ] {
        assert_eq!(decoded(&bytes, "", coding, max), (page.clone(), false, false), "{coding}");
        assert_eq!(decoded(&chunk(&bytes, 13), "chunked", coding, max), (page.clone(), false, false), "{coding}");
        assert_eq!(decoded(&chunk(&bytes, 13), &format!("{coding}, chunked"), "", max), (page.clone(), false, false));
        if !coding.is_empty() && coding != "identity" && !coding.contains(',') {
            // A lie leaves the body alone; of a torn one, what is there is used.
            assert_eq!(decoded(b"<html>plain</html>", "", coding, max), (b"<html>plain</html>".to_vec(), true, false));
            let (torn, lied, _) = decoded(&bytes[..bytes.len() - 6], "", coding, max);
            assert!(lied, "{coding}");
            assert!(page.starts_with(&torn) || torn == bytes[..bytes.len() - 6], "{coding}");
            assert_eq!(decoded(&bytes, "", coding, 500), (Vec::new(), false, true), "{coding}");
        }
    }
    assert_eq!(decoded(b"plain", "chunked", "", max), (b"plain".to_vec(), true, false));
    assert_eq!(decoded(b"5\nhello", "chunked", "", max), (b"hello".to_vec(), true, false));
    assert_eq!(decoded(b"5\r\nhello\r\nffffffffffffffff\r\nx", "chunked", "", max), (b"hello".to_vec(), true, false));
    assert_eq!(decoded(b"5\r\nhello\r\nfffffffff\r\nx", "chunked", "", max), (b"hellox".to_vec(), true, false));
    assert_eq!(decoded(b"x", "", "made-up", max), (b"x".to_vec(), true, false));
}

#[test]
fn test_lying_body_is_indexed_with_a_warning() {
    let events = one(&response("Content-Type: text/html\r\nContent-Encoding: gzip\r\n", b"<p>plain"));
    assert_eq!(kinds(&events), [Some(SkipKind::BadCoding), None]);
    assert_eq!(bodies(&events), ["<p>plain"]);
}

#[test]
fn test_bomb_in_a_body_is_too_large() {
    let bomb = gzip(&vec![0; 3 << 20], 9);
    let options = CorpusOptions { max_record: 1 << 20, ..CorpusOptions::default() };
    let bytes = [
        record("response", "http://bomb/", &response("Content-Type: text/html\r\nContent-Encoding: gzip\r\n", &bomb)),
        page("http://good/", b"x"),
    ]
    .concat();
    let events = read_bytes(&bytes, &options);
    assert_eq!((damage(&events), ids(&events)), (vec![SkipKind::TooLarge], vec!["http://good/"]));
}

proptest! {
    #[test]
    fn prop_any_coding_of_any_bytes(
        body in prop::collection::vec(any::<u8>(), 0..600),
        codings in prop::collection::vec(prop::sample::select(vec!["gzip", "deflate", "br", "zstd", "chunked"]), 0..4),
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3),
    ) {
        let mut coded = body.clone();
        for coding in &codings {
            coded = match *coding {
                "gzip" => gzip(&coded, 6),
                "deflate" => zlib(&coded),
                "br" => brotli(&coded),
                "zstd" => zstd(&coded),
                _ => chunk(&coded, 100),
            };
        }
        prop_assert_eq!(decoded(&coded, "", &codings.join(", "), 1 << 16), (body, false, false));
        for (at, flip) in flips {
            let at = at.index(coded.len().max(1));
            if let Some(byte) = coded.get_mut(at) {
                *byte ^= flip;
            }
        }
        let (out, _, too_large) = decoded(&coded, "", &codings.join(","), 1 << 16);
        prop_assert!(out.len() <= 1 << 16 && (out.is_empty() || !too_large));
    }
}
