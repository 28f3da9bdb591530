//! Topics that stream in are those of the whole text.

use super::lines::Lines;
use super::markup::{find_ignoring_case, trec, xml};
use super::*;
use proptest::prelude::*;
use std::collections::HashSet;
use std::io::{self, Read, Write as _};

/// The topics of a text, read whole; `None` if it is refused. No part of these files is an object of JSON.
fn whole(bytes: &[u8]) -> Option<(TopicFormat, Vec<Topic>)> {
    let text = match encoding_rs::Encoding::for_bom(bytes) {
        Some((encoding, mark)) => encoding.decode_without_bom_handling(&bytes[mark..]).0.into_owned(),
        None => {
            let lines = bytes.split_inclusive(|&byte| byte == b'\n').map(|line| match std::str::from_utf8(line) {
                Ok(line) => line.to_owned(),
                Err(_) => encoding_rs::WINDOWS_1252.decode_without_bom_handling(line).0.into_owned(),
            });
            lines.collect()
        }
    };
    let lines = || text.lines().filter(|line| !line.trim().is_empty());
    let is_comment = |line: &&str| line.trim().is_empty() || line.trim_start().starts_with('#');
    let comments: usize = text.split_inclusive('\n').take_while(is_comment).map(str::len).sum();
    let start = text[comments..].trim_start();
    let is_topic = find_ignoring_case(start, 0, "<top") == Some(0);
    let start = if is_topic { start } else { text.trim_start() };
    let split = |at: char| lines().filter_map(move |line| line.split_once(at));
    let topics = |parts: &mut dyn Iterator<Item = (&str, &str)>| -> Vec<Topic> {
        parts.map(|(id, text)| Topic::new(id_of(id), tidy(text))).collect()
    };
    let is_id = |id: &str| {
        id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
            && id.bytes().any(|byte| byte.is_ascii_digit())
    };
    let priority = |text: &str| {
        let text = text.trim_start().as_bytes();
        text.len() > 1 && text[0].is_ascii_digit() && text[1] == b':'
    };
    let (format, topics) = if start.starts_with('<') && find_ignoring_case(start, 0, "<top>").is_some() {
        (TopicFormat::Trec, trec(&text, &[]).ok()?)
    } else if start.starts_with('<') && find_ignoring_case(start, 0, "<topic").is_some() {
        (TopicFormat::Xml, xml(&text, &[]).ok()?)
    } else if start.starts_with(['<', '{'])
        || text.chars().any(|c| c.is_control() && !c.is_whitespace() && c != '\u{7f}')
    {
        return None;
    } else if lines().all(|line| line.split_once('\t').is_some_and(|(id, _)| !id.trim().is_empty())) {
        (TopicFormat::Tsv, topics(&mut split('\t')))
    } else if !lines().all(|line| line.split_once(':').is_some_and(|(before, _)| is_id(before))) {
        // Most lines are of another form.
        let most = |count: usize| 2 * count > lines().count();
        let tabs = lines().filter(|line| line.split_once('\t').is_some_and(|(id, _)| !id.trim().is_empty())).count();
        let colons = lines().filter(|line| line.split_once(':').is_some_and(|(id, _)| is_id(id))).count();
        if most(tabs) || most(colons) {
            return None;
        }
        let topic = |(line, number): (&str, u32)| Topic::new(number.to_string(), tidy(line));
        (TopicFormat::Lines, lines().zip(1..).map(topic).collect())
    } else if split(':').all(|(_, text)| priority(text)) {
        let rest = |(id, text)| (id, str::trim_start(text).split_once(':').map_or("", |(_, text)| text.trim_start()));
        (TopicFormat::Priority, topics(&mut split(':').map(rest)))
    } else {
        (TopicFormat::Colon, topics(&mut split(':')))
    };
    let different = topics.iter().map(|topic| &topic.id).collect::<HashSet<_>>().len() == topics.len();
    (!topics.is_empty() && different).then_some((format, topics))
}

/// Gives its bytes in pieces of these sizes, over and over.
struct Pieces<'a> {
    bytes: &'a [u8],
    sizes: std::iter::Cycle<std::iter::Copied<std::slice::Iter<'a, usize>>>,
}

