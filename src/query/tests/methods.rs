//! Every method, in every combination that could matter, against plain sums.

use super::*;
use crate::query::and::AND;
use crate::query::method::EngineKind;
use crate::query::or::OR;
use crate::query::topk::TOPK;

/// Every way to run a query once: each OR method and each intersector, with each top-k.
pub(super) fn all_methods() -> impl Iterator<Item = (CpuMethods, String)> {
    let intersectors: Vec<_> = AND.on(EngineKind::Cpu).collect();
    let ors: Vec<_> = OR.on(EngineKind::Cpu).collect();
    TOPK.on(EngineKind::Cpu).flat_map(move |topk| {
        let (intersectors, ors) = (intersectors.clone(), ors.clone());
        (0..ors.len().max(intersectors.len())).map(move |i| {
            let or = ors[i % ors.len()];
            let intersect = intersectors[i % intersectors.len()];
            let name = format!("{} {} {}", or.name, intersect.name, topk.name);
            (CpuMethods { or, intersect, topk }, name)
        })
    })
}

/// Checks every method on one query.
pub(super) fn check(searcher: &Searcher<'_>, oracle: &Oracle, text: &str, bm25: Bm25, k: usize) {
    // weights of a term may add up to nothing
    let Ok(query) = searcher.parse_weighted(text) else { return };
    let plan = searcher.plan(&query).unwrap();
    let and = exhaustive(oracle, &query, bm25, true, k);
    let or = exhaustive(oracle, &query, bm25, false, k);
    for (methods, name) in all_methods() {
        if plan.has_negative() && refuses(searcher, &plan, &methods) {
            continue;
        }
        if name.ends_with("partial-sort") {
            // the second time round the tables of lists are in memory
            for mode in [Mode::And, Mode::Or] {
                searcher.prepare(&plan, mode, k).unwrap();
            }
        }
        let run = |mode| searcher.search_with(&plan, mode, k, &methods).unwrap();
        assert_eq!(run(Mode::And), and, "and {text} by {name}, k = {k}");
        assert_eq!(run(Mode::Or), or, "or {text} by {name}, k = {k}");
        let both = if and.len() >= k { &and } else { &or };
        assert_eq!(&run(Mode::AndOr), both, "and-or {text} by {name}, k = {k}");
    }
}

/// Whether methods are refused for a plan with negative weights: if one of them skips by bounds.
pub(super) fn refuses(searcher: &Searcher<'_>, plan: &Plan, methods: &CpuMethods) -> bool {
    let skip = ["maxscore", "wand", "block-max-wand", "block-max-maxscore", "daat"];
    let names = [(Mode::And, methods.intersect.name, "ranked-and"), (Mode::Or, methods.or.name, "exhaustive")];
    let mut any = false;
    for (mode, name, other) in names {
        let reached = mode == Mode::Or || plan.missing == 0;
        if skip.contains(&name) && reached && !plan.terms.is_empty() {
            let error = searcher.search_with(plan, mode, 5, methods).unwrap_err().to_string();
            assert!(error.contains(name) && error.contains("negative") && error.contains(other), "{error}");
        }
        any |= skip.contains(&name);
    }
    any
}

pub(super) fn with_index(texts: &[String], codecs: &str, test: impl FnOnce(&Index, &Oracle)) {
    with_index_and(texts, codecs, None, test);
}

/// As [`with_index`], with stored tables if there are threads to make them on.
fn with_index_and(texts: &[String], codecs: &str, tables: Option<usize>, test: impl FnOnce(&Index, &Oracle)) {
    let texts: Vec<Text<'_>> = texts.iter().map(|text| ("id", "", "", text.as_str())).collect();
    let oracle = Oracle::new(texts.iter().map(|text| text.3));
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("index");
    let codecs = crate::codec::parse_list(codecs).unwrap();
    build(&target, &texts, &BuildPlan { batch: 100, codecs, tables, ..BuildPlan::default() }).unwrap();
    test(&Index::open(&target).unwrap(), &oracle);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn test_methods_agree_on_random_collections(
        texts in collection(),
        queries in proptest::collection::vec("[a-d]|[a-z]( [a-i]){0,5}|a a b|([a-i]\\^-?[1-9][0-9]?(\\.[0-9]{1,4})? ?){1,5}", 1..6),
        k in prop_oneof![1usize..12, Just(100_000)],
        bm25 in prop_oneof![
            3 => Just(Bm25::default()),
            1 => (0f32..5.0, 0f32..=1.0).prop_map(|(k1, b)| Bm25 { k1, b }),
            1 => Just(Bm25 { k1: 0.0, b: 0.0 }),
        ],
        tables in prop_oneof![Just(None), Just(Some(1))],
    ) {
        with_index_and(&texts, "simdbp,para-ef", tables, |index, oracle| {
            for codec in ["simdbp", "para-ef"] {
                let searcher = Searcher::new(index, Some(codec), bm25).unwrap();
                for text in &queries {
                    check(&searcher, oracle, text, bm25, k);
                }
            }
        });
    }
}

