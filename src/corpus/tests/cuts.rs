//! However a file is cut, it holds the same documents and the same damage.

use proptest::prelude::*;

use super::super::format::{FORMATS, Format};
use super::oracle::Oracle;
use super::*;

fn format(name: &str) -> &'static dyn Format {
    *FORMATS.iter().find(|format| format.name() == name).expect("a format of this name")
}

/// Small limits, so that small files reach them.
pub(super) fn options() -> CorpusOptions {
    CorpusOptions { max_record: 6000, piece_bytes: 512, solo_bytes: 700, ..CorpusOptions::default() }
}

/// A stretch of a WARC file before it is compressed.
pub(super) fn warc_part() -> impl Strategy<Value = Vec<u8>> {
    let body = prop_oneof![
        4 => prop::collection::vec(any::<u8>(), 0..300),
        2 => (0..9000_usize).prop_map(|n| vec![b'x'; n]),
        1 => Just(page("http://nested/", b"nested")),
        2 => Just(gzip(&page("http://nested/", b"in a member"), 6)),
        2 => Just([gzip(&page("http://nested/1", b"a"), 6), gzip(&page("http://nested/2", b"b"), 1)].concat()),
    ];
    let length = prop_oneof![
        Just("-1".to_owned()),
        Just("x".to_owned()),
        Just("99999999999999999999999".to_owned()),
        Just("18446744073709551615".to_owned()),
        Just("50000000".to_owned()),
        (0..7000_u32).prop_map(|n| n.to_string()),
    ];
    prop_oneof![
        12 => (body.clone(), 0..100_u32).prop_map(|(body, n)| page(&format!("http://a/{n}"), &body)),
        3 => (body.clone(), length).prop_map(|(body, length)| {
            with_length("response", "http://lies/", &response("Content-Type: text/plain\r\n", &body), &length)
        }),
        2 => body.prop_map(|body| record("request", "http://a/", &body)),
        1 => prop::collection::vec(any::<u8>(), 0..200),
        1 => Just(b"WARC/1.0\r\nno end of the head".to_vec()),
        1 => Just(b"\r\n\r\n".to_vec()),
    ]
}

/// How stretches become members, and what is done to these.
#[derive(Clone, Debug)]
pub(super) enum Way {
    /// A member for itself.
    Own(u32),
    /// Together with the next.
    Joined,
    /// Cut in two members.
    Split(prop::sample::Index),
    /// Its member loses its end.
    Torn(prop::sample::Index),
    /// A bit of its member flips.
    Flipped(prop::sample::Index, u8),
    /// Not compressed.
    Bare,
    /// Zeros follow.
    Padded,
}

pub(super) fn way() -> impl Strategy<Value = Way> {
    prop_oneof![
        10 => (0..10_u32).prop_map(Way::Own),
        3 => Just(Way::Own(0)),
        3 => Just(Way::Joined),
        2 => any::<prop::sample::Index>().prop_map(Way::Split),
        1 => any::<prop::sample::Index>().prop_map(Way::Torn),
        2 => (any::<prop::sample::Index>(), 0..8_u8).prop_map(|(at, bit)| Way::Flipped(at, bit)),
        1 => Just(Way::Bare),
        1 => Just(Way::Padded),
    ]
}

pub(super) fn build(parts: &[(Vec<u8>, Way)]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut open = Vec::new();
    for (part, way) in parts {
        open.extend_from_slice(part);
        match way {
            Way::Joined => continue,
            Way::Own(level) => out.extend(gzip(&open, *level)),
            Way::Split(at) => {
                let at = at.index(open.len() + 1);
                out.extend(gzip(&open[..at], 6));
                out.extend(gzip(&open[at..], 1));
            }
            Way::Torn(at) => {
                let member = gzip(&open, 6);
                out.extend_from_slice(&member[..at.index(member.len())]);
            }
            Way::Flipped(at, bit) => {
                let mut member = gzip(&open, 6);
                let at = at.index(member.len());
                member[at] ^= 1 << bit;
                out.extend(member);
            }
            Way::Bare => out.extend_from_slice(&open),
            Way::Padded => {
                out.extend(gzip(&open, 6));
                out.extend([0; 100]);
            }
        }
        open.clear();
    }
    if !open.is_empty() {
        out.extend(gzip(&open, 6));
    }
    out
}