impl<'a> Pieces<'a> {
    fn new(bytes: &'a [u8], sizes: &'a [usize]) -> Self {
        Self { bytes, sizes: sizes.iter().copied().cycle() }
    }
}

impl Read for Pieces<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let size = self.sizes.next().unwrap_or(1).min(out.len()).min(self.bytes.len());
        let (now, later) = self.bytes.split_at(size);
        out[..size].copy_from_slice(now);
        self.bytes = later;
        Ok(size)
    }
}

fn streamed(source: impl Read + Send, head: usize) -> Option<(TopicFormat, Vec<Topic>)> {
    let reader = TopicReader::with_head(source, head, &[]).ok()?;
    Some((reader.format(), reader.collect::<Result<_>>().ok()?))
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(bytes).unwrap();
    gzip.finish().unwrap()
}

/// Parts of files of every form.
fn parts() -> impl Strategy<Value = Vec<u8>> {
    let known: Vec<&[u8]> = vec![
        b"1\ta b\n",
        b"# c\n",
        b"2\tc\r\n",
        b"\xa0\t\n",
        b"3:x\n",
        b"4:y z\r\n",
        b"5:1:p\n",
        b"6: 2: q\n",
        b"plain words\n",
        b"\n",
        b" \r\n",
        b"caf\xe9\n",
        b"<top><num>1</num><title>oil\n</top>",
        b"<topic number='7'><query>a</query></topic>\n",
        b"<DOC>",
        b"\xff\xfe",
        b"\xef\xbb\xbf",
        b"\xfe\xff\0a\0\n",
        b"\xe2\x80\xa8",
        b"\x7f",
        b"{",
        b"\t",
        b":",
    ];
    let part = prop_oneof![4 => proptest::sample::select(known).prop_map(<[u8]>::to_vec), 1 => any::<Vec<u8>>()];
    proptest::collection::vec(part, 0..12).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn test_a_stream_gives_the_topics_of_the_whole(
        bytes in parts(),
        sizes in proptest::collection::vec(1usize..9, 1..5),
    ) {
        let mut expected = whole(&bytes);
        if bytes.starts_with(&[0x1f, 0x8b]) {
            expected = None;
        }
        prop_assert_eq!(&streamed(Pieces::new(&bytes, &sizes), usize::MAX), &expected);
        let packed = gzip(&bytes);
        prop_assert_eq!(streamed(Pieces::new(&packed, &sizes), usize::MAX), whole(&bytes));
    }

    /// A short head decides as the whole file does if all of its lines are alike, and otherwise a line is refused.
    #[test]
    fn test_a_short_head_decides(lines in 1usize..40, form in 0usize..5, head in 1usize..100, sizes in proptest::collection::vec(1usize..9, 1..5)) {
        let line = |i: usize| match form {
            0 => format!("{i}\tword {i}\n"),
            1 => format!("{i}:word {i}\n"),
            2 => format!("{i}:1:word {i}\r\n"),
            3 => format!("{{\"id\": {i}, \"query\": \"word {i}\"}}\n"),
            _ => format!("word {i}\n"),
        };
        let text: String = (0..lines).map(line).collect();
        let all = streamed(Pieces::new(text.as_bytes(), &sizes), usize::MAX).unwrap();
        prop_assert_eq!(all.1.len(), lines);
        prop_assert_eq!(streamed(Pieces::new(text.as_bytes(), &sizes), head).unwrap(), all);
        let bad = format!("{text}no such form\n");
        let refused = |head: usize| TopicReader::with_head(bad.as_bytes(), head, &[]).and_then(Iterator::collect::<Result<Vec<_>>>).err();
        let number = format!("line {} of", lines + 1);
        for head in [head, usize::MAX] {
            let refused = refused(head).map(|error| error.to_string());
            // a line beside one other line may be a query, and so may both
            let bare = form == 4 || (lines == 1 && form < 3 && head > text.len());
            prop_assert_eq!(refused.is_some_and(|error| error.contains(&number)), !bare);
        }
        if form < 4 {
            let twice = parse_topics(text.repeat(2).as_bytes()).unwrap_err().to_string();
            prop_assert!(twice.contains("of an earlier one"), "{}", twice);
        }
    }

    #[test]
    fn test_lines_are_those_of_the_bytes(bytes: Vec<u8>, sizes in proptest::collection::vec(1usize..9, 1..5)) {
        prop_assume!(!bytes.starts_with(&[0x1f, 0x8b]) && encoding_rs::Encoding::for_bom(&bytes).is_none());
        let (mut lines, mut text) = (Lines::new(Pieces::new(&bytes, &sizes)).unwrap(), String::new());
        while lines.append_to(&mut text).unwrap() {}
        let count = bytes.split_inclusive(|&byte| byte == b'\n').count() as u64;
        prop_assert_eq!(lines.number(), count);
        prop_assert!(text.chars().filter(|&c| c == '\n').count() == bytes.iter().filter(|&&byte| byte == b'\n').count());
    }
}

