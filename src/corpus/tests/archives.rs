//! Formats of archives and their odd but good inhabitants.

use super::SkipKind::*;
use super::*;

fn small() -> CorpusOptions {
    CorpusOptions { max_record: 1 << 20, ..CorpusOptions::default() }
}

#[test]
fn test_extra_fields_of_gzip_heads() {
    let plain = gzip(&page("u:1", b"a"), 6);
    // FEXTRA of six bytes, FNAME, FCOMMENT.
    let mut member = vec![0x1f, 0x8b, 8, 4 | 8 | 16, 0, 0, 0, 0, 0, 3, 6, 0, b's', b'l', 2, 0, 9, 9];
    member.extend_from_slice(b"name\0comment\0");
    member.extend_from_slice(&plain[10..]);
    let events = read_bytes(&[member.clone(), member].concat(), &small());
    assert_eq!((ids(&events), damage(&events)), (vec!["u:1", "u:1"], vec![]));
}

#[test]
fn test_wget_trec_and_other_names() {
    let head = "WARC/0.18\nWARC-Type: response\nWARC-Target-URI: <http://a/b c>\nContent-Type: application/http\n";
    let block = "HTTP/1.1 200 \nContent-Type: text/html\n\nx";
    let with = |fields: &str| format!("{head}{fields}Content-Length: {}\n\n{block}\n\n", block.len()).into_bytes();
    let bytes = [with(""), with("WARC-TREC-ID: clueweb09-x\nWARC-Date: 2008-10-294T\n")].concat();
    let events = read_bytes(&bytes, &small());
    assert_eq!((ids(&events), damage(&events)), (vec!["http://a/b c", "clueweb09-x"], vec![]));
    assert!(events.iter().all(|event| matches!(event, Event::Doc { url, .. } if url == "http://a/b c")));
}

/// A field whose name only begins with that of the length; and heads without an end, each of which costs itself.
#[test]
fn test_lengths_and_ends_of_heads() {
    let block = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\nx";
    let with = |uri: &str, fields: &str, end: &str| {
        let head = format!("WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: {uri}\r\n{fields}");
        format!("{head}Content-Length: {}\r\n{end}", block.len())
    };
    let whole = format!("\r\n{block}\r\n\r\n");
    let bytes = [
        with("http://a/", "Content-Length-Original: 5\r\n", &whole),
        with("http://torn/", "", ""),
        with("http://torn/", "", ""),
        with("http://b/", "content-length-note: unknown\r\n", &whole),
        with("http://c/", "", &whole).replace("Content-Length: ", "CONTENT-LENGTH:"),
    ]
    .concat();
    let events = read_bytes(bytes.as_bytes(), &small());
    assert_eq!((ids(&events), damage(&events)), (vec!["http://a/", "http://b/", "http://c/"], vec![BadHead, BadHead]));
}

#[test]
fn test_folded_fields_and_small_versions() {
    let block = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\nfolded";
    let with = |version: &str, kind: &str, uri: &str, length: &str| {
        let length = format!("{length}{}", block.len());
        format!(
            "{version}\r\nWARC-Type:{kind}\r\nWARC-Target-URI: {uri}\r\nContent-Length:{length}\r\n\r\n{block}\r\n\r\n"
        )
        .into_bytes()
    };
    let cases = [
        with("WARC/1.0", "\r\n response", "http://a/", " "),
        with("WARC/1.0", " response", "http://a/", "\r\n "),
        with("WARC/1.0", "\n\tresponse", "\r\n <http://a/>", "\n\t"),
        with("warc/1.0", " response", "http://a/", " "),
    ];
    let good = page("http://good/", b"x");
    for case in cases {
        for bytes in [[&case[..], &good].concat(), [&good[..], &case].concat(), [&case[..], &good, &case].concat()] {
            for bytes in [gzip(&bytes, 6), bytes] {
                let events = read_bytes(&bytes, &small());
                let mut found = ids(&events);
                found.sort_unstable();
                found.dedup();
                assert_eq!((found, damage(&events)), (vec!["http://a/", "http://good/"], vec![]));
                let (_dir, path) = file("a.warc", &bytes);
                let cut = read(&Corpus::open(&[path], &small()).expect("a WARC file").cut_into(100, 1 << 20));
                assert_eq!(cut.events, events, "whatever the pieces");
            }
        }
    }
    // A length that is wrong shows at the next head, however that is written.
    let torn = String::from_utf8(with("WARC/1.0", " response", "http://a/", " 1")).expect("text");
    let bytes = [torn.as_bytes(), &with("warc/1.1", " response", "http://b/", " ")].concat();
    let events = read_bytes(&bytes, &small());
    assert_eq!((ids(&events), damage(&events)), (vec!["http://a/", "http://b/"], vec![Truncated]));
}

