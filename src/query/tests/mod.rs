//! Answers against plain sums.

mod deleted;
mod impacts;
mod methods;
mod reach;
mod subset;

use super::*;
use crate::index::Index;
use crate::index::tests::{Oracle, Plan as BuildPlan, Text, build, reordered};
use crate::score::{Norm, Scale, share};
use proptest::prelude::*;

/// Scores every document from the plain maps.
fn exhaustive(oracle: &Oracle, query: &Query, bm25: Bm25, all: bool, k: usize) -> Vec<Hit> {
    let n = oracle.lens.len() as f64;
    let tokens: u64 = oracle.lens.iter().map(|&len| u64::from(len)).sum();
    let norm = Norm::new(bm25.k1, bm25.b, oracle.lens.len() as u64, tokens);
    let weight = |term: &String, weight: f32| {
        let df = oracle.lists.get(term)?.len() as f64;
        Some(f64::from(weight.abs()) * (1.0 + (n - df + 0.5) / (df + 0.5)).ln())
    };
    let weights: Vec<f64> = query.terms.iter().filter_map(|(term, times)| weight(term, *times)).collect();
    let scale = Scale::new(&weights).unwrap();
    let mut hits = Vec::new();
    for (doc, &len) in (0u32..).zip(&oracle.lens) {
        let (mut score, mut found) = (0f32, 0);
        for (term, times) in &query.terms {
            let list = oracle.lists.get(term).map_or(&[][..], |list| &list[..]);
            if let Some(&(_, tf)) = list.iter().find(|posting| posting.0 == doc) {
                score += times.signum() * share(scale.weight(weight(term, *times).unwrap()), tf, norm.k(len));
                found += 1;
            }
        }
        if if all { found == query.terms.len() } else { found > 0 } {
            hits.push(Hit { doc, score: score * scale.unit() });
        }
    }
    hits.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.doc.cmp(&b.doc)));
    hits.truncate(k);
    hits
}

fn collection() -> impl Strategy<Value = Vec<String>> {
    // Words from common to rare, repeated, in documents of very different lengths.
    let word = prop_oneof![8 => "[a-c]", 4 => "[d-g]", 1 => "[h-z]", 2 => Just("a a a a".to_owned())];
    let short = proptest::collection::vec(word.clone(), 0..6);
    let long = proptest::collection::vec(word, 20..60);
    let text = prop_oneof![9 => short, 1 => long].prop_map(|words| words.join(" "));
    proptest::collection::vec(text, 1..600)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn test_all_modes_agree_with_adding_up(
        texts in collection(),
        queries in proptest::collection::vec("[a-d]|[a-z]( [a-i]){0,5}|a a b", 1..12),
        k in prop_oneof![1usize..12, Just(100_000)],
        bm25 in prop_oneof![
            3 => Just(Bm25::default()),
            1 => (0f32..5.0, 0f32..=1.0).prop_map(|(k1, b)| Bm25 { k1, b }),
            1 => Just(Bm25 { k1: 0.0, b: 0.0 }),
            1 => Just(Bm25 { k1: 1000.0, b: 1.0 }),
        ],
    ) {
        let texts: Vec<Text<'_>> = texts.iter().map(|text| ("id", "", "", text.as_str())).collect();
        let oracle = Oracle::new(texts.iter().map(|text| text.3));
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("index");
        build(&target, &texts, &BuildPlan { batch: 100, ..BuildPlan::default() }).unwrap();
        let index = Index::open(&target).unwrap();
        for codec in ["vbyte", "para-ef"] {
            let searcher = Searcher::new(&index, Some(codec), bm25).unwrap();
            for text in &queries {
                let query = searcher.parse(text).unwrap();
                let plan = searcher.plan(&query).unwrap();
                let and = exhaustive(&oracle, &query, bm25, true, k);
                let or = exhaustive(&oracle, &query, bm25, false, k);
                prop_assert_eq!(&searcher.search(&plan, Mode::And, k).unwrap(), &and, "and {}", text);
                prop_assert_eq!(&searcher.search(&plan, Mode::Or, k).unwrap(), &or, "or {}", text);
                let both = if and.len() >= k { and } else { or };
                prop_assert_eq!(&searcher.search(&plan, Mode::AndOr, k).unwrap(), &both, "and-or {}", text);
            }
        }
    }
}

fn small() -> (tempfile::TempDir, Index) {
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("index");
    let texts =
        [("0", "", "", "red apple"), ("1", "", "", "red"), ("2", "", "", "apple pie"), ("3", "", "", "red apple")];
    build(&target, &texts, &BuildPlan::default()).unwrap();
    let index = Index::open(&target).unwrap();
    (dir, index)
}

