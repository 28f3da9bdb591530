//! Right answers, whatever the codec, the mode, k, the parameters, and the shape of queries and lists.

use super::*;
use crate::query::PlannedTerm;
use crate::query::gpu::engine::ALONE;
use crate::query::gpu::ranges::kernels::{Ranges, TILE};
use crate::query::gpu::ranges::{QUERY_TERMS, accumulators};
use crate::query::gpu::residence::NEVER;
use crate::query::method::EngineKind;
use crate::query::or::OR;
use crate::query::topk::TOPK;

const PRELOAD: Options = Options { preload: true, ..AT_ONCE };

#[test]
fn test_every_codec() {
    let Some(gpu) = gpu() else { return };
    let built = Built::new(&collection(3000), "all");
    let index = built.open();
    for (i, codec) in crate::codec::names().into_iter().enumerate() {
        let searcher = Searcher::new(&index, Some(codec), Bm25::default()).unwrap();
        let plans = plans(&searcher, &QUERIES);
        // lists that lie by range, and lists that are decoded
        let decoded = [1, NEVER].map(|by_range_at| {
            let options = Options { preload: i % 2 == 0, by_range_at: Some(by_range_at), ..PRELOAD };
            let mut engine = engine(&searcher, &gpu, options).unwrap();
            let report = check_batch(&mut engine, &plans, 10, codec);
            assert_eq!(report.by_cpu, 0, "{codec}");
            assert!(report.ranges.is_some_and(|work| work.evaluated > 0), "{codec}: {report:?}");
            report.decoded
        });
        assert!(decoded[0] < decoded[1] / 2, "{codec}: {decoded:?}");
    }
}

#[test]
fn test_every_k_and_one_query_at_a_time() {
    let Some(gpu) = gpu() else { return };
    let built = Built::new(&collection(3000), "simdbp");
    let index = built.open();
    let searcher = Searcher::new(&index, None, Bm25::default()).unwrap();
    let plans = plans(&searcher, &QUERIES);
    let mut engine = engine(&searcher, &gpu, PRELOAD).unwrap();
    for k in [1, 2, 10, 1000, 3000, 5000] {
        check_batch(&mut engine, &plans, k, "batch");
    }
    // one thread chooses the best of few hits, several those of many
    let chosen = |k| plans.iter().map(|plan| searcher.search(plan, Mode::Or, k).unwrap().len()).sum::<usize>();
    assert!(chosen(10) < ALONE && chosen(5000) > ALONE, "{} and {}", chosen(10), chosen(5000));
    for plan in &plans {
        // few ranges are evaluated without waves, whatever the k
        for k in [1, 10, 3000] {
            check_batch(&mut engine, std::slice::from_ref(plan), k, "alone");
        }
    }
    // a query alone leaves its counters clear for the next one, and a batch does not
    for pair in plans.chunks(2) {
        check_batch(&mut engine, pair, 10, "batch between");
        for plan in pair.iter().cycle().take(4) {
            check_batch(&mut engine, std::slice::from_ref(plan), 10, "alone between");
        }
    }
    // its passes and the clearing behind it are ready if one like it came before
    let before = engine.were_ready().expect("cleared behind the last one");
    for _ in 0..4 {
        check_batch(&mut engine, &plans[..1], 10, "again");
    }
    assert!(engine.were_ready() >= Some(before + 6), "{before} and {:?}", engine.were_ready());
    let (hits, _) = search(&mut engine, &plans, Mode::Or, 0).unwrap();
    assert!(hits.len() == plans.len() && hits.iter().all(Vec::is_empty));
    assert_eq!(search(&mut engine, &[], Mode::Or, 10).unwrap(), (Vec::new(), Report::default()));
}

/// Once a call, when the last batch is on its way: not between batches, and not twice.
#[test]
fn test_there_is_time_for_more_while_the_device_works() {
    let Some(gpu) = gpu() else { return };
    let built = Built::new(&collection(3000), "simdbp");
    let index = built.open();
    let searcher = Searcher::new(&index, None, Bm25::default()).unwrap();
    let plans = plans(&searcher, &QUERIES);
    let mut engine = engine(&searcher, &gpu, PRELOAD).unwrap();
    let queries = Queries { plans: &plans, sizes: &[3, 3, plans.len() - 6], k: 10 };
    for (mode, expected) in [(Mode::And, 1), (Mode::Or, 1), (Mode::AndOr, 0)] {
        let mut calls = 0;
        let answers = engine.search_meanwhile(&queries, mode, &mut || calls += 1).unwrap();
        assert_eq!((answers.hits, calls), (engine.search(&queries, mode).unwrap().hits, expected), "{mode:?}");
    }
}

