//! Damaged and odd archives: what is good is found, what is lost is named.

use super::SkipKind::*;
use super::*;

fn small() -> CorpusOptions {
    CorpusOptions { max_record: 1 << 20, ..CorpusOptions::default() }
}

/// Reads bytes plain, as one gzip member, and as members of the parts; all must find the same ids and damage.
#[track_caller]
fn expect(parts: &[Vec<u8>], found: &[&str], lost: &[SkipKind]) {
    let options = small();
    let plain = parts.concat();
    let members: Vec<u8> = parts.iter().flat_map(|part| gzip(part, 6)).collect();
    for (how, bytes) in [
        ("plain", plain.clone()),
        ("gzip whole", gzip(&plain, 6)),
        ("gzip per record", members),
        ("zstd", zstd::encode_all(&plain[..], 1).expect("writing to memory")),
    ] {
        let events = read_bytes(&bytes, &options);
        assert_eq!((ids(&events), damage(&events)), (found.to_vec(), lost.to_vec()), "{how}");
    }
}

fn lie(uri: &str, body: &[u8], length: &str) -> Vec<u8> {
    with_length("response", uri, &response("Content-Type: text/html\r\n", body), length)
}

#[test]
fn test_lengths_that_lie() {
    for (length, kind) in [("-1", BadLength), ("12x", BadLength), ("", BadLength), ("99999999999999999999", BadLength)]
    {
        expect(&[page("u:1", b"a"), lie("u:2", b"b", length), page("u:3", b"c")], &["u:1", "u:3"], &[kind]);
    }
    // Too short: the rest of the body belongs to nobody. Its text is indexed as far as the length goes.
    expect(&[page("u:1", b"a"), lie("u:2", b"bcdefgh", "50"), page("u:3", b"c")], &["u:1", "u:2", "u:3"], &[Garbage]);
    // Too long, but not over the limit: the next record is not swallowed.
    expect(&[page("u:1", b"a"), lie("u:2", b"b", "300"), page("u:3", b"c")], &["u:1", "u:2", "u:3"], &[Truncated]);
    expect(&[page("u:1", b"a"), lie("u:2", b"b", "90000")], &["u:1", "u:2"], &[Truncated]);
}

#[test]
fn test_lengths_over_the_limit() {
    let parts = [page("u:1", b"a"), lie("u:2", b"b", "5000000000"), page("u:3", b"c")];
    let events = read_bytes(&parts.concat(), &small());
    assert_eq!((ids(&events), damage(&events)), (vec!["u:1", "u:3"], vec![BadLength]));
    let events = read_bytes(&gzip(&parts.concat(), 6), &small());
    assert_eq!((ids(&events), damage(&events)), (vec!["u:1", "u:3"], vec![TooLarge]));
    // A true one is passed over, and what it holds is not mistaken for records.
    let nested = [vec![b'x'; 2 << 20], b"\r\n\r\n".to_vec(), page("u:nested", b"n")].concat();
    let parts = [page("u:1", b"a"), page("u:2", &nested), page("u:3", b"c")];
    let events = read_bytes(&parts.concat(), &small());
    assert_eq!((ids(&events), damage(&events)), (vec!["u:1", "u:3"], vec![TooLarge]));
    // An image of that size was not wanted in the first place.
    let image = record("response", "u:2", &response("Content-Type: image/png\r\n", &vec![0; 2 << 20]));
    let parts = [page("u:1", b"a"), image, page("u:3", b"c")];
    expect(&parts, &["u:1", "u:3"], &[]);
}

#[test]
fn test_heads_that_cannot_be_read() {
    let endless = [b"WARC/1.0\r\n".to_vec(), b"X-Field: yyyyyyyyyyyyyy\r\n".repeat(60_000)].concat();
    assert!(endless.len() > 1 << 20);
    expect(&[page("u:1", b"a"), endless, page("u:3", b"c")], &["u:1", "u:3"], &[BadHead]);
    expect(&[page("u:1", b"a"), b"WARC/1.0\r\nWARC-Type: resp".to_vec()], &["u:1"], &[BadHead]);
    let bare = b"WARC/1.0\nContent-Length: 4\nWARC-Type: conversion\nWARC-Record-ID: <i>\n\nab\n\n\n\n".to_vec();
    expect(&[page("u:1", b"a"), bare, page("u:3", b"c")], &["u:1", "<i>", "u:3"], &[]);
    let nameless = b"WARC/1.0\r\nWARC-Type: response\r\nContent-Length: 0\r\n\r\n\r\n\r\n".to_vec();
    expect(&[page("u:1", b"a"), nameless], &["u:1"], &[MissingField]);
}

#[test]
fn test_garbage_between_records() {
    let parts = [page("u:1", b"a"), b"some garbage\nand more of it\n".to_vec(), page("u:3", b"c")];
    expect(&parts, &["u:1", "u:3"], &[Garbage]);
    let bytes =
        [gzip(&page("u:1", b"a"), 6), b"garbage".repeat(1000), gzip(&page("u:3", b"c"), 6), vec![0; 512]].concat();
    let events = read_bytes(&bytes, &small());
    assert_eq!((ids(&events), damage(&events)), (vec!["u:1", "u:3"], vec![Garbage]));
}