/// Terms of every shape over 1,500 documents: in all, in none together, at the edges of blocks, once, and equal to each
/// other, so that almost all scores are ties.
#[test]
fn test_methods_agree_on_adversarial_collections() {
    let texts: Vec<String> = (0..1500u32)
        .map(|doc| {
            let mut text = "all same".to_owned();
            let mut add = |word: &str, has: bool| {
                if has {
                    text.push(' ');
                    text.push_str(word);
                }
            };
            add("even", doc % 2 == 0);
            add("odd", doc % 2 == 1);
            add("front", doc < 700);
            add("back", doc >= 700);
            add("edge", matches!(doc % 128, 0 | 127));
            add("first", doc == 0);
            add("last", doc == 1499);
            add("heavy heavy heavy heavy heavy", doc == 900);
            add("seven", doc % 7 == 0);
            add("long long long", doc % 300 == 17);
            text
        })
        .collect();
    let test = |index: &Index, oracle: &Oracle| {
        let bm25 = Bm25::default();
        for codec in ["vbyte", "simdbp"] {
            let searcher = Searcher::new(index, Some(codec), bm25).unwrap();
            for query in [
                "all",
                "all same",
                "even odd",
                "front back",
                "first last",
                "first all",
                "last all edge",
                "heavy all same",
                "heavy",
                "edge seven even",
                "long heavy seven edge",
                "all all all odd",
                "nothing all",
                "first first",
                "odd back seven edge all same even front long heavy first last",
            ] {
                for k in [1, 2, 10, 128, 1500, 5000] {
                    check(&searcher, oracle, query, bm25, k);
                }
            }
        }
    };
    [None, Some(2)].into_iter().for_each(|tables| with_index_and(&texts, "vbyte,simdbp", tables, test));
}

/// In every document order the same documents with the same scores, and of equal scores the one that came earlier in
/// the input: by every method, with and without tables, in memory and in the index.
#[test]
fn test_ties_go_by_the_input_in_every_order() {
    let texts: Vec<String> = (0..1500u32)
        .map(|doc| {
            let word = |word: &'static str, has: bool| if has { word } else { "" };
            format!(
                "all {} {} {}",
                word("even", doc % 2 == 0),
                word("third", doc % 3 == 0),
                word("rare", doc % 200 == 9)
            )
        })
        .collect();
    let texts: Vec<Text<'_>> = texts.iter().map(|text| ("id", "", "", text.as_str())).collect();
    let dir = tempfile::tempdir().unwrap();
    let [straight, moved] = ["straight", "moved"].map(|name| {
        let tables = (name == "moved").then_some(2);
        build(&dir.path().join(name), &texts, &BuildPlan { tables, ..BuildPlan::default() }).unwrap();
        dir.path().join(name)
    });
    reordered(&moved, &crate::order::Permutation::random(1500, 5));
    let (straight, moved) = (Index::open(&straight).unwrap(), Index::open(&moved).unwrap());
    let places = moved.input_places().unwrap();
    let searchers = [&straight, &moved].map(|index| Searcher::new(index, None, Bm25::default()).unwrap());
    for text in ["all", "all even", "third even", "rare third all", "rare"] {
        let plans = searchers.each_ref().map(|searcher| searcher.plan(&searcher.parse(text).unwrap()).unwrap());
        for (k, mode) in [1, 10, 100, 900].into_iter().flat_map(|k| [(k, Mode::And), (k, Mode::Or), (k, Mode::AndOr)]) {
            let expected = searchers[0].search(&plans[0], mode, k).unwrap();
            for (methods, name) in all_methods() {
                if name.ends_with("partial-sort") {
                    searchers[1].prepare(&plans[1], mode, k).unwrap();
                }
                let mut found = searchers[1].search_with(&plans[1], mode, k, &methods).unwrap();
                found.iter_mut().for_each(|hit| hit.doc = places[hit.doc as usize]);
                assert_eq!(found, expected, "{text} {mode:?} by {name}, k = {k}");
            }
        }
    }
}