#[test]
fn test_head_over_the_limit_says_so() {
    let good = page("http://good/", b"x");
    let long = format!("WARC/1.0\r\nWARC-Type: response\r\n{}", "X: y\r\n".repeat(200 << 10));
    let line = format!("http://a/{} 1.2.3.4 20140102000000 text/html 46\n", "x".repeat(64 << 10));
    let arc = "http://a/ 1.2.3.4 20140102000000 text/html 1\n1\n".to_owned();
    for (bytes, expected) in [
        ([long.as_bytes(), b"\r\n\r\n", &good].concat(), "the WARC head is longer than the limit of 1024 KiB"),
        ([&good, &long.as_bytes()[..500]].concat(), "a WARC head without an end"),
        ([arc.clone(), line.clone()].concat().into_bytes(), "the ARC head line is longer than the limit of 64 KiB"),
        ([arc, line[..500].to_owned()].concat().into_bytes(), "an ARC head line without an end"),
    ] {
        let events = read_bytes(&bytes, &CorpusOptions::default());
        let why = events.iter().find_map(|event| match event {
            Event::Skip(skip) if skip.kind == BadHead => Some(skip.detail.as_str()),
            _ => None,
        });
        assert_eq!(why, Some(expected));
    }
}

#[test]
fn test_warc_records_that_are_no_pages() {
    let typed = |kind: &str, uri: &str, media: &str| {
        format!("WARC/1.1\r\nWARC-Type: {kind}\r\nWARC-Target-URI: {uri}\r\nContent-Type: {media}\r\nContent-Length: 2\r\n\r\nhi\r\n\r\n")
            .into_bytes()
    };
    let bytes = [
        typed("conversion", "http://wet/", "text/plain"),
        typed("conversion", "http://wet/2", ""),
        typed("conversion", "http://wet/3", "text/html; charset=iso-8859-1"),
        typed("conversion", "http://wet/4", "image/png"),
        typed("resource", "http://page/", "text/html"),
        typed("resource", "metadata://log", "text/plain"),
        typed("resource", "http://picture/", "image/png"),
        typed("metadata", "http://a/", "text/plain"),
        typed("revisit", "http://a/", "application/http"),
        typed("response", "dns:a", "text/dns"),
    ]
    .concat();
    let events = read_bytes(&bytes, &small());
    assert_eq!(ids(&events), ["http://wet/", "http://wet/2", "http://wet/3", "http://page/"]);
    let forms = events.iter().filter_map(|event| match event {
        Event::Doc { content, charset, .. } => Some((*content, charset.as_deref())),
        Event::Skip(_) => None,
    });
    let plain = (Content::Text, Some("utf-8"));
    let expected = [plain, plain, (Content::Html, Some("iso-8859-1")), (Content::Html, None)];
    assert_eq!(forms.collect::<Vec<_>>(), expected);
    let kinds: Vec<_> = events.iter().filter_map(Event::kind).collect();
    assert_eq!(kinds, [MediaType, NotADocument, MediaType, NotADocument, NotADocument, NotADocument]);
}

#[test]
fn test_bad_arc_lengths() {
    let arc = "filedesc://bad.arc.gz 127.0.0.1 20140301000000 text/plain -1\n1 0 Bad Capture\nURL IP-address Archive-date Content-type Archive-length\n\n\
        http://a/ 1.2.3.4 201404010000000000 text/html -1\n\nhttp://b/ 1.2.3.4 20140102000000 text/plain 1\n\n\n\
        http://c/ 1.2.3.4 201404010000000000 text/html abc\n\nhttp://d/x y 1.2.3.4 20140102000000 text/html 46\nHTTP/1.0 200 OK\nContent-Type: text/html\n\nhello\n";
    let events = read_bytes(arc.as_bytes(), &small());
    assert_eq!(
        (ids(&events), damage(&events)),
        (vec!["http://b/", "http://d/x y"], vec![BadLength, BadLength, BadLength])
    );
    assert_eq!(bodies(&events), ["\n", "hello"]);
}

/// The end that its head claims lies in the next head, whose rest looks like a head of another scheme.
#[test]
fn test_an_arc_record_that_lacks_some_bytes_costs_no_other() {
    let record = |url: &str, lacking: usize| {
        let block = "HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n<p>some page";
        let head = format!("{url} 1.2.3.4 20140102000000 text/html {}\n", block.len());
        format!("{head}{}\n", &block[..block.len() - lacking])
    };
    for lacking in 0..8 {
        let arc = [record("http://a/", 0), record("http://b/", lacking), record("http://c/", 0)].concat();
        let events = read_bytes(arc.as_bytes(), &small());
        assert_eq!(ids(&events), ["http://a/", "http://b/", "http://c/"], "{lacking} bytes");
        assert_eq!(damage(&events).len(), usize::from(lacking > 1), "{lacking} bytes");
    }
}

