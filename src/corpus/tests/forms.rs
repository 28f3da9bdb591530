//! What a file is: by most of its lines, behind junk, or as the caller says.

use super::SkipKind::*;
use super::*;

fn forced(name: &str) -> CorpusOptions {
    CorpusOptions { format: Some(name.into()), ..CorpusOptions::default() }
}

/// The format that a file with these bytes is found to be of.
fn found(bytes: &[u8]) -> &'static str {
    let (dir, _path) = file("input", bytes);
    let corpus = Corpus::open(&[dir.path().to_path_buf()], &CorpusOptions::default()).expect("a readable directory");
    corpus.files().first().map_or("none", |file| file.format)
}

fn table(rows: usize, odd: &[(usize, &str)]) -> String {
    let row = |n: usize| format!("D{n}\thttp://e.test/{n}\ttitle{n}\tbody{n} text");
    let line = |n| odd.iter().find(|odd| odd.0 == n).map_or_else(|| row(n), |odd| odd.1.to_owned());
    (0..rows).map(|n| line(n) + "\n").collect()
}

#[test]
fn test_odd_lines_do_not_make_a_text_of_a_table() {
    for (odd, lost) in [
        ("D3\thttp://e.test/3\ttitle3\tbody3\tmore words after a tab", 0),
        ("D3", 1),
        ("doc id\turl\ttitle\ttext", 1),
        ("\t\t\tbody", 1),
        ("", 0),
    ] {
        for at in [0, 3] {
            let text = table(100, &[(at, odd)]);
            for bytes in [gzip(text.as_bytes(), 6), text.clone().into_bytes()] {
                assert_eq!(found(&bytes), "tsv", "{odd:?} in line {at}");
                let events = read_bytes(&bytes, &CorpusOptions::default());
                assert_eq!(damage(&events).len(), lost, "{odd:?} in line {at}");
                assert_eq!(ids(&events).len(), 100 - lost - usize::from(odd.is_empty()), "{odd:?} in line {at}");
            }
        }
    }
    // Most lines decide, and they have to agree on the layout.
    let odd: Vec<(usize, &str)> = (0..50).map(|n| (2 * n, "some words of a text")).collect();
    assert_eq!(found(table(100, &odd).as_bytes()), "text");
    assert_eq!(found(table(101, &odd[..50]).as_bytes()), "tsv");
    assert_eq!(found(b"a\tb\nc\td\te\nf\tg\th\ti\n"), "text");
    assert_eq!(found(b"Some words.\tAnd more.\n\nOf them.\n"), "text");
    // A first line that is longer than what is looked at.
    let long = format!("D1\t{}\nD2\tshort\n", "words ".repeat(20_000));
    assert_eq!(ids(&read_bytes(long.as_bytes(), &CorpusOptions::default())), ["D1", "D2"]);
    // More columns than four are tabs in the text.
    let tabs = "a\tb\tc\td\te\nf\tg\th\ti\tj\tk\nl\tm\tn\to\n";
    assert_eq!(ids(&read_bytes(tabs.as_bytes(), &CorpusOptions::default())), ["a", "f", "l"]);
}

/// A first line that is torn, or no object, is a loss, and makes no text of the others.
#[test]
fn test_odd_lines_do_not_make_a_text_of_objects() {
    let objects =
        |n| (0..n).map(|i| format!("{{\"id\": \"d{i}\", \"contents\": \"words {i}\"}}\n")).collect::<String>();
    for odd in ["{bad", "# a remark", "nts\": \"the end of a line\"}", "[]", "7\tseven"] {
        let text = format!("{odd}\n{}", objects(20));
        for bytes in [text.clone().into_bytes(), gzip(text.as_bytes(), 6)] {
            assert_eq!(found(&bytes), "jsonl", "{odd}");
            let events = read_bytes(&bytes, &CorpusOptions::default());
            assert_eq!((damage(&events).len(), ids(&events).len()), (1, 20), "{odd}");
        }
    }
    let clueweb22 = "{\"ClueWeb22-ID\": \"1\", \"Clean-Text\": \"x\"}\n".repeat(20);
    assert_eq!(found(format!("{{bad\n{clueweb22}").as_bytes()), "clueweb22");
    assert_eq!(found(format!("words\n{}", objects(1)).as_bytes()), "text");
    assert_eq!(found(format!("{}{}", "words\n".repeat(20), objects(21)).as_bytes()), "text", "too late to be seen");
    assert_eq!(found(format!("{}{}", "words\n".repeat(10), objects(10)).as_bytes()), "text");
    assert_eq!(found(format!("{}{}", "words\n".repeat(10), objects(11)).as_bytes()), "jsonl");
}