/// So many documents that the best ranges come before the others, with ties all over.
#[test]
fn test_methods_agree_on_many_documents() {
    let texts: Vec<String> = (0..20_000u32)
        .map(|doc| {
            let mut random = doc.wrapping_mul(2_654_435_761) >> 8;
            let mut text = String::new();
            for (word, one_in) in [("a", 2), ("b", 3), ("c", 9), ("d", 40), ("e", 300), ("f", 4000)] {
                if random % one_in == 0 {
                    // Few documents have a word more than once, and those far from the first ones.
                    let times = 1 + if doc % 1009 == 1000 { doc / 7000 } else { 0 };
                    (0..times).for_each(|_| text.extend([word, " "]));
                }
                random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223) >> 3;
            }
            // Two rare words that are together often.
            for (word, has) in [("g ", doc % 210 == 7), ("h ", doc % 105 == 7)] {
                (0..if has { 1 + doc / 105 % 5 } else { 0 }).for_each(|_| text.push_str(word));
            }
            text + if doc % 5 == 0 { "x y z" } else { "" }
        })
        .collect();
    let test = |index: &Index, _: &Oracle| {
        let searcher = Searcher::new(index, None, Bm25::default()).unwrap();
        let plain = CpuMethods {
            or: OR.find("exhaustive").unwrap(),
            intersect: AND.find("merge").unwrap(),
            topk: &crate::query::topk::PARTIAL_SORT,
        };
        for text in [
            "a b",
            "b c d",
            "a e",
            "d e a b",
            "f a b",
            "a f e d c",
            "c x",
            "x y",
            "b b d",
            "h a g",
            "b g h a",
            "g c h",
            "h b g",
        ] {
            let plan = searcher.plan(&searcher.parse(text).unwrap()).unwrap();
            for (k, mode) in [1, 10, 100].into_iter().flat_map(|k| [(k, Mode::And), (k, Mode::Or)]) {
                let expected = searcher.search_with(&plan, mode, k, &plain).unwrap();
                for topk in [&crate::query::topk::HEAP, plain.topk] {
                    let methods = CpuMethods { topk, ..CpuMethods::default() };
                    let found = searcher.search_with(&plan, mode, k, &methods).unwrap();
                    assert_eq!(found, expected, "{mode:?} {text}, k = {k}, {}", topk.name);
                }
            }
        }
    };
    [None, Some(2)].into_iter().for_each(|tables| with_index_and(&texts, "simdbp", tables, test));
}

#[test]
fn test_many_terms() {
    // 10,000 distinct terms; the index has a tenth of them.
    let texts: Vec<String> = (0..40u32)
        .map(|doc| {
            (0..25).map(|i| format!("w{}", (doc * 25 + i) * 10)).chain(["all".to_owned()]).collect::<Vec<_>>().join(" ")
        })
        .collect();
    with_index(&texts, "simdbp", |index, oracle| {
        let searcher = Searcher::new(index, None, Bm25::default()).unwrap();
        let text: Vec<String> = (0..10_000).map(|i| format!("w{i}")).collect();
        let query = searcher.parse(&text.join(" ")).unwrap();
        assert_eq!(query.terms.len(), 10_000);
        let plan = searcher.plan(&query).unwrap();
        assert_eq!((plan.terms.len(), plan.missing), (1000, 9000));
        let expected = exhaustive(oracle, &query, Bm25::default(), false, 10);
        for (methods, name) in all_methods() {
            let found = searcher.search_with(&plan, Mode::Or, 10, &methods).unwrap();
            assert_eq!(found, expected, "{name}");
            assert!(searcher.search_with(&plan, Mode::And, 10, &methods).unwrap().is_empty(), "{name}");
        }
    });
}