#[test]
fn test_parameters_of_bm25() {
    let Some(gpu) = gpu() else { return };
    let built = Built::new(&collection(1500), "vbyte");
    let index = built.open();
    // with the second pair every other share of one occurrence is a half and a whole number
    for (k1, b) in [(0.0, 0.0), (1.0, 0.0), (1.2, 0.75), (1000.0, 0.0), (1000.0, 1.0)] {
        let searcher = Searcher::new(&index, None, Bm25 { k1, b }).unwrap();
        let plans = plans(&searcher, &QUERIES);
        let mut engine = engine(&searcher, &gpu, PRELOAD).unwrap();
        // with parameters of 0 many documents have the same score
        let report = check_batch_with_cpu(&mut engine, &plans, 7, &format!("k1 = {k1}, b = {b}"));
        // in three modes; without lengths and with k1 of no or much weight, too many documents score the same
        let tied = if b > 0.0 {
            0
        } else if k1 == 0.0 {
            8
        } else {
            3
        };
        assert!(report.by_cpu <= tied, "k1 = {k1}, b = {b}: the CPU answered {}", report.by_cpu);
    }
}

/// Only in documents so long that no impact is as great as a 255th: bounds in whole 255ths are far above the scores.
#[test]
fn test_impacts_below_the_least_bound() {
    let Some(gpu) = gpu() else { return };
    let mut random = Random(5);
    let long = |_| {
        let words = ["a", "b", "c", "d"].map(|word| if random.once_in(2) { word } else { "filler" });
        words.join(" ") + &" filler".repeat(30 + random.below(30) as usize)
    };
    let mut texts: Vec<String> =
        (0..20_000).map(|doc| if doc % 20 == 7 { String::new() } else { "x".to_owned() }).collect();
    let longs: Vec<String> = (0..1000).map(long).collect();
    texts.iter_mut().filter(|text| text.is_empty()).zip(longs).for_each(|(text, long)| *text = long);
    let built = Built::new(&texts, "simdbp");
    let index = built.open();
    let searcher = Searcher::new(&index, None, Bm25 { k1: 1000.0, b: 1.0 }).unwrap();
    let plans = plans(&searcher, &["a b c d", "a", "c d"]);
    let mut engine = engine(&searcher, &gpu, PRELOAD).unwrap();
    check_batch(&mut engine, &plans, 3, "long documents");
}

/// Several tiles of ranges, with lists that leave most of them empty; and a list of many groups of frequencies, of
/// which in every block some are exceptions in the first half, many in the second.
#[test]
fn test_many_documents() {
    let Some(gpu) = gpu() else { return };
    let mut random = Random(3);
    let text = |doc: u32| {
        let mut text = String::new();
        let mut add = |word: &str, has: bool| {
            if has {
                text += word;
            }
        };
        let repeated = random.once_in(if doc < 70_000 { 12 } else { 3 });
        let times = 1 + if repeated { random.below(7) } else { 0 };
        add(&"often ".repeat(times as usize), random.once_in(3));
        add("seldom ", random.once_in(500));
        add("end end ", doc > 131_000 && random.once_in(2));
        add("start ", doc < 300);
        add("edge ", doc % 64 == 63 || doc.is_multiple_of(64));
        add("last ", doc == 139_999);
        add(if doc.is_multiple_of(3) { "x y" } else { "z" }, true);
        text
    };
    let texts: Vec<String> = (0..140_000).map(text).collect();
    let built = Built::new(&texts, "simdbp");
    let index = built.open();
    let searcher = Searcher::new(&index, None, Bm25::default()).unwrap();
    let queries = [
        "often",
        "often z",
        "often seldom",
        "end start",
        "seldom edge end",
        "last start",
        "last",
        "often z x edge",
        "x y",
    ];
    let plans = plans(&searcher, &queries);
    let mut engine = engine(&searcher, &gpu, PRELOAD).unwrap();
    assert!(Ranges::of(140_000, None).padded() > TILE);
    // of some queries more documents have the same score than there is room for
    let report = check_batch_with_cpu(&mut engine, &plans, 10, "many");
    assert!(report.by_cpu <= 4 * 3, "the CPU answered {}", report.by_cpu);
    // more queries than have accumulators at once
    let mut engine = by(&searcher, &gpu, PRELOAD, &or::ACCUMULATORS, &HISTOGRAM).unwrap();
    let at_once = accumulators::queries_at_once(&gpu, 140_000) as usize;
    let many: Vec<Plan> = plans.iter().cycle().take(at_once.min(500) + 3).cloned().collect();
    let (hits, report) = search(&mut engine, &many, Mode::Or, 10).unwrap();
    assert!(report.batches > 1 || at_once > 500);
    assert!(hits.iter().zip(hits.iter().skip(plans.len())).all(|(one, again)| one == again));
    for (plan, hits) in plans.iter().zip(&hits) {
        check(&searcher, plan, Mode::Or, 10, hits, "accumulators");
    }
}

