//! An index with deleted documents against one that never had them: every method on every engine, to the bit.

use super::methods::{all_methods, refuses};
use super::*;
use crate::base::means::Means;
use crate::gpu::testing::gpu;
use crate::index::change::delete::{Delete, Done, Which, delete};
use crate::index::verify;
use crate::order::Permutation;
use crate::query::engine::{Engine, EngineKind, Fallback, Methods, Names};
use crate::query::gpu::Options;
use std::collections::BTreeMap;
use std::path::Path;

/// Marks documents of an index at once.
fn mark(target: &Path, ids: impl Iterator<Item = usize>) -> u64 {
    let which = Which { ids: ids.map(|id| id.to_string()).collect(), patterns: Vec::new() };
    let change = Delete { which: &which, purge: false, output: None, order: None, means: Means::new(2, 1 << 30) };
    delete(target, &change).unwrap().documents
}

fn built(target: &Path, texts: &[(String, &String)], codecs: &str) {
    let texts: Vec<Text<'_>> = texts.iter().map(|(id, text)| (id.as_str(), "", "", text.as_str())).collect();
    let codecs = crate::codec::parse_list(codecs).unwrap();
    build(target, &texts, &BuildPlan { batch: 100, codecs, tables: Some(1), ..BuildPlan::default() }).unwrap();
}

/// Ids and bits of scores.
fn named(index: &Index, hits: &[Hit]) -> Vec<(String, u32)> {
    hits.iter().map(|hit| (index.name(hit.doc).unwrap().id, hit.score.to_bits())).collect()
}

/// Two indexes: with documents deleted in two steps, and without them from the start. `moved` puts the first one into
/// another order before.
fn both(texts: &[String], gone: impl Fn(usize) -> bool, codecs: &str, moved: bool, test: impl FnOnce(&Index, &Index)) {
    let dir = tempfile::tempdir().unwrap();
    let [less, never] = ["less", "never"].map(|name| dir.path().join(name));
    let all: Vec<(String, &String)> = texts.iter().enumerate().map(|(i, text)| (i.to_string(), text)).collect();
    let left: Vec<_> = all.iter().enumerate().filter(|(i, _)| !gone(*i)).map(|(_, text)| text.clone()).collect();
    built(&less, &all, codecs);
    built(&never, &left, codecs);
    if moved {
        let count = texts.len() as u32;
        let step = (0..count).map(|doc| (u64::from(doc) * 7919 % u64::from(count)) as u32).collect::<Vec<_>>();
        let mut seen = step.clone();
        seen.sort_unstable();
        seen.dedup();
        if seen.len() == step.len() {
            reordered(&less, &Permutation::new(step));
        }
    }
    let half = texts.len() / 2;
    let marked = mark(&less, (0..half).filter(|&i| gone(i))) + mark(&less, (0..texts.len()).filter(|&i| gone(i)));
    assert_eq!(marked as usize, texts.len() - left.len(), "those of the first step are not counted again");
    assert!(verify(&less).unwrap().problems.is_empty());
    let [less, never] = [less, never].map(|path| Index::open(&path).unwrap());
    let of = |index: &Index| {
        let all = index.collection();
        (all.documents, all.tokens, all.terms, index.norm(0.9, 0.4))
    };
    assert_eq!(of(&less), of(&never));
    test(&less, &never);
}

fn dfs(index: &Index) -> BTreeMap<String, u32> {
    let mut dfs = BTreeMap::new();
    index
        .each_term(|term, id| {
            let df = index.living_df(id, &index.term(id).unwrap());
            if df > 0 {
                dfs.insert(String::from_utf8(term.to_vec()).unwrap(), df);
            }
            true
        })
        .unwrap();
    dfs
}