/// Scores below, of and above 0: every document that matches is a hit, and the order is that of the sums.
#[test]
fn test_negative_weights() {
    let texts = ["a", "a b", "b", "a b b b", "c", "b c", "a c c"].map(str::to_owned);
    with_index(&texts, "simdbp", |index, oracle| {
        let bm25 = Bm25::default();
        let searcher = Searcher::new(index, None, bm25).unwrap();
        for text in ["a b^-1", "b^-2.5", "a^-1 b^-1 c^0.001", "b^-1 a^3 nothing^-2", "a a^-0.5 b", "c^1000 b^-0.001"] {
            for k in [1, 3, 100] {
                check(&searcher, oracle, text, bm25, k);
            }
        }
        let best = |text| {
            let plan = searcher.plan(&searcher.parse_weighted(text).unwrap()).unwrap();
            searcher.search(&plan, Mode::Or, 10).unwrap()
        };
        let hits = best("b^-1");
        assert_eq!(
            hits.iter().map(|hit| hit.doc).collect::<Vec<_>>(),
            [1, 5, 2, 3],
            "the least taken away is the best"
        );
        assert!(hits.iter().all(|hit| hit.score < 0.0), "{hits:?}");
        let both = best("b");
        let opposite: Vec<f32> = both.iter().rev().map(|hit| -hit.score).collect();
        assert_eq!(hits.iter().map(|hit| hit.score).collect::<Vec<_>>(), opposite);
        assert!(searcher.parse_weighted("a a^-1").is_err(), "adds up to nothing");
    });
}

#[test]
fn test_work_is_counted() {
    let texts: Vec<String> =
        (0..1000).map(|doc| if doc % 500 == 3 { "common rare" } else { "common" }.to_owned()).collect();
    with_index(&texts, "simdbp", |index, _| {
        let searcher = Searcher::new(index, None, Bm25::default()).unwrap();
        let plan = searcher.plan(&searcher.parse("rare common").unwrap()).unwrap();
        for (methods, name) in all_methods() {
            if name.ends_with("partial-sort") {
                searcher.prepare(&plan, Mode::And, 10).unwrap();
            }
            let (hits, work) = searcher.explain(&plan, Mode::And, 10, &methods).unwrap();
            assert_eq!(hits.len(), 2, "{name}");
            assert_eq!(work.pushed, 2, "{name}");
            assert_eq!((work.terms[0].blocks, work.terms[1].blocks), (1, 8), "{name}");
            assert_eq!((work.terms[0].scored, work.terms[1].scored), (2, 2), "{name}");
            let right = match methods.intersect.name {
                "merge" => work.terms[1].decoded > 2,
                // A table says where the documents are.
                "ranges" => work.terms[1].decoded == if name.ends_with("partial-sort") { 0 } else { 2 },
                _ => work.terms[1].decoded == 2,
            };
            assert!(right, "{name}: {work:?}");
            let (_, work) = searcher.explain(&plan, Mode::Or, 0, &methods).unwrap();
            assert_eq!(work, Work { terms: vec![TermWork::default(); 2], pushed: 0 });
        }
        let exhaustive = CpuMethods { or: OR.find("exhaustive").unwrap(), ..CpuMethods::default() };
        let (_, work) = searcher.explain(&plan, Mode::Or, 10, &exhaustive).unwrap();
        assert_eq!((work.terms[0].scored, work.terms[1].scored, work.pushed), (2, 1000, 1000));
        assert_eq!(work.terms[1].decoded, 8);
    });
}

#[test]
fn test_names() {
    for method in OR.rows {
        assert_eq!(OR.find(method.name).unwrap().name, method.name);
        assert_eq!(OR.find(method.short).unwrap().name, method.name);
    }
    let error = OR.find("bmx").err().unwrap().to_string();
    assert!(error.contains("exhaustive, maxscore, wand, block-max-wand, block-max-maxscore"), "{error}");
}