fn docs(index: &Index, text: &str, mode: Mode, k: usize) -> Vec<u32> {
    let searcher = Searcher::new(index, None, Bm25::default()).unwrap();
    let plan = searcher.plan(&searcher.parse(text).unwrap()).unwrap();
    searcher.search(&plan, mode, k).unwrap().iter().map(|hit| hit.doc).collect()
}

#[test]
fn test_modes_unknown_terms_and_ties() {
    let (_dir, index) = small();
    assert_eq!(docs(&index, "red apple", Mode::And, 10), [0, 3], "ties by docID");
    assert_eq!(docs(&index, "red apple", Mode::And, 1), [0]);
    assert_eq!(docs(&index, "apple nothing", Mode::And, 10), [0u32; 0], "an unknown term matches nothing");
    assert_eq!(docs(&index, "pie nothing", Mode::Or, 10), [2], "an unknown term is passed over");
    assert_eq!(docs(&index, "red apple", Mode::AndOr, 2), [0, 3], "enough with all terms");
    assert_eq!(docs(&index, "red apple", Mode::AndOr, 3).len(), 3, "filled up");
    assert_eq!(docs(&index, "pie nothing", Mode::AndOr, 1), [2]);
    assert_eq!(docs(&index, "", Mode::Or, 5), [0u32; 0]);
    assert_eq!(docs(&index, "red", Mode::Or, 0), [0u32; 0]);
}

#[test]
fn test_repeated_terms_weigh_by_their_count() {
    let (_dir, index) = small();
    let searcher = Searcher::new(&index, None, Bm25::default()).unwrap();
    let score = |text| {
        let plan = searcher.plan(&searcher.parse(text).unwrap()).unwrap();
        searcher.search(&plan, Mode::Or, 1).unwrap()[0].score
    };
    assert!((score("pie pie pie") - 3.0 * score("pie")).abs() < 1e-5);
    // One document of four has "pie"; it has the average length 7/4 times 8/7.
    let expected = (1.0f64 + 3.5 / 1.5).ln() / (1.0 + 0.9 * (0.6 + 0.4 * 8.0 / 7.0));
    assert!((f64::from(score("pie")) - expected).abs() < 1e-6);
}

#[test]
fn test_parameters_out_of_range_are_refused() {
    let (_dir, index) = small();
    for (k1, b) in [(-0.1, 0.4), (f32::NAN, 0.4), (f32::INFINITY, 0.4), (0.9, 1.1), (0.9, -0.1), (0.9, f32::NAN)] {
        assert!(matches!(Searcher::new(&index, None, Bm25 { k1, b }), Err(crate::Error::Invalid { .. })), "{k1} {b}");
    }
}

mod topics {
    use super::super::*;

    fn parsed(bytes: &[u8]) -> (TopicFormat, Vec<(String, String)>) {
        let (format, topics) = parse_topics(bytes).unwrap();
        (format, topics.into_iter().map(|topic| (topic.id, topic.text)).collect())
    }

    fn pairs(list: &[(&str, &str)]) -> Vec<(String, String)> {
        list.iter().map(|(id, text)| ((*id).to_owned(), (*text).to_owned())).collect()
    }

    #[test]
    fn test_terms_with_weights() {
        let lines = b"{\"id\": 7, \"terms\": {\"oil\": 2.5, \"gas\": 1}}\n{\"id\": 8, \"query\": \"oil\"}\n{\"id\": 3, \"terms\": {}}";
        let (format, topics) = parse_topics(lines).unwrap();
        assert_eq!(format, TopicFormat::Json);
        assert_eq!(topics[0].terms, [("gas".to_owned(), 1.0), ("oil".to_owned(), 2.5)]);
        assert_eq!((topics[0].id.as_str(), topics[0].text.as_str(), topics[1].terms.len()), ("7", "", 0));
        assert_eq!(topics[2].id, "3");
        for (bad, why) in [
            (&b"{\"terms\": [\"oil\"]}"[..], "no object"),
            (b"{\"terms\": {\"oil\": \"2\"}}", "the weight of \"oil\" is no number"),
            (b"{\"id\": 1}", "has no field \"query\""),
        ] {
            let error = parse_topics(bad).unwrap_err().to_string();
            assert!(error.contains("line 1") && error.contains(why), "{error}");
        }
    }

