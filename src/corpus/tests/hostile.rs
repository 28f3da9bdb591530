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

/// What a loss over the limit would take is told where the end of the record can be seen.
#[test]
fn test_the_length_of_a_record_over_the_limit_is_told() {
    let object = |id: &str, letters: usize| format!("{{\"id\": \"{id}\", \"text\": \"{}\"}}\n", "x".repeat(letters));
    let lines = [object("1", 1), object("2", 3 << 20), object("3", 1)];
    let told = |bytes: &[u8]| {
        let events = read_bytes(bytes, &small());
        assert_eq!(damage(&events), [TooLarge]);
        let skip = |event: &Event| match event {
            Event::Skip(skip) => Some(skip.detail.clone()),
            Event::Doc { .. } => None,
        };
        events.iter().find_map(skip).unwrap()
    };
    let long = lines[1].len() - 1;
    assert_eq!(
        told(lines.concat().as_bytes()),
        format!("a record of {long} bytes: the limit is 1048576; divide the document into 4 or more")
    );
    assert_eq!(told(lines[..2].concat().trim_end().as_bytes()), told(lines.concat().as_bytes()));
    assert_eq!(
        told(&gzip(lines.concat().as_bytes(), 6)),
        "the record is longer than the limit of 1048576 bytes; divide the document"
    );
    assert!(told("words ".repeat(1 << 19).as_bytes()).starts_with("a record of 3145728 bytes: "));
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

/// Input that would cost the square of its size if every record were looked for to the end. In
/// quadratic time this test takes hours.
#[test]
fn test_costs_are_linear() {
    let heads = "<DOC>\n".repeat(1 << 20);
    let tags = format!("<DOC>\n<DOCNO>1</DOCNO>\n{}\n</DOC>\n", "<TEXT/><TEXT ".repeat(1 << 20));
    let pages = "<page>".repeat(1 << 20);
    let of_text = |text: String| format!("<DOC>\n<DOCNO>1</DOCNO>\n<TEXT>{text}</TEXT>\n</DOC>\n");
    let comments = ["<!--".repeat(1 << 20) + "-->", "<!----!>".repeat(1 << 20), "<!--".repeat(1 << 20)].map(of_text);
    let nested = format!("<page><id>1</id>{}{}</page>", "<a>".repeat(1 << 20), "</b>".repeat(1 << 20));
    let options = CorpusOptions::default();
    assert_eq!(damage(&read_bytes(heads.as_bytes(), &options)).len(), 2 * (1 << 20));
    assert_eq!(ids(&read_bytes(tags.as_bytes(), &options)), ["1"]);
    for comments in comments {
        assert_eq!(ids(&read_bytes(comments.as_bytes(), &options)), ["1"]);
    }
    assert_eq!(damage(&read_bytes(pages.as_bytes(), &options)).len(), 2 * (1 << 20));
    assert_eq!(damage(&read_bytes(nested.as_bytes(), &options)), [BadSyntax]);
    let arrays = format!("{{\"id\": \"1\", \"x\": {}{}, \"text\": \"t\"}}", "[".repeat(4 << 20), "]".repeat(4 << 20));
    assert_eq!(ids(&read_bytes(arrays.as_bytes(), &options)), ["1"]);
}

/// A record that lies wholly in good members stays, though a damaged one follows before it was framed.
#[test]
fn test_damage_does_not_reach_back() {
    let first = page("u:1", b"a");
    let cut = first.len() * 2 / 3;
    let mut bad = gzip(&[b"\r\n".to_vec(), page("u:2", b"b")[..40].to_vec()].concat(), 6);
    let checksum = bad.len() - 8;
    bad[checksum] ^= 1;
    let bytes = [gzip(&first[..cut], 6), gzip(&first[cut..], 6), bad, gzip(&page("u:3", b"c"), 6)];
    let events = read_bytes(&bytes.concat(), &small());
    assert_eq!((ids(&events), damage(&events)), (vec!["u:1", "u:3"], vec![BadCompression]));
}

#[test]
fn test_http_head_without_an_end_is_no_document() {
    let record = |block: &[u8]| record("response", "http://a.test/", block);
    let endless = [&b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"[..], &b"X: y\r\n".repeat(1000)].concat();
    let input = [record(&endless), record(b"HTTP/1.1 200 OK\r\n\r\n"), page("http://b.test/", b"<p>here")].concat();
    let events = read_bytes(&input, &CorpusOptions::default());
    assert_eq!(damage(&events), [SkipKind::BadHead]);
    assert_eq!(ids(&events), ["http://a.test/", "http://b.test/"], "an empty body behind a whole head is a document");
}
