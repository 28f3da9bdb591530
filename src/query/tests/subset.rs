//! Searches within some documents are searches of all, less the others; and given documents have the scores that a
//! search finds.

use super::methods::{all_methods, refuses};
use super::*;
use std::sync::Arc;

/// Every method within a subset against the whole ranking, filtered. Returns how many searches found something.
fn check(index: &Index, bm25: Bm25, scores: Scores, texts: &[String], docs: &[u32], k: usize) -> usize {
    let whole = || Searcher::new(index, None, bm25).unwrap().with_scores(scores).unwrap();
    let (all, subset) = (whole(), Subset::new(docs.to_vec()));
    let within = whole().only(Arc::new(subset.clone()));
    let mut found = 0;
    for text in texts {
        let Ok(query) = all.parse_weighted(text) else { continue };
        let Ok(plan) = all.plan(&query) else { continue };
        let plain = CpuMethods { or: crate::query::or::OR.find("exhaustive").unwrap(), ..CpuMethods::default() };
        let ranking = |mode| all.search_with(&plan, mode, 100_000, &plain).unwrap();
        let some = |mut hits: Vec<Hit>| {
            hits.retain(|hit| docs.contains(&hit.doc));
            hits.truncate(k);
            hits
        };
        let (ors, ands) = (ranking(Mode::Or), ranking(Mode::And));
        let [or, and] = [&ors, &ands].map(|hits| some(hits.clone()));
        found += or.len();
        for (methods, name) in all_methods() {
            if plan.has_negative() && refuses(&all, &plan, &methods) {
                continue;
            }
            let run = |mode| within.search_with(&plan, mode, k, &methods).unwrap();
            assert_eq!(run(Mode::Or), or, "or {text} by {name}, k = {k}, {} documents", docs.len());
            assert_eq!(run(Mode::And), and, "and {text} by {name}, k = {k}, {} documents", docs.len());
            let both = if and.len() >= k { &and } else { &or };
            assert_eq!(&run(Mode::AndOr), both, "and-or {text} by {name}, k = {k}");
        }
        let score = |doc: u32| ors.iter().find(|hit| hit.doc == doc).map_or(0.0, |hit| hit.score);
        let expected: Vec<u32> = subset.docs().iter().map(|&doc| score(doc).to_bits()).collect();
        let scores: Vec<u32> = all.score(&plan, subset.docs()).unwrap().into_iter().map(f32::to_bits).collect();
        assert_eq!(scores, expected, "{text}");
    }
    found
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn test_subsets_are_filtered_rankings(
        texts in collection(),
        queries in proptest::collection::vec("[a-d]|[a-z]( [a-i]){0,5}|a a b|[a-d] [e-i]\\^-0.5 a", 1..5),
        share in prop_oneof![Just(1u32), Just(2), Just(10), Just(100)],
        seed: u32,
        k in prop_oneof![1usize..12, Just(100_000)],
        tables in prop_oneof![Just(None), Just(Some(1))],
        moved: bool,
    ) {
        let given: Vec<Text<'_>> = texts.iter().map(|text| ("id", "", "", text.as_str())).collect();
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("index");
        build(&target, &given, &BuildPlan { batch: 100, tables, impacts: Some(1), ..BuildPlan::default() }).unwrap();
        if moved {
            let reversed: Vec<u32> = (0..texts.len() as u32).rev().collect();
            let permutation = crate::order::Permutation::from_old_of_new(&reversed);
            reordered(&target, &permutation);
        }
        let index = Index::open(&target).unwrap();
        let chosen = |doc: &u32| doc.wrapping_mul(0x9e37_79b1).wrapping_add(seed).rotate_left(11) % share == 0;
        let docs: Vec<u32> = (0..texts.len() as u32).filter(chosen).collect();
        check(&index, Bm25::default(), Scores::Bm25, &queries, &docs, k);
        check(&index, Bm25 { k1: 1.7, b: 0.9 }, Scores::Bm25, &queries, &docs, k);
        check(&index, Bm25::default(), Scores::Impacts, &queries, &docs, k);
    }
}

/// Long lists, tables in memory, and documents that would have been the threshold: those outside of the subset.
#[test]
fn test_the_best_documents_are_outside() {
    let text =
        |doc: usize| format!("{} w{} x{}", "top ".repeat(if doc.is_multiple_of(3) { 9 } else { 1 }), doc % 7, doc % 40);
    let texts: Vec<String> = (0..4000).map(text).collect();
    let given: Vec<Text<'_>> = texts.iter().map(|text| ("id", "", "", text.as_str())).collect();
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("index");
    build(&target, &given, &BuildPlan { tables: Some(1), ..BuildPlan::default() }).unwrap();
    let index = Index::open(&target).unwrap();
    let queries: Vec<String> = ["top w1", "top", "top w1 w2 x3", "x3 x4"].map(str::to_owned).to_vec();
    let mut found = 0;
    for docs in
        [(0..4000).filter(|doc| doc % 3 != 0).collect::<Vec<u32>>(), vec![1, 43, 3999], (2000..2300).collect(), vec![]]
    {
        for k in [1, 10, 1000] {
            found += check(&index, Bm25::default(), Scores::Bm25, &queries, &docs, k);
        }
    }
    assert!(found > 1000);
}

#[test]
fn test_sets() {
    let subset = Subset::new(vec![200, 3, 3, 64, 0]);
    assert_eq!(subset.docs(), [0, 3, 64, 200]);
    let has: Vec<u32> = (0..1000).filter(|&doc| subset.has(doc)).collect();
    assert_eq!(has, subset.docs());
    assert!(!Subset::default().has(0) && !subset.has(u32::MAX));
}

/// Few ids by `ids.bin`, many by reading all: the same documents, all of an id that several have.
#[test]
fn test_ids() {
    let ids: Vec<String> = (0..500).map(|doc| format!("d{}", doc % 400)).collect();
    let given: Vec<Text<'_>> = ids.iter().map(|id| (id.as_str(), "", "", "word")).collect();
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("index");
    build(&target, &given, &BuildPlan::default()).unwrap();
    let index = Index::open(&target).unwrap();
    let asked: Vec<String> = ["d7", "no", "d399", "d7", ""].map(str::to_owned).to_vec();
    let expected = vec![vec![7, 407], vec![], vec![399], vec![7, 407], vec![]];
    assert_eq!(index.find_ids(&asked).unwrap(), expected);
    let more: Vec<String> = asked.iter().cloned().chain((0..200).map(|i| format!("x{i}"))).collect();
    assert_eq!(index.find_ids(&more).unwrap()[..5], expected);
    let (subset, unknown) = Subset::of_ids(&index, &asked).unwrap();
    assert_eq!((subset.docs(), unknown), (&[7, 399, 407][..], vec!["no", ""]));
}
