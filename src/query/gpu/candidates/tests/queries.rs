//! Conjunctions to an index, against the CPU.

use super::names;
use crate::gpu::Gpu;
use crate::gpu::testing::gpu;
use crate::index::Index;
use crate::index::tests::{Plan as BuildPlan, Text, build};
use crate::query::engine::{Answers, Effort, Engine as _, GpuMethods, Queries};
use crate::query::gpu::candidates::recipe;
use crate::query::gpu::{GpuEngine, Options, Report};
use crate::query::method::EngineKind;
use crate::query::topk::{BUCKET_SELECT, GROUP_HEAP, HEAP, HISTOGRAM, PARTIAL_SORT, RADIX_SORT, TOPK, TopKMethod};
use crate::query::{Bm25, Hit, Mode, Plan, Scores, Searcher};

/// Terms of every shape over 2,500 documents, with frequencies that are all one, small, and large.
fn index(codecs: &str) -> (tempfile::TempDir, Index) {
    let texts: Vec<String> = (0..2500u32)
        .map(|doc| {
            let mut text = "all".to_owned();
            let mut add = |word: &str, times: u32| (0..times).for_each(|_| text.push_str(&format!(" {word}")));
            add("even", u32::from(doc % 2 == 0));
            add("often", 1 + doc * 7 % 5);
            add("third", if doc % 3 == 0 { 1 + doc % 40 } else { 0 });
            add("front", u32::from(doc < 700));
            add("back", u32::from(doc >= 700));
            add("edge", u32::from(matches!(doc % 128, 0 | 127)));
            add("first", u32::from(doc == 0));
            add("last", u32::from(doc == 2499));
            add("seldom", if doc % 300 == 17 { 300 } else { 0 });
            text
        })
        .collect();
    let texts: Vec<Text<'_>> = texts.iter().map(|text| ("id", "", "", text.as_str())).collect();
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("index");
    let codecs = crate::codec::parse_list(codecs).unwrap();
    build(&target, &texts, &BuildPlan { batch: 100, codecs, impacts: Some(2), ..BuildPlan::default() }).unwrap();
    let index = Index::open(&target).unwrap();
    (dir, index)
}

const QUERIES: &[&str] = &[
    "all",
    "often",
    "first",
    "all often",
    "often third even",
    "third third often",
    "front back",
    "edge all third",
    "seldom often all",
    "last back all even",
    "last all back",
    "first third",
    "nothing all",
    "",
    "seldom",
    "all even often third front",
    "even first",
    "third",
    "front edge",
];

fn plans(searcher: &Searcher<'_>) -> Vec<Plan> {
    QUERIES.iter().map(|text| searcher.plan(&searcher.parse(text).unwrap()).unwrap()).collect()
}

/// What answers conjunctions by an intersector.
fn by<'a>(
    searcher: &'a Searcher<'a>,
    gpu: &Gpu,
    options: Options,
    topk: &'static TopKMethod,
    name: &str,
) -> crate::Result<GpuEngine<'a>> {
    let methods = GpuMethods { intersect: Some(name.to_owned()), topk, ..GpuMethods::default() };
    GpuEngine::new(searcher, gpu, options, methods, Mode::And)
}

/// Queries in batches of these sizes.
fn in_batches(engine: &mut GpuEngine<'_>, plans: &[Plan], sizes: &[usize], k: usize) -> (Vec<Vec<Hit>>, Report) {
    match engine.and(&Queries { plans, sizes, k }).unwrap() {
        Answers { hits, effort: Effort::Gpu(report) } => (hits, report),
        Answers { .. } => panic!("the CPU answered"),
    }
}

/// All queries in one batch.
fn search(engine: &mut GpuEngine<'_>, plans: &[Plan], k: usize) -> Vec<Vec<Hit>> {
    in_batches(engine, plans, &[plans.len()], k).0
}