/// Equal documents: exactly those with the smallest docIDs, in order, and the CPU where there is no room for all.
#[test]
fn test_ties() {
    let Some(gpu) = gpu() else { return };
    for documents in [100, 5000, 20_000, 40_000] {
        let built = Built::new(&vec!["same again".to_owned(); documents], "vbyte");
        let index = built.open();
        let searcher = Searcher::new(&index, None, Bm25::default()).unwrap();
        let mut engine = engine(&searcher, &gpu, PRELOAD).unwrap();
        for query in ["same", "same again"] {
            for (mode, k) in [(Mode::Or, 10), (Mode::And, 1)] {
                let (hits, report) = search(&mut engine, &plans(&searcher, &[query]), mode, k).unwrap();
                let docs: Vec<u32> = hits[0].iter().map(|hit| hit.doc).collect();
                assert_eq!(docs, (0..k as u32).collect::<Vec<_>>(), "{documents} documents, {query}");
                // 20,000 have a batch of their own
                assert_eq!(report.by_cpu, usize::from(documents > 32_768), "{documents} documents, {query}");
            }
        }
    }
}

#[test]
fn test_many_terms() {
    let Some(gpu) = gpu() else { return };
    let built = Built::new(&collection(1000), "para-ef");
    let index = built.open();
    let searcher = Searcher::new(&index, None, Bm25::default()).unwrap();
    let words = (0..300).map(|i| if i % 3 == 0 { format!("w{}", i % 40) } else { format!("only{i} rare{}", i % 50) });
    let text = words.collect::<Vec<_>>().join(" ");
    let plans = plans(&searcher, &[&text, "w3", &text]);
    assert!(plans[0].terms.len() > 250);
    let mut engine = engine(&searcher, &gpu, PRELOAD).unwrap();
    // two conjunctions in each of two modes: documents count their terms modulo 256
    assert_eq!(check_batch_with_cpu(&mut engine, &plans, 20, "300 terms").by_cpu, 4);
}

/// A query with more terms than the device takes is the CPU's.
#[test]
fn test_more_terms_than_a_query_may_have() {
    let Some(gpu) = gpu() else { return };
    let built = Built::new(&collection(300), "raw");
    let index = built.open();
    let searcher = Searcher::new(&index, None, Bm25::default()).unwrap();
    let mut plans = plans(&searcher, &["w1 w5", "w2 only3"]);
    let terms = plans[0].terms.clone();
    // weights whose sums are exact
    let many = |n| terms.iter().cycle().take(n).map(|&term| PlannedTerm { weight: 100.0, ..term }).collect();
    plans[0].terms = many(QUERY_TERMS - 1);
    plans.push(Plan { terms: many(QUERY_TERMS + 1), ..plans[0].clone() });
    let mut engine = engine(&searcher, &gpu, PRELOAD).unwrap();
    let (hits, report) = search(&mut engine, &plans[1..], Mode::Or, 5).unwrap();
    assert_eq!((report.batches, report.by_cpu), (1, 1));
    assert_eq!(hits[1], searcher.search(&plans[2], Mode::Or, 5).unwrap());
    check(&searcher, &plans[1], Mode::Or, 5, &hits[0], "beside it");
}

