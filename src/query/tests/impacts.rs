//! Answers by impacts against sums of integers.

use super::methods::all_methods;
use super::*;
use crate::index::tests::impacts::expected;
use std::collections::BTreeMap;

/// Sums impacts of every document from the plain maps.
fn exhaustive(oracle: &Oracle, impacts: &BTreeMap<String, Vec<u8>>, query: &Query, all: bool, k: usize) -> Vec<Hit> {
    let mut sums: BTreeMap<u32, (i64, usize)> = BTreeMap::new();
    for (term, count) in &query.terms {
        let (Some(list), Some(impacts)) = (oracle.lists.get(term), impacts.get(term)) else { continue };
        for (&(doc, _), &impact) in list.iter().zip(impacts) {
            let sum = sums.entry(doc).or_default();
            *sum = (sum.0 + *count as i64 * i64::from(impact), sum.1 + 1);
        }
    }
    let found = sums.into_iter().filter(|(_, (_, terms))| !all || *terms == query.terms.len());
    let mut hits: Vec<(i64, u32)> = found.map(|(doc, (sum, _))| (sum, doc)).collect();
    hits.sort_by_key(|&(sum, doc)| (std::cmp::Reverse(sum), doc));
    hits.truncate(k);
    hits.into_iter().map(|(sum, doc)| Hit { doc, score: sum as f32 }).collect()
}

fn check(searcher: &Searcher<'_>, oracle: &Oracle, text: &str, k: usize) {
    let query = searcher.parse(text).unwrap();
    let plan = searcher.plan(&query).unwrap();
    let (impacts, _) = expected(oracle);
    let and = exhaustive(oracle, &impacts, &query, true, k);
    let or = exhaustive(oracle, &impacts, &query, false, k);
    for (methods, name) in all_methods() {
        let run = |mode| searcher.search_with(&plan, mode, k, &methods).unwrap();
        assert_eq!(run(Mode::And), and, "and {text} by {name}, k = {k}");
        assert_eq!(run(Mode::Or), or, "or {text} by {name}, k = {k}");
        let both = if and.len() >= k { &and } else { &or };
        assert_eq!(&run(Mode::AndOr), both, "and-or {text} by {name}, k = {k}");
    }
}

fn with_index(texts: &[String], impacts: Option<usize>, test: impl FnOnce(&Index, &Oracle)) {
    let texts: Vec<Text<'_>> = texts.iter().map(|text| ("id", "", "", text.as_str())).collect();
    let oracle = Oracle::new(texts.iter().map(|text| text.3));
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("index");
    let codecs = crate::codec::parse_list("simdbp,parapfor:segment=32").unwrap();
    build(&target, &texts, &BuildPlan { batch: 100, codecs, impacts, ..BuildPlan::default() }).unwrap();
    test(&Index::open(&target).unwrap(), &oracle);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn test_methods_agree_with_integer_sums(
        texts in collection(),
        queries in proptest::collection::vec("[a-d]|[a-z]( [a-i]){0,5}|a a b", 1..6),
        k in prop_oneof![1usize..12, Just(100_000)],
    ) {
        with_index(&texts, Some(2), |index, oracle| {
            for codec in ["simdbp", "parapfor"] {
                let searcher = Searcher::new(index, Some(codec), Bm25::default()).unwrap();
                let searcher = searcher.with_scores(Scores::Impacts).unwrap();
                for text in &queries {
                    check(&searcher, oracle, text, k);
                }
            }
        });
    }
}

/// Many documents of few different impacts: long lists, and ties at every threshold.
#[test]
fn test_ties_go_by_document() {
    let texts: Vec<String> = (0..2000u32)
        .map(|doc| {
            let has = |word: &str, has: bool| if has { format!(" {word}") } else { String::new() };
            let (third, seventh) = (has("third third", doc % 3 == 0), has("seventh", doc % 7 == 0));
            format!("all{third}{seventh}{}", has("rare rare rare", doc % 501 == 500))
        })
        .collect();
    with_index(&texts, Some(1), |index, oracle| {
        let searcher = Searcher::new(index, Some("simdbp"), Bm25::default()).unwrap();
        let searcher = searcher.with_scores(Scores::Impacts).unwrap();
        for query in
            ["all", "third all", "rare seventh all third", "seventh seventh seventh rare", "third seventh none"]
        {
            for k in [1, 10, 300, 5000] {
                check(&searcher, oracle, query, k);
            }
        }
    });
}

#[test]
fn test_what_impacts_cannot_do_is_refused() {
    let texts = ["a b c".to_owned(), "a a".to_owned()];
    let why = |index: &Index, bm25: Bm25| {
        let searcher = Searcher::new(index, None, bm25).unwrap();
        searcher.with_scores(Scores::Impacts).err().map(|error| error.to_string()).unwrap_or_default()
    };
    with_index(&texts, None, |index, _| assert!(why(index, Bm25::default()).contains("reencode DIR --impacts")));
    with_index(&texts, Some(1), |index, _| {
        assert!(why(index, Bm25 { k1: 1.2, ..Bm25::default() }).contains("k1 = 0.9 and b = 0.4"));
        let searcher = Searcher::new(index, None, Bm25::default()).unwrap().with_scores(Scores::Impacts).unwrap();
        // As many words as single precision keeps exact, and one more.
        let words = |count: u32| Query { terms: vec![("a".to_owned(), count as f32)] };
        let plan = searcher.plan(&words(65_793)).unwrap();
        let most = f32::from(*searcher.impacts().unwrap().list(&plan.terms[0].info).unwrap().iter().max().unwrap());
        assert_eq!(searcher.search(&plan, Mode::Or, 1).unwrap()[0].score, 65_793.0 * most);
        assert!(matches!(searcher.plan(&words(65_794)), Err(crate::Error::Limit { limit: 65_793, .. })));
        let half = Query { terms: vec![("a".to_owned(), 1.5)] };
        assert!(searcher.plan(&half).unwrap_err().to_string().contains("whole weights"));
        // Back to BM25, which has no such limits.
        let searcher = searcher.with_scores(Scores::Bm25).unwrap();
        assert!(searcher.impacts().is_none());
        assert!(searcher.plan(&words(65_794)).is_ok() && searcher.plan(&half).is_ok());
    });
}