#[test]
fn test_queries_agree_with_the_cpu() {
    let Some(gpu) = gpu() else { return };
    let (_dir, index) = index("simdbp,para-ef,lrc,hs-lrc");
    for codec in ["simdbp", "para-ef", "lrc", "hs-lrc"] {
        let searcher = Searcher::new(&index, Some(codec), Bm25::default()).unwrap();
        let plans = plans(&searcher);
        // fewer workgroups than there is work for
        let workgroups = codec.contains("lrc").then_some(3);
        let options = Options { preload: codec != "lrc", timed: true, workgroups, ..Options::default() };
        let mut engine = by(&searcher, &gpu, options, &HISTOGRAM, "gpu-binary").unwrap();
        for name in names() {
            if recipe(name, searcher.codec().codec()).is_err() {
                continue;
            }
            engine.set_intersector(name).unwrap();
            for k in [1, 10, 5000] {
                let (hits, report) = in_batches(&mut engine, &plans, &[plans.len()], k);
                assert_eq!(report.by_cpu, 0, "{name} over {codec}");
                assert!(!gpu.timestamps() || report.passes.iter().any(|(pass, _)| *pass == "expand"));
                for ((text, hits), plan) in QUERIES.iter().zip(&hits).zip(&plans) {
                    let expected = searcher.search(plan, Mode::And, k).unwrap();
                    assert_eq!(hits, &expected, "{text} by {name} over {codec}, k = {k}");
                }
            }
            // one by one, as a batch each
            let alone = search(&mut engine, &plans[4..5], 10);
            let together = search(&mut engine, &plans, 10);
            assert_eq!(alone[0], together[4]);
            // in batches of given sizes, and what these leave over
            let (hits, report) = in_batches(&mut engine, &plans, &[1, 0, 5, 2], 10);
            assert!(hits == together && report.batches == 4, "{name} over {codec}: {} batches", report.batches);
        }
        assert!(search(&mut engine, &plans, 0).iter().all(Vec::is_empty));
    }
}

/// Conjunctions by an intersector, disjunctions by ranges, in turn, over the same lists, which are brought once.
#[test]
fn test_both_ways_share_the_lists() {
    let Some(gpu) = gpu() else { return };
    let (_dir, index) = index("simdbp");
    let searcher = Searcher::new(&index, Some("simdbp"), Bm25::default()).unwrap();
    let plans = plans(&searcher);
    let mut engine = by(&searcher, &gpu, Options::default(), &HISTOGRAM, "hs").unwrap();
    let mut misses = Vec::new();
    for round in 0..2 {
        for mode in [Mode::And, Mode::Or] {
            let asked = Queries { plans: &plans, sizes: &[7, 7, 7], k: 10 };
            let Answers { hits, effort } = engine.search(&asked, mode).unwrap();
            assert!(matches!(effort, Effort::Gpu(Report { batches: 3, .. })), "{mode:?}: {effort:?}");
            for ((text, hits), plan) in QUERIES.iter().zip(&hits).zip(&plans) {
                let expected = searcher.search(plan, mode, 10).unwrap();
                assert_eq!(hits, &expected, "{text}, {mode:?}, round {round}");
            }
            misses.push(engine.residence().misses);
        }
    }
    assert_eq!(misses, [8; 4], "each list of more than one posting is brought once");
}

/// By a histogram the host is sent little more than it needs; every other method chooses the same of all results.
#[test]
fn test_the_best_are_chosen_on_the_device() {
    let Some(gpu) = gpu() else { return };
    let (_dir, index) = index("simdbp");
    let plain = || Searcher::new(&index, Some("simdbp"), Bm25::default()).unwrap();
    for scores in [Scores::Bm25, Scores::Impacts] {
        let searcher = plain().with_scores(scores).unwrap();
        let plans = plans(&searcher);
        for topk in [&PARTIAL_SORT, &GROUP_HEAP, &BUCKET_SELECT, &RADIX_SORT] {
            for name in ["gpu-binary", "wu", "merge-path"] {
                let options = Options { preload: true, ..Options::default() };
                let mut by_host = by(&searcher, &gpu, options, &HISTOGRAM, name).unwrap();
                let mut by_device = by(&searcher, &gpu, options, topk, name).unwrap();
                for k in [1, 2, 10, 500, 5000] {
                    let expected = search(&mut by_host, &plans, k);
                    assert_eq!(search(&mut by_device, &plans, k), expected, "{name}, {}, k = {k}", topk.name);
                    // from a batch of many to one of few, and back
                    assert_eq!(search(&mut by_device, &plans[3..5], k), expected[3..5]);
                }
            }
        }
    }
    let heap = by(&plain(), &gpu, Options::default(), &HEAP, "hs").err();
    assert!(heap.unwrap().to_string().contains("partial-sort"));
}