/// Every format of the registry reads what it is told to, and says what does not fit.
#[test]
fn test_any_format_can_be_forced() {
    let rows = "one id\tone\nno row\n2\ttwo\n";
    let page = page("http://a.test/", b"<p>x");
    /// A form, a file, the ids that are found there, and the damage.
    type Odd<'a> = (&'a str, Vec<u8>, &'a [&'a str], &'a [SkipKind]);
    let odd: &[Odd<'_>] = &[
        ("warc", [b"no record\n\n", &page[..]].concat(), &["http://a.test/"], &[Garbage]),
        ("arc", b"no record\nhttp://a/ 1.2.3.4 20140102000000 text/plain 2\nhi\n".to_vec(), &["http://a/"], &[Garbage]),
        ("mediawiki", b"words <page><id>1</id><text>x</text></page>".to_vec(), &["1"], &[Garbage]),
        ("trecweb", b"words\n<DOC>\n<DOCNO>1</DOCNO>\n</DOC>\n".to_vec(), &[], &[Garbage, MissingField]),
        ("newswire", b"words\n<DOC>\n<DOCNO>1</DOCNO>\nx</DOC>\n".to_vec(), &["1"], &[Garbage]),
        ("clueweb22", b"{\"id\": 1, \"text\": \"x\"}\n".to_vec(), &[], &[MissingField]),
        ("jsonl", b"words\n{\"id\": 1, \"text\": \"x\"}\n[]\n".to_vec(), &["1"], &[BadSyntax, BadSyntax]),
        ("json", b"words\n{\"id\": 1,\n \"text\": \"x\"}\n".to_vec(), &["1"], &[BadSyntax]),
        ("parquet", b"just words".to_vec(), &[], &[BadSyntax]),
        ("html", b"just words".to_vec(), &["input"], &[]),
        ("tsv", rows.into(), &["one id", "2"], &[BadSyntax]),
        ("text", b"{\"id\": 1, \"text\": \"x\"}\n".to_vec(), &["input"], &[]),
    ];
    assert_eq!(odd.iter().map(|case| case.0).collect::<Vec<_>>(), format_names(), "every format has its case");
    for (name, bytes, expected, lost) in odd {
        assert_eq!(format_named(name).expect("a known name").name(), *name);
        for bytes in [gzip(bytes, 6), bytes.clone()] {
            let events = read_bytes(&bytes, &forced(name));
            assert_eq!((ids(&events), damage(&events)), (expected.to_vec(), lost.to_vec()), "{name}");
        }
        let (_dir, path) = file("input", bytes);
        let corpus = Corpus::open(&[path], &forced(name)).expect("a file");
        assert_eq!(corpus.files()[0].format, *name);
    }
    let (_dir, path) = file("input", b"x");
    let error = Corpus::open(&[path], &forced("tvs")).err().expect("an unknown format").to_string();
    assert!(error.contains("tvs") && error.contains("tsv, text"), "{error}");
}

/// In every format whose ids are bytes of a file: two that differ in one byte are two, and what they say in Latin-1.
#[test]
fn test_ids_that_are_not_utf8_stay_apart() {
    let record = |name: &str, id: u8| -> Vec<u8> {
        let around: [&[u8]; 2] = match name {
            "warc" => {
                let bytes = page("http://a/caf#", b"<p>x");
                let at = bytes.iter().position(|&byte| byte == b'#').expect("the byte to put in");
                return [&bytes[..at], &[id], &bytes[at + 1..]].concat();
            }
            "arc" => [b"http://a/caf", b" 1.2.3.4 20140102000000 text/plain 2\nhi\n"],
            "trecweb" => [b"<DOC>\n<DOCNO>http://a/caf", b"</DOCNO>\n<DOCHDR>\nhttp://a/\n</DOCHDR>\nx\n</DOC>\n"],
            "newswire" => [b"<DOC>\n<DOCNO>http://a/caf", b"</DOCNO>\nx</DOC>\n"],
            "jsonl" => [b"{\"id\": \"http://a/caf", b"\", \"text\": \"x\"}\n"],
            _ => [b"http://a/caf", b"\tx\n"],
        };
        [around[0], &[id], around[1]].concat()
    };
    for name in ["warc", "arc", "trecweb", "newswire", "jsonl", "tsv"] {
        let events = read_bytes(&[record(name, 0xe9), record(name, 0xe8)].concat(), &forced(name));
        let found = (ids(&events), damage(&events));
        assert_eq!(found, (vec!["http://a/caf\u{e9}", "http://a/caf\u{e8}"], vec![]), "{name}");
    }
}