/// A single query reads blocks. Queries that come back to a list make a table of it once they have read it twice over,
/// and then read no block of it any more.
#[test]
fn test_tables_are_made_once_they_pay() {
    let texts: Vec<String> =
        (0..1000).map(|doc| if doc % 50 == 3 { "common rare" } else { "common" }.to_owned()).collect();
    with_index(&texts, "simdbp", |index, _| {
        let searcher = Searcher::new(index, None, Bm25::default()).unwrap();
        let plan = searcher.plan(&searcher.parse("rare common").unwrap()).unwrap();
        let run = |mode| searcher.explain(&plan, mode, 10, &CpuMethods::default()).unwrap();
        let (mut read, mut queries) = (0, 0);
        let hits = run(Mode::Or).0;
        while queries < 100 {
            let (again, work) = run(Mode::Or);
            assert_eq!(again, hits);
            if work.terms[1].decoded == 0 {
                break;
            }
            read += 128 * work.terms[1].decoded + work.terms[1].scored;
            queries += 1;
        }
        assert!(read > 0 && queries < 100, "{queries} queries read {read}");
        assert!(read < 2 * (2 * 1000 + 1000 / 16), "{queries} queries read {read} before there was a table");
        // conjunctions have use for it, too
        assert_eq!(run(Mode::And).1.terms[1].decoded, 0);
    });
}

/// Of the parameters that they are made for: from the first query on, and no block of docIDs is decoded.
#[test]
fn test_stored_tables_serve_the_first_query() {
    let texts: Vec<String> =
        (0..1000).map(|doc| if doc % 50 == 3 { "common rare" } else { "common" }.to_owned()).collect();
    with_index_and(&texts, "simdbp", Some(2), |index, _| {
        let run = |bm25: Bm25, mode| {
            let searcher = Searcher::new(index, None, bm25).unwrap();
            let plan = searcher.plan(&searcher.parse("rare common").unwrap()).unwrap();
            let (_, work) = searcher.explain(&plan, mode, 10, &CpuMethods::default()).unwrap();
            (work.terms.iter().map(|term| term.decoded).sum::<u64>(), work.terms[1].table)
        };
        for mode in [Mode::And, Mode::Or] {
            assert_eq!(run(Bm25::default(), mode), (0, TableOf::Index));
            let (decoded, table) = run(Bm25 { k1: 1.2, b: 0.75 }, mode);
            assert!(decoded > 0 && table == TableOf::None);
        }
    });
}

/// The best documents of each term lack the other one, so that its thresholds are above every score of a document with
/// both.
#[test]
fn test_what_one_term_reaches_says_nothing_of_documents_with_all() {
    let texts: Vec<String> = (0..120)
        .map(|doc| match doc % 8 {
            0..3 => "x ".repeat(4 + doc % 5),
            3..6 => "y ".repeat(5 + doc % 3),
            _ => format!("x y {}", "filler ".repeat(60 + doc)),
        })
        .collect();
    let texts: Vec<Text<'_>> = texts.iter().map(|text| ("id", "", "", text.as_str())).collect();
    let oracle = Oracle::new(texts.iter().map(|text| text.3));
    let dir = tempfile::tempdir().unwrap();
    build(&dir.path().join("index"), &texts, &BuildPlan::default()).unwrap();
    let index = Index::open(&dir.path().join("index")).unwrap();
    let searcher = Searcher::new(&index, None, Bm25::default()).unwrap();
    for k in [1, 9, 10, 11, 30, 100] {
        for text in ["x y", "x", "x y filler", "y^3 x"] {
            check(&searcher, &oracle, text, Bm25::default(), k);
        }
    }
}

/// Each block of the list is better than the one before it, so that who learns what is good enough on the way reads
/// all.
#[test]
fn test_who_skips_blocks_knows_from_the_first_one_what_is_good_enough() {
    const BLOCK: usize = crate::postings::tf::BLOCK;
    let text = |block: usize| format!("{}{}", "x ".repeat(1 + block), "filler ".repeat(15 - block));
    let texts: Vec<String> = (0..8 * BLOCK).map(|doc| text(doc / BLOCK)).collect();
    with_index_and(&texts, "simdbp", None, |index, _| {
        let searcher = Searcher::new(index, None, Bm25::default()).unwrap();
        let plan = searcher.plan(&searcher.parse("x").unwrap()).unwrap();
        let scored = |or, k| {
            let methods = CpuMethods { or: OR.find(or).unwrap(), ..CpuMethods::default() };
            searcher.explain(&plan, Mode::Or, k, &methods).unwrap().1.terms[0].scored as usize
        };
        for skips in ["ranges", "block-max-maxscore", "block-max-wand"] {
            assert!(scored(skips, 10) <= BLOCK, "{skips} scored {} postings", scored(skips, 10));
        }
        assert_eq!(scored("exhaustive", 10), texts.len());
    });
}