/// Intersectors take negative weights, by every method for the top k; ranges and accumulators leave them to the CPU.
#[test]
fn test_negative_weights() {
    let Some(gpu) = gpu() else { return };
    let (_dir, index) = index("simdbp,raw");
    let texts =
        ["often third^-1", "often^-2 third^-0.5 even", "all^-1", "even^-3 often all", "first^-1 often", "third"];
    for (codec, scores) in [("simdbp", Scores::Bm25), ("raw", Scores::Bm25), ("simdbp", Scores::Impacts)] {
        let searcher = Searcher::new(&index, Some(codec), Bm25::default()).unwrap().with_scores(scores).unwrap();
        let whole = scores == Scores::Bm25;
        let texts = texts.iter().filter(|text| whole || !text.contains('.'));
        let plan = |text| searcher.plan(&searcher.parse_weighted(text).unwrap()).unwrap();
        let plans: Vec<Plan> = texts.map(|text| plan(text)).collect();
        for topk in TOPK.on(EngineKind::Gpu) {
            let mut engine = by(&searcher, &gpu, Options::default(), topk, "gpu-binary").unwrap();
            for name in ["gpu-binary", "pmf", "wu", "merge-path"] {
                engine.set_intersector(name).unwrap();
                for k in [1, 10, 5000] {
                    let (hits, report) = in_batches(&mut engine, &plans, &[plans.len()], k);
                    assert_eq!(report.by_cpu, 0, "{name} over {codec}");
                    for (plan, hits) in plans.iter().zip(&hits) {
                        let expected = searcher.search(plan, Mode::And, k).unwrap();
                        assert_eq!(hits, &expected, "{name} over {codec}, {}, k = {k}", topk.name);
                    }
                }
            }
            for (mode, negative) in [(Mode::Or, plans.len() - 1), (Mode::And, 0)] {
                let asked = Queries { plans: &plans, sizes: &[plans.len()], k: 10 };
                let Answers { hits, effort } = engine.search(&asked, mode).unwrap();
                assert!(matches!(effort, Effort::Gpu(Report { by_cpu, .. }) if by_cpu == negative), "{effort:?}");
                for (plan, hits) in plans.iter().zip(&hits) {
                    assert_eq!(hits, &searcher.search(plan, mode, 10).unwrap());
                }
            }
        }
    }
}

#[test]
fn test_little_memory_makes_batches_and_the_cpu_helps() {
    let Some(gpu) = gpu() else { return };
    let (_dir, index) = index("raw");
    let searcher = Searcher::new(&index, Some("raw"), Bm25::default()).unwrap();
    let plans = plans(&searcher);
    // of which lists have two thirds
    let options = |words: u64| Options { memory: Some(6 * words), ..Options::default() };
    let mut whole = by(&searcher, &gpu, Options::default(), &HISTOGRAM, "hs").unwrap();
    let (expected, report) = in_batches(&mut whole, &plans, &[plans.len()], 5000);
    assert_eq!((report.batches, report.by_cpu), (1, 0));
    // "all" has 2,500 words and never finds room, "even" and "third" do one after the other
    let mut little = by(&searcher, &gpu, options(2048), &HISTOGRAM, "hs").unwrap();
    let (found, report) = in_batches(&mut little, &plans, &[plans.len()], 5000);
    assert_eq!(found, expected);
    assert!(report.batches > 1 && report.by_cpu > 0, "{report:?}");
    let error = by(&searcher, &gpu, Options { preload: true, ..options(2048) }, &HISTOGRAM, "hs").err();
    assert!(error.unwrap().to_string().contains("no room for all lists"));
}

#[test]
fn test_a_lost_device_is_an_error() {
    let Some(gpu) = gpu() else { return };
    let (_dir, index) = index("simdbp");
    let searcher = Searcher::new(&index, Some("simdbp"), Bm25::default()).unwrap();
    let plans = plans(&searcher);
    let mut engine = by(&searcher, &gpu, Options::default(), &HISTOGRAM, "pmf").unwrap();
    search(&mut engine, &plans, 10);
    gpu.destroy();
    let lost = engine.and(&Queries { plans: &plans, sizes: &[], k: 10 });
    assert!(matches!(lost, Err(crate::Error::Gpu(_))));
}