/// More than a first look reads.
#[test]
fn test_the_first_sound_byte_may_come_late() {
    let noise: Vec<u8> = (0..300_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8 | 1).collect();
    let members: Vec<u8> = (0..50).flat_map(|n| gzip(&page(&format!("http://a.test/{n}"), b"<p>x"), 6)).collect();
    let damaged = [&gzip(&noise, 6)[..20], &noise[..], &members[..]].concat();
    assert_eq!(found(&damaged), "warc");
    assert_eq!(found(&[&noise[..], &members[..]].concat()), "warc");
    assert_eq!(found(&[&noise[..], &noise[..]].concat()), "none");
}

#[test]
fn test_many_files_keep_their_order_on_several_threads() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    for n in 0..40 {
        let bytes = if n % 7 == 3 { b"\0\x01\x02".to_vec() } else { gzip(&page("http://a.test/", b"<p>x"), 6) };
        std::fs::write(dir.path().join(format!("f{n}")), bytes).expect("a temporary file");
    }
    let open = |threads| {
        let options = CorpusOptions { threads, ..CorpusOptions::default() };
        let corpus = Corpus::open(&[dir.path().to_path_buf()], &options).expect("a readable directory");
        (corpus.files().to_vec(), corpus.passed_over().to_vec())
    };
    let (files, passed_over) = open(1);
    assert_eq!((files.len(), passed_over.len()), (34, 6));
    assert_eq!(open(7), (files, passed_over));
    // the first one that was named and is nothing, whichever thread comes to it first
    let named: Vec<_> = [5, 31, 10, 3].iter().map(|n| dir.path().join(format!("f{n}"))).collect();
    let error = Corpus::open(&named, &CorpusOptions { threads: 4, ..CorpusOptions::default() }).err();
    assert!(error.expect("no format").to_string().contains("f31"));
}

#[test]
fn test_junk_before_the_first_member_or_record() {
    let pages: Vec<u8> = (0..50).flat_map(|n| page(&format!("http://a.test/{n}"), b"<p>x")).collect();
    let members: Vec<u8> = (0..50).flat_map(|n| gzip(&page(&format!("http://a.test/{n}"), b"<p>x"), 6)).collect();
    let binary: Vec<u8> = (0..5000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let lines = b"{\"id\": \"1\", \"text\": \"x\"}\n{\"id\": \"2\", \"text\": \"y\"}\n";
    for junk in [&binary[..], b"words and\n\nwords\n", b"\0\0\0\0"] {
        for (bytes, compression) in [
            (members.clone(), "gzip"),
            (gzip(&pages, 6), "gzip"),
            (zstd::encode_all(&pages[..], 1).expect("writing to memory"), "zstd"),
            ([b"\n", &pages[..]].concat(), "none"),
        ] {
            let bytes = [junk, &bytes].concat();
            let (_dir, path) = file("input", &bytes);
            let corpus = Corpus::open(&[path], &CorpusOptions::default()).expect("a WARC file");
            assert_eq!((corpus.files()[0].format, corpus.files()[0].compression), ("warc", compression), "{junk:?}");
            let events = read(&corpus).events;
            assert_eq!((ids(&events).len(), damage(&events).len()), (50, 1), "{compression} {junk:?}");
            assert!(matches!(&events[0], Event::Skip(skip) if skip.offset == 0), "{:?}", events[0]);
            let cut = read(&corpus.cut_into(300, 1 << 20));
            assert_eq!(cut.events, events, "whatever the pieces");
        }
    }
    let events = read_bytes(&[&binary, &gzip(lines, 6)[..]].concat(), &CorpusOptions::default());
    assert_eq!(damage(&events), [Garbage]);
    // A text that quotes the head of a record is a text, and so is one that is inside of something else.
    assert_eq!(found(b"As in\n\nWARC/1.0\nWARC-Type: response\nContent-Length: 700\n\nwith fields.\n"), "text");
    assert_eq!(found(&[&binary, &gzip(b"a text with words\n", 6)[..]].concat()), "none");
}