    #[test]
    fn test_formats_are_told_apart() {
        type Case<'a> = (TopicFormat, &'a [u8], &'a [(&'a str, &'a str)]);
        let cases: [Case<'_>; 16] = [
            (
                TopicFormat::Trec,
                b"<top>\n<num> Number: 701 \n<title> U.S. oil &amp;\n gas\n<desc> Description:\nx\n</top>\n<top><num>702<title>Topic: a < b</title></top>",
                &[("701", "U.S. oil & gas"), ("702", "a < b")],
            ),
            (TopicFormat::Trec, b"<?xml version='1.0'?>\n<xml>\n<TOP>\n<TITLE>\nwing\nflow .\n</TITLE></TOP>", &[("1", "wing flow .")]),
            (
                TopicFormat::Xml,
                b"<?xml version=\"1.0\"?><!DOCTYPE w [<!ELEMENT w (topic)*>]><w>\n<topic number=\"1\" type=\"faceted\">\n <query>obama family tree</query><description>d</description></topic></w>",
                &[("1", "obama family tree")],
            ),
            (
                TopicFormat::Xml,
                b"<topics task='c' batch=\"5\"><topic number='7'><query>a &lt; b</query></topic><topic id=\"8\">just text</topic></topics>",
                &[("7", "a < b"), ("8", "just text")],
            ),
            (TopicFormat::Json, b"{\"qid\": 1, \"query\": \"the\"}\n\n{\"_id\": 5, \"text\": \"x  y\"}\n", &[("1", "the"), ("5", "x y")]),
            (TopicFormat::Tsv, b"1048585\twhat is\tit\r\n2\t Androgen\r\n", &[("1048585", "what is it"), ("2", "Androgen")]),
            (TopicFormat::Colon, b"1:pierson s twin\n2:re: it\n", &[("1", "pierson s twin"), ("2", "re: it")]),
            (
                TopicFormat::Priority,
                b"20001:1:obama family tree\n20002:4:french lick: resort\n",
                &[("20001", "obama family tree"), ("20002", "french lick: resort")],
            ),
            (TopicFormat::Colon, b"1:1:a\n2:b\n", &[("1", "1:a"), ("2", "b")]),
            (TopicFormat::Colon, b"1:1984:a\n2:2001:b\n", &[("1", "1984:a"), ("2", "2001:b")]),
            (
                TopicFormat::Trec,
                b"<top>\n<num> Number: MB051 </num>\n<query> obama family </query>\n</top>\n<top><num>2</num></top>",
                &[("MB051", "obama family"), ("2", "")],
            ),
            (TopicFormat::Lines, b"1:a\nb\n", &[("1", "1:a"), ("2", "b")]),
            (TopicFormat::Lines, b"how to: cook\nc++\n\n \nlast", &[("1", "how to: cook"), ("2", "c++"), ("3", "last")]),
            (TopicFormat::Lines, b"caf\xe9 \x80\nna\xc3\xafve\n", &[("1", "café €"), ("2", "naïve")]),
            (TopicFormat::Lines, b"\xef\xbb\xbfx\xff\n", &[("1", "x\u{fffd}")]),
            (TopicFormat::Lines, b"\xff\xfea\0\n\0", &[("1", "a")]),
        ];
        for (format, bytes, expected) in cases {
            assert_eq!(parsed(bytes), (format, pairs(expected)), "{}", bytes.escape_ascii());
        }
    }

    #[test]
    fn test_gzip_is_undone() {
        use std::io::Write as _;
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(b"Q1\ta b\n").unwrap();
        let bytes = gzip.finish().unwrap();
        assert_eq!(parsed(&bytes), (TopicFormat::Tsv, pairs(&[("Q1", "a b")])));
        assert!(parse_topics(&bytes[..bytes.len() - 9]).is_err());
    }

    #[test]
    fn test_nothing_in_it_is_an_error() {
        for bytes in [&b""[..], b"\n \n", b"<topics></topics>", b"{\"a\": 1}", b"{", b"<top"] {
            assert!(parse_topics(bytes).is_err(), "{}", bytes.escape_ascii());
        }
    }

    #[test]
    fn test_unknown_markup_is_refused() {
        for bytes in [&b"<DOC>\n<DOCNO> 1 </DOCNO>\n\n What articles\n</DOC>\n"[..], b"\n<queries>", b"<"] {
            let error = parse_topics(bytes).unwrap_err().to_string();
            assert!(error.contains("no known form") && error.contains("\"<"), "{error}");
        }
    }

    proptest::proptest! {
        #[test]
        fn test_any_bytes_are_read(bytes: Vec<u8>, start in proptest::sample::select(vec!["", "<top>", "<topic", "{", "<topic a='"])) {
            let _ = parse_topics(&[start.as_bytes(), &bytes].concat());
        }
    }
}