#[test]
fn test_gzip_that_is_cut_is_refused_and_not_cut() {
    let text: String = (0..3000).map(|i| format!("{i}\tword {}\n", i * 7919)).collect();
    let bytes = gzip(text.as_bytes());
    assert_eq!(parse_topics(&bytes).unwrap().1.len(), 3000);
    for cut in [9, 100, bytes.len() / 2] {
        let error = parse_topics(&bytes[..bytes.len() - cut]).unwrap_err().to_string();
        assert!(error.contains("does not unpack"), "{error}");
    }
}

#[test]
fn test_files_that_are_no_topics_are_refused() {
    let text = b"701\tbread\n702\tlamp\n703\n704\ttide\n";
    let zstd = zstd::encode_all(&b"701\tbread\n702\tlamp\n"[..], 1).unwrap();
    assert_eq!(parse_topics(&zstd).unwrap().1.len(), 2);
    // as `pzstd` writes it: a frame to pass over, and then one of content
    let pzstd = [&b"\x50\x2a\x4d\x18\x04\0\0\0abcd"[..], &zstd].concat();
    assert_eq!(parse_topics(&pzstd).unwrap().1.len(), 2);
    let cases: [(&[u8], &str); 7] = [
        (text, "line 3 of the file of topics: is no \"id, tab, text\""),
        (b"1:a\n2:b\n\n1:c\n", "topic 3 of the file of topics: has the id \"1\" of an earlier one"),
        (b"1\ta\n1\tb\n", "topic 2 of the file of topics: has the id \"1\""),
        (b"q 1\ta\nq_1\tb\n", "has the id \"q_1\""),
        (b"WARC/1.0\r\nWARC-Type: warcinfo\r\n", "begins a crawl"),
        (b"[\n  {\"id\": 1, \"query\": \"a\"}\n]\n", "begins a JSON array"),
        (b"PK\x03\x04\n", "has bytes that no text has"),
    ];
    for (bytes, why) in cases {
        let error = parse_topics(bytes).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
    let error = parse_topics(b"{\"id\": {\"a\": 1}, \"query\": \"x\"}\n").unwrap_err().to_string();
    assert!(error.contains("its \"id\" is no text and no number"), "{error}");
    let long = "{\"id\": 123456789012345678901234, \"query\": \"x\"}\n";
    let error = parse_topics(long.as_bytes()).unwrap_err().to_string();
    assert!(error.contains("write it as a text"), "{error}");
    // One of two lines may look like another form.
    assert_eq!(parse_topics(b"3:10 to yuma\nmiami white pages\n").unwrap().0, TopicFormat::Lines);
}

#[test]
fn test_comments_before_tags() {
    let (format, topics) =
        parse_topics(b"# a licence\n\n# of two lines\n<top>\n<num> Number: 7\n<title> tides\n</top>\n").unwrap();
    assert_eq!((format, topics), (TopicFormat::Trec, vec![Topic::new("7".to_owned(), "tides".to_owned())]));
    // without tags they are what somebody looks for
    assert_eq!(parse_topics(b"#1\ttides\n<3\tmoon\n").unwrap().1.len(), 2);
    assert_eq!(parse_topics(b"#tides\n#moon\n").unwrap().1.len(), 2);
}

#[test]
fn test_fields_of_topics() {
    let fields = |names: &str| -> Vec<String> { names.split(',').map(str::to_owned).collect() };
    let text = |file: &str, names: &str| {
        let topics =
            TopicReader::with_fields(file.as_bytes(), &fields(names)).and_then(Iterator::collect::<Result<Vec<_>>>);
        topics.map(|topics| topics.into_iter().map(|topic| topic.text).collect::<Vec<_>>())
    };
    let top = "<top>\n<num> Number: 301\n<title> Oil &amp; gas\n\n<desc> Description:\nWho drills\nit?\n\n<narr> Narrative:\n\
               A document says it.\n</top>\n<top>\n<num> Number: 302\n<title> Tides\n</top>\n";
    assert_eq!(text(top, "title").unwrap(), ["Oil & gas", "Tides"]);
    assert_eq!(text(top, "desc").unwrap(), ["Who drills it?", ""]);
    assert_eq!(text(top, "title,description,narr").unwrap(), ["Oil & gas Who drills it? A document says it.", "Tides"]);
    let covid = "<topics><topic number=\"1\"><query>origin</query><question>where from</question></topic></topics>";
    assert_eq!(text(covid, "question,title").unwrap(), ["where from origin"]);
    let error = text(top, "foo,bar").unwrap_err().to_string();
    assert!(error.contains("no topic with a field foo, bar; its elements are top, num, title, desc, narr"), "{error}");
    assert!(text("1\ta\n", "title").unwrap_err().to_string().contains("has no tags"));
    // ids in elements, as CLEF and others have them; all topics have one, or none
    let ids = |file: &str| parse_topics(file.as_bytes()).map(|(_, topics)| topics.into_iter().map(|topic| topic.id));
    let clef = "<topics><topic><identifier>10.2452/451-AH</identifier><title>tides</title></topic>\
                <topic lang=\"en\"><num> Number: C&amp;142 </num><title>oil</title></topic></topics>";
    assert!(ids(clef).unwrap().eq(["10.2452/451-AH", "C&142"]));
    assert!(ids("<topics><topic>tides</topic><topic><query>oil</query></topic></topics>").unwrap().eq(["1", "2"]));
    for file in [
        "<topics><topic number=\"7\">tides</topic><topic><query>oil</query></topic></topics>",
        "<top>\n<num> 7\n<title> tides\n</top>\n<top>\n<title> oil\n</top>\n",
    ] {
        let error = ids(file).err().unwrap().to_string();
        assert!(error.contains("has topics with ids, and topic 2 of it has none"), "{error}");
    }
}

#[test]
fn test_tags_have_attributes_and_text_is_as_people_write_it() {
    let topics = |file: &str| -> Vec<(String, String)> {
        let (_, topics) = parse_topics(file.as_bytes()).unwrap();
        topics.into_iter().map(|topic| (topic.id, topic.text)).collect()
    };
    let is = |file: &str, expected: &[(&str, &str)]| {
        let expected: Vec<_> = expected.iter().map(|&(id, text)| (id.to_owned(), text.to_owned())).collect();
        assert_eq!(topics(file), expected, "{file}");
    };
    let fire =
        "<topics>\n<TOP lang='de'>\n<num>76</num>\n<title lang=\"de\">Öl\n</top>\n<top>\n<num>77\n<title>Gas\n</top>";
    is(fire, &[("76", "Öl"), ("77", "Gas")]);
    // numbers of TREC's ad hoc topics and of its judgements; other ids stay
    is("<top>\n<num> Number: 051\n<title> oil\n</top>", &[("51", "oil")]);
    is(
        "<top>\n<num> C041\n<title> oil\n</top>\n<top>\n<num> 000\n<title> tides\n</top>",
        &[("C041", "oil"), ("000", "tides")],
    );
    is("<topic number='007'><query>oil</query></topic>", &[("007", "oil")]);
    is(
        "<top><num>1<title> R&D &amp; AT&T caf&eacute; &quot;x&quot; &nosuch; & y</top>",
        &[("1", "R&D & AT&T café \"x\" &nosuch; & y")],
    );
    is(
        "<topics><topic number='1'><query><![CDATA[oil <b> R&D &amp;]]> gas</query></topic></topics>",
        &[("1", "oil <b> R&D &amp; gas")],
    );
    is("<top><num>1<title><![CDATA[oil", &[("1", "oil")]);
}

#[test]
fn test_ids_of_json_lines() {
    let ids = |file: &str| -> Result<Vec<String>> {
        TopicReader::new(file.as_bytes())?.map(|topic| topic.map(|topic| topic.id)).collect()
    };
    let line = |name: &str| format!("{{\"{name}\": \"7\", \"query\": \"x\"}}\n");
    for name in ["id", "_id", "qid", "query_id", "topic_id", "number"] {
        assert_eq!(ids(&line(name)).unwrap(), ["7"], "{name}");
    }
    let none = "{\"query\": \"y\"}\n";
    assert_eq!(ids(&none.repeat(2)).unwrap(), ["1", "2"]);
    for (file, why) in [
        (line("qid") + none, "line 2 of the file of topics: has no id, and those before it have one"),
        (
            none.to_owned() + "\n" + &line("id"),
            "line 3 of the file of topics: has an id, and those before it have none",
        ),
    ] {
        let error = ids(&file).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
}

#[test]
fn test_json_lines_stream() {
    let text = "{\"query\": \"a  b\"}\n\n{\"terms\": {\"x\": 2}}\r\n{\"query\": \"c\"}\n{\"quer";
    for head in [1, 30, usize::MAX] {
        let topics: Vec<_> = TopicReader::with_head(Pieces::new(text.as_bytes(), &[3]), head, &[]).unwrap().collect();
        let ids: Vec<_> = topics.iter().flatten().map(|topic| topic.id.as_str()).collect();
        assert_eq!(ids, ["1", "2", "3"]);
        assert!(topics[3].as_ref().is_err_and(|error| error.to_string().contains("line 5 ")), "{:?}", topics[3]);
    }
}

#[test]
fn test_a_term_may_come_twice() {
    let topics = TopicReader::new(&br#"{"terms": {"y": 1, "x": 1, "\u0078": 5.5}}"#[..]).unwrap();
    let terms: Vec<_> = topics.map(|topic| topic.unwrap().terms).collect();
    assert_eq!(terms, [[("x".to_owned(), 1.0), ("x".to_owned(), 5.5), ("y".to_owned(), 1.0)]]);
    for (line, error) in [
        (r#"{"terms": {"x": 1, "y": "2"}}"#, "the weight of \"y\" is no number"),
        (r#"{"terms": [1]}"#, "no object of terms"),
        (r#"{"terms": {"x": 1}, "terms": {"y": 1}}"#, "duplicate field"),
    ] {
        let found = TopicReader::new(line.as_bytes()).and_then(Iterator::collect::<Result<Vec<_>>>).unwrap_err();
        assert!(found.to_string().contains(error), "{found}");
    }
}

#[test]
fn test_queries_without_words_are_named() {
    let line = |n: u32| {
        let mut empty = WithoutWords::default();
        (0..n).for_each(|_| empty.add("q"));
        empty.line()
    };
    assert_eq!((line(0), line(1).as_deref()), (None, Some("1 query has no words: q")));
    assert_eq!(line(2).as_deref(), Some("2 queries have no words: q, q"));
    assert!(line(10).is_some_and(|line| line.ends_with(", q")));
    assert!(line(12).is_some_and(|line| line.starts_with("12 ") && line.ends_with(", q and 2 more")));
}

/// Analyzers that cut by UAX #29 find words with a narrow no-break space in documents.
#[test]
fn test_a_narrow_no_break_space_is_part_of_a_word() {
    assert_eq!(tidy(" Bonjour\u{202f}!  10\u{202f}000\u{a0}mots\t"), "Bonjour\u{202f}! 10\u{202f}000 mots");
    let parts = crate::query::weights::parts("10\u{202f}000^2 mots\u{3000}ici").unwrap();
    assert_eq!(parts, [("10\u{202f}000".to_owned(), 2.0), ("mots ici".to_owned(), 1.0)]);
}