/// Whatever chooses, and although many documents have the same score.
#[test]
fn test_the_best_chosen_on_the_device() {
    let Some(gpu) = gpu() else { return };
    let built = Built::new(&collection(3000), "simdbp");
    let same = Built::new(&vec!["same again".to_owned(); 5000], "simdbp");
    let (index, same) = (built.open(), same.open());
    for topk in TOPK.on(EngineKind::Gpu) {
        let searcher = Searcher::new(&index, None, Bm25::default()).unwrap();
        let mut engine = by(&searcher, &gpu, PRELOAD, &or::RANGES, topk).unwrap();
        for k in [1, 10, 1000, 5000] {
            let report = check_batch(&mut engine, &plans(&searcher, &QUERIES), k, topk.name);
            assert_eq!(report.by_cpu, 0, "{}, k = {k}", topk.name);
        }
        let searcher = Searcher::new(&same, None, Bm25::default()).unwrap();
        let mut engine = by(&searcher, &gpu, PRELOAD, &or::RANGES, topk).unwrap();
        let (hits, report) = search(&mut engine, &plans(&searcher, &["same"]), Mode::Or, 30).unwrap();
        assert_eq!(hits[0].iter().map(|hit| hit.doc).collect::<Vec<_>>(), (0..30).collect::<Vec<_>>(), "{}", topk.name);
        assert_eq!(report.by_cpu, 0, "{}", topk.name);
    }
    let searcher = Searcher::new(&index, None, Bm25::default()).unwrap();
    let heap = by(&searcher, &gpu, PRELOAD, &or::RANGES, &crate::query::topk::HEAP);
    assert!(matches!(heap, Err(Error::Invalid { .. })));
}

#[test]
fn test_every_method_for_or() {
    let Some(gpu) = gpu() else { return };
    let built = Built::new(&collection(3000), "vbyte,pef,para-ef");
    let index = built.open();
    for codec in ["vbyte", "pef", "para-ef"] {
        let searcher = Searcher::new(&index, Some(codec), Bm25::default()).unwrap();
        let plans = plans(&searcher, &QUERIES);
        for or in OR.on(EngineKind::Gpu) {
            let topk = if codec == "pef" { &crate::query::topk::BUCKET_SELECT } else { &HISTOGRAM };
            let mut engine = by(&searcher, &gpu, PRELOAD, or, topk).unwrap();
            for k in [1, 10, 400] {
                check_batch(&mut engine, &plans, k, &format!("{codec} {}", or.name));
            }
        }
    }
    assert_eq!(OR.find("accumulators").unwrap().name, "accumulators");
    let error = OR.gpu(OR.find("wand").unwrap()).err().unwrap().to_string();
    assert!(error.contains("accumulators, ranges-exhaustive, ranges"), "{error}");
}

/// Every method for the top k behind every way to find hits: all that match, where nothing is skipped.
#[test]
fn test_the_best_of_all_hits() {
    let Some(gpu) = gpu() else { return };
    let built = Built::new(&collection(5000), "simdbp");
    let index = built.open();
    let searcher = Searcher::new(&index, None, Bm25::default()).unwrap();
    let plans = plans(&searcher, &QUERIES);
    for or in [&or::ACCUMULATORS, &or::RANGES_EXHAUSTIVE] {
        for topk in TOPK.on(EngineKind::Gpu) {
            let mut engine = by(&searcher, &gpu, PRELOAD, or, topk).unwrap();
            let what = format!("{}, {}", or.name, topk.name);
            for k in [1, 10, 1000, 5000] {
                let report = check_batch(&mut engine, &plans, k, &what);
                assert_eq!(report.by_cpu, 0, "{what}, k = {k}");
            }
            // one alone, and then many again
            check_batch(&mut engine, &plans[4..5], 10, &what);
            check_batch(&mut engine, &plans, 10, &what);
        }
    }
    for topk in TOPK.on(EngineKind::Gpu) {
        let methods = GpuMethods { intersect: Some("gpu-binary".to_owned()), topk, ..GpuMethods::default() };
        let mut engine = GpuEngine::new(&searcher, &gpu, PRELOAD, methods, Mode::And).unwrap();
        for k in [1, 10, 1000, 5000] {
            check_batch(&mut engine, &plans, k, topk.name);
        }
    }
}

/// Without a name the method goes by how many documents are wanted: the kernels of another one come when they are
/// needed.
#[test]
fn test_the_plan_chooses_by_k() {
    let Some(gpu) = gpu() else { return };
    let built = Built::new(&collection(5000), "simdbp");
    let index = built.open();
    let searcher = Searcher::new(&index, None, Bm25::default()).unwrap();
    let plans = plans(&searcher, &QUERIES);
    let mut engine = GpuEngine::new(&searcher, &gpu, PRELOAD, GpuMethods::default(), Mode::Or).unwrap();
    let mut accumulates = |plans: &[Plan], k: usize| {
        let what = format!("{} queries, k = {k}", plans.len());
        check_batch(&mut engine, plans, k, &what);
        engine.accumulates()
    };
    let alone = &plans[4..5];
    assert!(!accumulates(&plans, 10) && !accumulates(&plans, 1_000_000) && !accumulates(alone, 100_000));
    assert!(accumulates(alone, 1_000_000) && accumulates(&plans, 10) && accumulates(alone, 10));
}