fn check(less: &Index, never: &Index, text: &str, k: usize, bm25: Bm25, codec: &str) {
    let [left, right] = [less, never].map(|index| Searcher::new(index, Some(codec), bm25).unwrap());
    let Ok(query) = left.parse_weighted(text) else { return };
    let plans = [&left, &right].map(|searcher| searcher.plan(&query).unwrap());
    assert_eq!((plans[0].missing, plans[0].unit), (plans[1].missing, plans[1].unit), "{text}");
    for mode in [Mode::And, Mode::Or, Mode::AndOr] {
        let expected = named(never, &right.search(&plans[1], mode, k).unwrap());
        for (methods, name) in all_methods() {
            if plans[0].has_negative() && refuses(&left, &plans[0], &methods) {
                continue;
            }
            let found = named(less, &left.search_with(&plans[0], mode, k, &methods).unwrap());
            assert_eq!(found, expected, "{mode:?} {text} by {name}, k = {k}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn test_deleted_documents_never_were(
        texts in collection(),
        queries in proptest::collection::vec(r"[a-d]|[a-z]( [a-i]){0,5}|a a b|a\^-2 b c", 1..6),
        gone in proptest::collection::vec(any::<bool>(), 1..40),
        few in any::<bool>(),
        moved in any::<bool>(),
        k in prop_oneof![1usize..12, Just(100_000)],
        bm25 in prop_oneof![
            3 => Just(Bm25::default()),
            1 => (0f32..5.0, 0f32..=1.0).prop_map(|(k1, b)| Bm25 { k1, b }),
            1 => Just(Bm25 { k1: 1000.0, b: 1.0 }),
        ],
    ) {
        let gone = |i: usize| gone[i % gone.len()] && (!few || i.is_multiple_of(3));
        both(&texts, gone, "vbyte,para-ef", moved, |less, never| {
            assert_eq!(dfs(less), dfs(never));
            for (text, codec) in queries.iter().zip(["vbyte", "para-ef"].into_iter().cycle()) {
                check(less, never, text, k, bm25, codec);
            }
        });
    }
}

/// Most of the best documents are deleted, so that an engine has to be asked again and again.
fn spam() -> Vec<String> {
    let text = |i: usize| {
        let spam = if i.is_multiple_of(4) { "" } else { "spam spam spam spam" };
        format!("all {spam} w{} w{} w{} rare{}", i % 2, i % 7, i % 100, i / 30)
    };
    (0..3000).map(text).collect()
}

#[test]
fn test_deleted_documents_at_the_top() {
    for moved in [false, true] {
        both(
            &spam(),
            |i| i % 4 != 0 && i > 40,
            "simdbp",
            moved,
            |less, never| {
                for text in ["spam", "spam all", "spam w3 w1", "rare7", "rare3 w1", "nothing spam"] {
                    for k in [1, 10, 700, 5000] {
                        check(less, never, text, k, Bm25::default(), "simdbp");
                    }
                }
            },
        );
    }
}

/// Tables were made with the mean length of all documents: they still serve, unless other parameters are far from
/// theirs.
#[test]
fn test_stored_tables_serve_an_index_with_deleted_documents() {
    both(
        &spam(),
        |i| i % 4 != 0 && i % 5 == 1,
        "simdbp",
        false,
        |less, never| {
            assert_ne!(less.norm(0.9, 0.4), less.default_norm(), "another mean length");
            for (bm25, stored) in
                [(Bm25::default(), true), (Bm25 { k1: 0.92, b: 0.41 }, true), (Bm25 { k1: 3.0, b: 0.9 }, false)]
            {
                for index in [less, never] {
                    let searcher = Searcher::new(index, None, bm25).unwrap();
                    let plan = searcher.plan(&searcher.parse("spam w3 w1 all").unwrap()).unwrap();
                    let (hits, work) = searcher.explain(&plan, Mode::Or, 7, &CpuMethods::default()).unwrap();
                    assert_eq!(hits.len(), 7);
                    let found = work.terms.iter().all(|term| term.table == TableOf::Index);
                    assert_eq!(found, stored, "{bm25:?}: {work:?}");
                }
            }
        },
    );
}

#[test]
fn test_engines_with_a_device_leave_deleted_documents_out() {
    let Some(gpu) = gpu() else { return };
    both(
        &spam(),
        |i| i % 4 != 0 && i > 40,
        "simdbp",
        true,
        |less, never| {
            let [left, right] = [less, never].map(|index| Searcher::new(index, None, Bm25::default()).unwrap());
            let texts = ["spam", "spam all", "all w3 w1", "rare7 spam", "rare3 w1 all", "w5 w99", "nothing all"];
            let plans = [&left, &right].map(|searcher| {
                let plan = |text: &&str| searcher.plan(&searcher.parse(text).unwrap()).unwrap();
                texts.iter().map(plan).collect::<Vec<Plan>>()
            });
            let of = |intersect: Option<&str>, or: Option<&str>| Names {
                intersect: intersect.map(str::to_owned),
                or: or.map(str::to_owned),
                ..Names::default()
            };
            let mut engines: Vec<(&str, Fallback<'_>)> = Vec::new();
            for (name, names) in [("ranges", of(None, None)), ("lists", of(Some("merge-path"), Some("accumulators")))] {
                let methods = Methods::chosen(EngineKind::Gpu, Mode::AndOr, &names).unwrap();
                let failed = Box::new(|error: &crate::Error| panic!("{error}"));
                let gpus = std::slice::from_ref(&gpu);
                let engine = Fallback::on_gpu(&left, &methods, Mode::AndOr, gpus, Options::default(), failed).unwrap();
                engines.push((name, engine));
            }
            let methods = Methods::chosen(EngineKind::Griffin, Mode::And, &of(Some("svs,merge-path"), None)).unwrap();
            let failed = Box::new(|error: &crate::Error| panic!("{error}"));
            engines.push(("griffin", Fallback::on_both(&left, &methods, &gpu, Options::default(), failed).unwrap()));
            for mode in [Mode::And, Mode::Or, Mode::AndOr] {
                for k in [1, 10, 300, 5000] {
                    let expected: Vec<_> =
                        plans[1].iter().map(|plan| named(never, &right.search(plan, mode, k).unwrap())).collect();
                    for (name, engine) in &mut engines {
                        let answers = engine.search_all(&plans[0], mode, k, &Default::default()).unwrap();
                        let found: Vec<_> = answers.hits.iter().map(|hits| named(less, hits)).collect();
                        assert_eq!(found, expected, "{mode:?}, k = {k}, {name}");
                    }
                }
            }
        },
    );
}

#[test]
fn test_impacts_are_refused_and_ids_are_gone() {
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("index");
    let texts = [("a", "", "", "x x"), ("b", "", "", "x y"), ("a", "", "", "z")];
    build(&target, &texts, &BuildPlan { impacts: Some(1), ..BuildPlan::default() }).unwrap();
    let which = Which { ids: vec!["b".to_owned(), "no".to_owned()], patterns: vec!["id=b*".parse().unwrap()] };
    let change = Delete { which: &which, purge: false, output: None, order: None, means: Means::new(1, 1 << 30) };
    let little = Delete { means: Means::new(1, 1 << 20), ..change };
    assert!(matches!(delete(&target, &little), Err(crate::Error::Memory { needed, .. }) if needed > 1 << 20));
    let change = Delete { means: Means::new(1, 1 << 30), ..little };
    let done = delete(&target, &change).unwrap();
    assert!(matches!(done.done, Done::Marked(marked) if marked.documents == 2 && marked.terms == 2));
    assert_eq!((done.documents, done.unknown), (1, vec!["no".to_owned()]));
    let again = delete(&target, &change).unwrap();
    assert!(matches!(again.done, Done::Nothing) && again.before == 1);
    let index = Index::open(&target).unwrap();
    assert_eq!((index.find_id("a").unwrap(), index.find_id("b").unwrap()), (vec![0, 2], vec![]));
    assert_eq!(index.scan_for_id("b").unwrap(), [0u32; 0]);
    // one by one, and so many that all ids are read
    for others in [0, 200] {
        let ids: Vec<String> =
            ["a", "b"].map(str::to_owned).into_iter().chain((0..others).map(|n| n.to_string())).collect();
        assert_eq!(index.find_ids(&ids).unwrap()[..2], [vec![0, 2], vec![]], "{others} others");
    }
    let searcher = Searcher::new(&index, None, Bm25::default()).unwrap();
    assert!(searcher.lookup("y").unwrap().is_none() && searcher.lookup("x").unwrap().is_some());
    let error = searcher.with_scores(Scores::Impacts).err().unwrap().to_string();
    assert!(error.contains("has 1 deleted documents") && error.contains("--purge"), "{error}");
    // a file that says something else than it marks
    let path = target.join("deleted.bin");
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[64] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let problems = verify(&target).unwrap().problems;
    assert!(problems.iter().any(|problem| problem.to_string().contains("not those of the documents")), "{problems:?}");
}