/// What a damaged member gives may be anything, and says nothing of those behind it.
#[test]
fn test_a_damaged_first_member_does_not_decide_the_format() {
    let mut first = gzip(b"a text that nobody wrote", 6);
    let end = first.len();
    first[end - 8] ^= 1;
    let pages: Vec<u8> = (0..5).flat_map(|n| gzip(&page(&format!("http://{n}/"), b"<p>page"), 6)).collect();
    let events = read_bytes(&[first, pages].concat(), &small());
    assert_eq!(ids(&events).len(), 5);
    assert!(damage(&events).contains(&BadCompression));
}

#[test]
fn test_trecweb() {
    let good = "<DOC>\n<DOCNO>GX000-00-0000000</DOCNO>\n<DOCHDR>\nhttp://a.gov/\nHTTP/1.1 200 OK\nETag: \"x\n\nContent-Type: text/html\n</DOCHDR>\n<html>one\n</DOC>\n";
    let text = format!(
        "{good}\n  \t<DOC>\nno number</DOCNO>\n<DOCHDR>\nu\n</DOCHDR>\nx</DOC>\n<!-- a comment -->\n\
         <DOC>\n<DOCNO> 2 </DOCNO>\nno header</DOC>\ngarbage\n<DOC>\n<DOCNO>3</DOCNO>\n<DOCHDR>\nhttp://b/ 1.2.3.4 x\nContent-Type: text/html; charset=latin1\n</DOCHDR>\ncut\n{good}"
    );
    for bytes in [text.as_bytes().to_vec(), gzip(text.as_bytes(), 6)] {
        let events = read_bytes(&bytes, &small());
        assert_eq!(ids(&events), ["GX000-00-0000000", "3", "GX000-00-0000000"]);
        assert_eq!(damage(&events), [MissingField, MissingField, Garbage, Truncated]);
        assert_eq!(bodies(&events), ["<html>one\n", "cut\n", "<html>one\n"]);
        let Some(Event::Doc { url, charset, .. }) =
            events.iter().find(|event| matches!(event, Event::Doc { id, .. } if id == "3"))
        else {
            panic!("{events:?}")
        };
        assert_eq!((url.as_str(), charset.as_deref()), ("http://b/", Some("latin1")));
    }
}

#[test]
fn test_line_over_the_limit_costs_itself() {
    let long = format!("{{\"id\": \"2\", \"contents\": \"{}\"}}\n", "x".repeat(2 << 20));
    let text = format!("{{\"id\": \"1\", \"contents\": \"a\"}}\n{long}{{\"id\": \"3\", \"contents\": \"c\"}}\n");
    for bytes in [text.clone().into_bytes(), gzip(text.as_bytes(), 6)] {
        let events = read_bytes(&bytes, &small());
        assert_eq!((ids(&events), damage(&events)), (vec!["1", "3"], vec![TooLarge]));
    }
    let events = read_bytes(text.as_bytes(), &CorpusOptions::default());
    assert_eq!((ids(&events).len(), damage(&events)), (3, vec![]));
}

/// Frames with a dictionary, one per record; one of them is damaged.
#[test]
fn test_zstd_frames_with_a_dictionary() {
    let dictionary = page("http://example.com/", b"<html><head><title>A common beginning</title></head><body>");
    for inner in [dictionary.clone(), zstd::encode_all(&dictionary[..], 1).expect("writing to memory")] {
        let mut bytes = vec![0x5d, 0x2a, 0x4d, 0x18];
        bytes.extend((inner.len() as u32).to_le_bytes());
        bytes.extend(inner);
        let mut coder = zstd::bulk::Compressor::with_dictionary(3, &dictionary).expect("a compressor");
        coder.include_checksum(true).expect("an option");
        let mut frames: Vec<Vec<u8>> = (0..40)
            .map(|n| {
                coder
                    .compress(&page(&format!("http://example.com/{n}"), b"<html><head><title>A common"))
                    .expect("a frame")
            })
            .collect();
        let at = frames[20].len() / 2;
        frames[20][at] ^= 0xff;
        bytes.extend(frames.concat());
        let whole = read_bytes(&bytes, &small());
        assert_eq!((ids(&whole).len(), damage(&whole)), (39, vec![BadCompression]));
        let (_dir, path) = file("a.warc.zst", &bytes);
        let cut = read(&Corpus::open(&[path], &small()).expect("a WARC file").cut_into(100, 1 << 20));
        assert_eq!(cut.events, whole);
        assert!(cut.pieces > 10, "{}", cut.pieces);
    }
}