/// Sums of impacts are whole numbers: the same documents with the same scores, and ties by docID.
#[test]
fn test_impacts_are_exact() {
    let Some(gpu) = gpu() else { return };
    let built = Built::with(&collection(3000), "simdbp,vbyte", Some(2));
    let index = built.open();
    for (codec, topk) in [("simdbp", &HISTOGRAM), ("vbyte", &crate::query::topk::RADIX_SORT)] {
        let searcher = Searcher::new(&index, Some(codec), Bm25::default()).unwrap();
        let searcher = searcher.with_scores(Scores::Impacts).unwrap();
        let plans = plans(&searcher, &QUERIES);
        for or in OR.on(EngineKind::Gpu) {
            let mut engine = by(&searcher, &gpu, PRELOAD, or, topk).unwrap();
            for (mode, k) in [(Mode::And, 10), (Mode::Or, 10), (Mode::Or, 3), (Mode::AndOr, 20)] {
                let (hits, _) = search(&mut engine, &plans, mode, k).unwrap();
                for (i, (plan, hits)) in plans.iter().zip(&hits).enumerate() {
                    let want = searcher.search(plan, mode, k).unwrap();
                    assert_eq!(*hits, want, "{codec}, {}, {mode:?}, k = {k}, query {i}", or.name);
                }
            }
        }
    }
}

#[test]
fn test_small_collections() {
    let Some(gpu) = gpu() else { return };
    let topks: Vec<_> = TOPK.on(EngineKind::Gpu).collect();
    for (turn, documents) in [1, 63, 64, 65, 300, 2049].into_iter().enumerate() {
        let built = Built::new(&collection(documents), "vbyte");
        let index = built.open();
        let searcher = Searcher::new(&index, None, Bm25::default()).unwrap();
        let plans = plans(&searcher, &QUERIES);
        for (or, topk) in OR.on(EngineKind::Gpu).zip(topks.iter().cycle().skip(turn)) {
            let mut engine = by(&searcher, &gpu, PRELOAD, or, topk).unwrap();
            for k in [1, 5, 100] {
                check_batch(&mut engine, &plans, k, &format!("{documents} documents, {}, {}", or.name, topk.name));
            }
        }
    }
}

/// The documents in half of the ranges are better: a first wave of these is enough to skip the other half, and without
/// skipping everything is evaluated. How far the ranges of a wave know of each other depends on the device, and on how
/// many a workgroup takes for one look at the threshold: an H200 evaluates 60 %.
#[test]
fn test_ranges_are_skipped() {
    let Some(gpu) = gpu() else { return };
    // ranges of 64 docIDs, of which a first wave of many queries has 16 times 64 or a few more
    const RANGES: u32 = 2500;
    const QUERIES: u32 = 17;
    let good = |doc: u32| doc < RANGES / 2 * 64 && doc % 64 == 7;
    // of different lengths, so that few have the same score
    let text = |doc: u32| match good(doc) {
        true => "often often often often".to_owned() + &" and".repeat(doc as usize / 64 % 97),
        false => "often and more".to_owned(),
    };
    let texts: Vec<String> = (0..RANGES * 64).map(text).collect();
    let built = Built::new(&texts, "simdbp");
    let index = built.open();
    let searcher = Searcher::new(&index, None, Bm25::default()).unwrap();
    let plans = plans(&searcher, &["often"; QUERIES as usize]);
    let evaluated = [&or::RANGES, &or::RANGES_EXHAUSTIVE, &or::ACCUMULATORS].map(|or| {
        let options = Options { range_bits: Some(6), ..PRELOAD };
        let mut engine = by(&searcher, &gpu, options, or, &HISTOGRAM).unwrap();
        let (hits, report) = search(&mut engine, &plans, Mode::Or, 5).unwrap();
        hits.iter().for_each(|hits| check(&searcher, &plans[0], Mode::Or, 5, hits, or.name));
        report.ranges.map_or(0, |work| work.evaluated)
    });
    let all = QUERIES * RANGES;
    assert!(evaluated[0] <= all / 4 * 3, "{evaluated:?}");
    // a query is sent once more if hits come before its threshold rises, and have no room
    assert!(evaluated[1] >= all && evaluated[2] == 0, "{evaluated:?}");
}