/// Reads bytes as a file of a format, cut into ranges.
fn read_cut(bytes: &[u8], range: usize, proof: usize) -> Option<Reading> {
    let (_dir, path) = file("input", bytes);
    let corpus = Corpus::open(&[path], &options()).ok()?.cut_into(range, proof);
    Some(read(&corpus))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn prop_gzip_cuts_change_nothing(
        parts in prop::collection::vec((warc_part(), way()), 1..12),
        range in prop_oneof![1..40_usize, 40..3000_usize],
        proof in prop_oneof![Just(1 << 20), 5000..20000_usize],
    ) {
        // The first member says what the file is.
        let mut bytes = gzip(&record("warcinfo", "", b"a: b\r\n"), 6);
        bytes.extend(build(&parts));
        let expected = Oracle::new(format("warc"), &bytes, &options(), proof).read_gzip();
        let reading = read_cut(&bytes, range, proof).expect("a WARC file");
        prop_assert_eq!(reading.events, expected);
    }

    #[test]
    fn prop_plain_cuts_change_nothing(
        parts in prop::collection::vec(warc_part(), 1..12),
        range in prop_oneof![1..40_usize, 40..3000_usize],
    ) {
        let mut bytes = record("warcinfo", "", b"a: b\r\n");
        bytes.extend(parts.concat());
        let expected = Oracle::new(format("warc"), &bytes, &options(), 1).read_plain();
        prop_assert_eq!(read_cut(&bytes, range, 1).expect("a WARC file").events, expected);
    }

    #[test]
    fn prop_line_and_tag_cuts_change_nothing(
        parts in prop::collection::vec(prop_oneof![
            Just("\n"), Just("<DOC>"), Just("</DOC>"), Just("\n<DOC>\n<DOCNO> 7 </DOCNO>\n"), Just("<TEXT>word</TEXT>"),
            Just("<!-- c -->"), Just("{\"id\": \"1\", \"contents\": \"a b\"}\n"), Just("x\ty\n"), Just("http://a/ 1.2.3.4 "),
            Just("20000101000000 text/html 5\nabcde\n"), Just("1234567"), Just("<page><ns>0</ns><id>3</id>"), Just("</page>"),
        ], 0..60),
        which in 0..5_usize,
        range in 1..200_usize,
    ) {
        let (name, first) = [
            ("newswire", "<DOC>\n<DOCNO>1</DOCNO>a</DOC>\n"),
            ("jsonl", "{\"id\": 1, \"contents\": \"c\"}\n"),
            ("tsv", "1\ta\n2\tb\n"),
            ("arc", "filedesc://a 0.0.0.0 20000101000000 text/plain 2\n1 \n\n"),
            ("mediawiki", "<mediawiki>\n<page><ns>0</ns><id>1</id></page>\n"),
        ][which];
        let bytes = format!("{first}{}", parts.concat()).into_bytes();
        // What most lines are is another question.
        let options = CorpusOptions { format: Some(name.into()), ..options() };
        let expected = Oracle::new(format(name), &bytes, &options, 1).read_plain();
        let (_dir, path) = file("input", &bytes);
        let corpus = Corpus::open(&[path], &options).expect("a known format");
        prop_assert_eq!(corpus.files()[0].format, name);
        prop_assert_eq!(read(&corpus.cut_into(range, 1)).events, expected);
    }

    /// Whole files, batches read ahead and ranges are three ways to the same documents.
    #[test]
    fn prop_ways_agree(parts in prop::collection::vec((warc_part(), way()), 1..12)) {
        let mut bytes = gzip(&record("warcinfo", "", b"a: b\r\n"), 6);
        bytes.extend(build(&parts));
        let (_dir, path) = file("input", &bytes);
        let whole = CorpusOptions { piece_bytes: 1 << 20, ..options() };
        let whole = read(&Corpus::open(std::slice::from_ref(&path), &whole).expect("a WARC file"));
        prop_assert_eq!(whole.pieces, 1);
        let ahead = CorpusOptions { piece_bytes: 20, ..options() };
        let ahead = read(&Corpus::open(&[path], &ahead).expect("a WARC file"));
        prop_assert_eq!(ahead.events, whole.events);
    }
}

/// A stored member that holds a compressed archive makes guesses go wrong, and the handover sees it.
#[test]
fn test_nested_archive_is_redone() {
    let inner: Vec<u8> = (0..20).flat_map(|n| gzip(&page(&format!("http://inner/{n}"), &[b'i'; 200]), 6)).collect();
    let outer = [
        gzip(&page("http://outer/1", b"a"), 6),
        gzip(&page("http://outer/2", &inner), 0),
        gzip(&page("http://outer/3", b"c"), 6),
    ]
    .concat();
    let mut redone = 0;
    for range in 100..400 {
        let reading = read_cut(&outer, range, 1 << 20).expect("a WARC file");
        assert_eq!(ids(&reading.events), ["http://outer/1", "http://outer/2", "http://outer/3"]);
        redone += reading.redone;
    }
    // Pieces inside the stored member are discarded. One in which it ends may have begun inside, too.
    assert!(redone >= 50, "{redone}");
}

/// Range cuts of a well-formed file need no second reading.
#[test]
fn test_good_guesses_are_kept() {
    let bytes: Vec<u8> = (0..200).flat_map(|n| gzip(&page(&format!("http://a/{n}"), b"words"), 6)).collect();
    let reading = read_cut(&bytes, 1000, 1 << 20).expect("a WARC file");
    assert_eq!((ids(&reading.events).len(), reading.redone), (200, 0));
    assert!(reading.pieces > 20);
    let bytes: Vec<u8> = (0..200).flat_map(|n| page(&format!("http://a/{n}"), b"words")).collect();
    let reading = read_cut(&bytes, 1000, 1 << 20).expect("a WARC file");
    assert_eq!((ids(&reading.events).len(), reading.redone), (200, 0));
}