#[test]
fn test_damaged_members() {
    let member = |n: u32| gzip(&page(&format!("u:{n}"), &vec![b'a'; 1000]), 6);
    let cut = |mut bytes: Vec<u8>, len: usize| {
        bytes.truncate(len);
        bytes
    };
    let flip = |mut bytes: Vec<u8>, at: usize| {
        bytes[at] ^= 0x10;
        bytes
    };
    let len = member(2).len();
    for (bad, found) in [
        (cut(member(2), len / 2), vec!["u:1", "u:3"]),
        (cut(member(2), 5), vec!["u:1", "u:3"]),
        (flip(member(2), len / 2), vec!["u:1", "u:3"]),
        // The checksum is wrong: the record cannot be trusted.
        (flip(member(2), len - 8), vec!["u:1", "u:3"]),
    ] {
        let bytes = [member(1), bad, member(3)].concat();
        let events = read_bytes(&bytes, &small());
        let lost = damage(&events);
        assert_eq!(ids(&events), found);
        assert!(lost == [BadCompression] || lost == [Garbage], "{lost:?}");
        let Some(Event::Skip(skip)) = events.iter().find(|event| event.kind().is_some()) else { panic!("{events:?}") };
        assert_eq!(skip.offset, member(1).len() as u64);
    }
    // The file breaks off: what is there is used.
    let body: String = (1..100_u64).map(|n| format!("{:x}", n.wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect();
    let torn = cut(gzip(&page("u:2", body.as_bytes()), 6), 600);
    let events = read_bytes(&[member(1), torn].concat(), &small());
    assert_eq!((ids(&events), damage(&events)), (vec!["u:1", "u:2"], vec![Truncated, BadCompression]));
}

#[test]
fn test_torn_whole_file_keeps_records_before() {
    let plain: Vec<u8> = (0..2000_u64)
        .flat_map(|n| page(&format!("u:{n}"), format!("{:x}", n.wrapping_mul(0x9e37_79b9_7f4a_7c15)).as_bytes()))
        .collect();
    let whole = gzip(&plain, 6);
    let events = read_bytes(&whole[..whole.len() / 2], &small());
    let found = ids(&events).len();
    assert!((900..1100).contains(&found), "{found}");
    assert!(damage(&events).contains(&BadCompression));
    let mut flipped = whole.clone();
    let at = whole.len() - 3;
    flipped[at] ^= 1;
    let events = read_bytes(&flipped, &small());
    assert_eq!((ids(&events).len(), damage(&events)), (1999, vec![BadCompression]));
}

#[test]
fn test_records_across_members_and_clipped_ones() {
    let long = page("u:2", &vec![b'b'; 5000]);
    let bytes = [
        gzip(&page("u:1", b"a"), 6),
        gzip(&long[..2000], 6),
        gzip(b"", 6),
        gzip(&long[2000..], 6),
        // Clipped: a new member begins with a head before the length is reached.
        gzip(&lie("u:3", b"clipped", "7000"), 6),
        gzip(&page("u:4", b"d"), 6),
    ]
    .concat();
    let events = read_bytes(&bytes, &small());
    assert_eq!((ids(&events), damage(&events)), (vec!["u:1", "u:2", "u:3", "u:4"], vec![Truncated]));
    assert_eq!(bodies(&events)[1].len(), 5000);
    assert_eq!(bodies(&events)[2], "clipped\r\n\r\n");
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
fn test_bomb_takes_bounded_memory() {
    // 200 MB of zeros behind a head that claims little, and one that claims them all.
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::new(6));
    use std::io::Write;
    encoder.write_all(&lie("u:bomb", b"", "60")).expect("writing to memory");
    for _ in 0..200 {
        encoder.write_all(&vec![0; 1 << 20]).expect("writing to memory");
    }
    let bomb = encoder.finish().expect("writing to memory");
    let bytes = [gzip(&page("u:1", b"a"), 6), bomb, gzip(&page("u:3", b"c"), 6)].concat();
    let events = read_bytes(&bytes, &small());
    assert_eq!(ids(&events), ["u:1", "u:bomb", "u:3"]);
    assert_eq!(damage(&events), [Garbage]);
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

#[test]
fn test_warc_records_that_are_no_pages() {
    let typed = |kind: &str, uri: &str, media: &str| {
        format!("WARC/1.1\r\nWARC-Type: {kind}\r\nWARC-Target-URI: {uri}\r\nContent-Type: {media}\r\nContent-Length: 2\r\n\r\nhi\r\n\r\n")
            .into_bytes()
    };
    let bytes = [
        typed("conversion", "http://wet/", "text/plain"),
        typed("resource", "http://page/", "text/html"),
        typed("resource", "metadata://log", "text/plain"),
        typed("resource", "http://picture/", "image/png"),
        typed("metadata", "http://a/", "text/plain"),
        typed("revisit", "http://a/", "application/http"),
        typed("response", "dns:a", "text/dns"),
    ]
    .concat();
    let events = read_bytes(&bytes, &small());
    assert_eq!(ids(&events), ["http://wet/", "http://page/"]);
    let kinds: Vec<_> = events.iter().filter_map(Event::kind).collect();
    assert_eq!(kinds, [NotADocument, MediaType, NotADocument, NotADocument, NotADocument]);
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