/// Ranges of every width. Lists are dense and thin, and scores of many sizes.
#[test]
fn test_ranges_of_every_width() {
    let Some(gpu) = gpu() else { return };
    let mut state = 7u32;
    let mut below = |n: u32| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) % n
    };
    let text = |_| {
        let mut words = String::new();
        for (term, one_in) in [("a", 2), ("b", 3), ("c", 5), ("d", 9), ("e", 30), ("f", 200), ("g", 2000)] {
            if below(one_in) == 0 {
                (0..=below(6) * below(3)).for_each(|_| words += &format!("{term} "));
            }
        }
        words + &"x ".repeat(below(20) as usize)
    };
    let built = Built::new(&(0..60_000).map(text).collect::<Vec<_>>(), "simdbp");
    let index = built.open();
    let searcher = Searcher::new(&index, None, Bm25::default()).unwrap();
    let plans =
        plans(&searcher, &["a b c d", "c d e f g", "b e", "a f", "g f e", "d", "a b c d e f g x", "c f x", "d g"]);
    let (mut queued, mut evaluated) = (0, 0);
    for bits in 6..=10 {
        let mut engine = engine(&searcher, &gpu, Options { range_bits: Some(bits), ..PRELOAD }).unwrap();
        for k in [3, 60, 400] {
            let report = check_batch(&mut engine, &plans, k, &format!("ranges of 2^{bits}"));
            let ranges = report.ranges.unwrap();
            // a large device takes all ranges of a wave at once, before a threshold is known
            queued += ranges.queued.iter().sum::<u32>();
            evaluated += ranges.evaluated;
        }
    }
    assert!(evaluated < queued, "some are skipped, {evaluated} of {queued} evaluated");
}

/// Terms with weights far apart, by every way: ranges, accumulators, and an intersector.
#[test]
fn test_weights() {
    let Some(gpu) = gpu() else { return };
    let built = Built::new(&collection(3000), "simdbp");
    let index = built.open();
    let searcher = Searcher::new(&index, None, Bm25::default()).unwrap();
    let texts = ["w1^2.5 w2", "w0^0.001 w30^1000 w5", "all^0.3 w7^0.7 w7", "w1 w2 w3^1e5"];
    let plan = |text: &&str| searcher.plan(&searcher.parse_weighted(text).unwrap()).unwrap();
    let plans: Vec<Plan> = texts.iter().map(plan).collect();
    let alone = searcher.plan(&searcher.parse("w1").unwrap()).unwrap();
    assert!(plans[0].terms[0].weight * plans[0].unit > 2.4 * alone.terms[0].weight * alone.unit);
    for or in OR.on(EngineKind::Gpu) {
        let mut engine = by(&searcher, &gpu, PRELOAD, or, &HISTOGRAM).unwrap();
        check_batch(&mut engine, &plans, 10, or.name);
    }
    let methods = GpuMethods { intersect: Some("hs".to_owned()), ..GpuMethods::default() };
    let mut engine = GpuEngine::new(&searcher, &gpu, PRELOAD, methods, Mode::And).unwrap();
    check_batch(&mut engine, &plans, 10, "hs");
}

/// In another order than the input's: of equal scores the document that came earlier in the input.
#[test]
fn test_ties_in_another_order() {
    let Some(gpu) = gpu() else { return };
    let built = Built::new(&collection(3000), "simdbp");
    reordered(&built.path, &crate::order::Permutation::random(3000, 3));
    let index = built.open();
    let searcher = Searcher::new(&index, None, Bm25::default()).unwrap();
    let plans = plans(&searcher, &QUERIES);
    for topk in TOPK.on(EngineKind::Gpu) {
        let mut engine = by(&searcher, &gpu, PRELOAD, &or::RANGES, topk).unwrap();
        for k in [1, 10, 400] {
            check_batch(&mut engine, &plans, k, topk.name);
        }
    }
    let methods = GpuMethods { intersect: Some("hs".to_owned()), ..GpuMethods::default() };
    let mut engine = GpuEngine::new(&searcher, &gpu, PRELOAD, methods, Mode::And).unwrap();
    check_batch(&mut engine, &plans, 10, "hs");
}
