//! Measures beside their definitions written out, files with every kind of bad line, and tests beside SciPy's figures.

use super::*;
use crate::base::random::Rng;

fn judged(ranking: &str, pool: &[(&str, i64)], rules: &Rules) -> Judged {
    let pool = pool.iter().map(|&(document, relevance)| (document.as_bytes(), relevance)).collect();
    Judged::new(ranking.split_whitespace().map(str::as_bytes), &pool, rules)
}

fn value(name: &str, judged: &Judged) -> f64 {
    let [measure] = &parse(name).unwrap()[..] else { panic!("{name} is more than one") };
    measure.value(judged)
}

/// Relevant: a at rank 2, c at rank 4, f not retrieved; judged and not relevant: b at rank 1, e; d is unjudged.
#[test]
fn test_measures_by_hand() {
    let pool = [("a", 2), ("b", 0), ("c", 1), ("d", -1), ("e", 0), ("f", 1)];
    let q = judged("b a x c d", &pool, &Rules::default());
    let log = f64::log2;
    let ideal = 2.0 / log(2.0) + 1.0 / log(3.0) + 1.0 / log(4.0);
    let ranked_2 = 1.0 / 2.0 + (1.0 / 2.0) * (0.00001 / (1.0 + 0.00002));
    let ranked_4 = 1.0 / 4.0 + (3.0 / 4.0) * (2.0 / 3.0) * (1.00001 / (2.0 + 0.00002));
    let expected = [
        ("num_ret", 5.0),
        ("num_rel", 3.0),
        ("num_rel_ret", 2.0),
        ("map", (1.0 / 2.0 + 2.0 / 4.0) / 3.0),
        ("gm_map", (1.0 / 2.0 + 2.0 / 4.0) / 3.0),
        ("map_cut_3", (1.0 / 2.0) / 3.0),
        ("Rprec", 1.0 / 3.0),
        ("Rprec_mult.1.4", 2.0 / 5.0),
        ("bpref", (0.5 + 0.5) / 3.0),
        ("gm_bpref", (0.5 + 0.5) / 3.0),
        ("recip_rank", 0.5),
        ("iprec_at_recall_0.00", 0.5),
        ("iprec_at_recall_0.70", 0.5),
        ("iprec_at_recall_0.90", 0.0),
        ("11pt_avg", 0.5 * 9.0 / 11.0),
        ("P_5", 2.0 / 5.0),
        ("P_10", 2.0 / 10.0),
        ("recall_3", 1.0 / 3.0),
        ("infAP", (ranked_2 + ranked_4) / 3.0),
        ("ndcg", (2.0 / log(3.0) + 1.0 / log(5.0)) / ideal),
        ("ndcg_cut_2", (2.0 / log(3.0)) / (2.0 / log(2.0) + 1.0 / log(3.0))),
        ("relative_P_10", 2.0 / 3.0),
        ("success_1", 0.0),
        ("success_5", 1.0),
        ("set_P", 2.0 / 5.0),
        ("set_relative_P", 2.0 / 3.0),
        ("set_recall", 2.0 / 3.0),
        ("set_map", 4.0 / 15.0),
        ("set_F", 2.0 * (2.0 / 5.0) * (2.0 / 3.0) / (2.0 / 5.0 + 2.0 / 3.0)),
        ("set_F.2", 3.0 * (2.0 / 5.0) * (2.0 / 3.0) / (2.0 / 3.0 + 2.0 * (2.0 / 5.0))),
        ("num_nonrel_judged_ret", 1.0),
        ("unj_5", 2.0 / 5.0),
        ("unj_10", 2.0 / 10.0),
        ("judged_5", 3.0 / 5.0),
        ("judged_10", 3.0 / 5.0),
    ];
    for (name, expected) in expected {
        assert!((value(name, &q) - expected).abs() < 1e-12, "{name}: {} and not {expected}", value(name, &q));
    }
    // every family is in the list above
    for family in MEASURES {
        assert!(
            expected.iter().any(|(name, _)| parse(name).unwrap()[0].name.starts_with(family.name)),
            "{}",
            family.name
        );
    }
}

#[test]
fn test_rules_decide_what_counts() {
    let pool = [("a", 2), ("b", 0), ("c", 1), ("d", -1)];
    let with = |rules: Rules| judged("b x a d c", &pool, &rules);
    assert_eq!(value("num_rel", &with(Rules { relevant: 2, ..Rules::default() })), 1.0);
    assert_eq!(value("recip_rank", &with(Rules { judged_only: true, ..Rules::default() })), 0.5);
    assert_eq!(value("num_rel_ret", &with(Rules { depth: 3, ..Rules::default() })), 1.0);
    let nothing = judged("", &[], &Rules::default());
    for measure in MEASURES.iter().flat_map(|family| parse(family.name).unwrap()) {
        let value = measure.value(&nothing);
        assert!(value == 0.0 && value.is_sign_positive(), "{measure:?} of a query without documents: {value}");
    }
}

proptest::proptest! {
    #![proptest_config(proptest::test_runner::Config::with_cases(64))]

    /// Against definitions over the list of relevances.
    #[test]
    fn test_measures_are_their_definitions(
        ranking in proptest::collection::vec(-2i64..4, 0..60),
        missed in proptest::collection::vec(-1i64..4, 0..20),
        k in 1usize..70,
    ) {
        let names: Vec<String> = (0..ranking.len() + missed.len()).map(|i| format!("d{i}")).collect();
        // -2 stands for a document that is not in the pool
        let pool = names.iter().zip(ranking.iter().chain(&missed)).filter(|(_, relevance)| **relevance > -2);
        let pool = pool.map(|(name, &relevance)| (name.as_bytes(), relevance)).collect();
        let q = Judged::new(names[..ranking.len()].iter().map(String::as_bytes), &pool, &Rules::default());
        let hit = |relevance: &&i64| **relevance > 0;
        let all = ranking.iter().chain(&missed).filter(hit).count();
        let at = |k: usize| ranking.iter().take(k).filter(hit).count();
        let over = |a: f64, b: f64| if b == 0.0 { 0.0 } else { a / b };
        let precision = |k: usize| at(k) as f64 / k as f64;
        let mut average = 0.0;
        let mut best: f64 = 0.0;
        for rank in (1..=ranking.len()).rev() {
            best = if at(rank) * 10 >= (all as f64 * 0.4).round() as usize * 10 && at(rank) > 0 { best.max(precision(rank)) } else { best };
            if ranking[rank - 1] > 0 {
                average += precision(rank);
            }
        }
        let gain = |ranking: &mut dyn Iterator<Item = i64>| -> f64 {
            ranking.take(k).enumerate().map(|(i, relevance)| relevance.max(0) as f64 / ((i + 2) as f64).log2()).sum()
        };
        let mut ideal: Vec<i64> = ranking.iter().chain(&missed).copied().collect();
        ideal.sort_unstable_by(|a, b| b.cmp(a));
        let expected = [
            ("map".to_owned(), over(average, all as f64)),
            (format!("P.{k}"), precision(k)),
            (format!("recall.{k}"), over(at(k) as f64, all as f64)),
            (format!("success.{k}"), f64::from(u8::from(at(k) > 0))),
            ("iprec_at_recall.0.4".to_owned(), best),
            (format!("ndcg_cut.{k}"), over(gain(&mut ranking.iter().copied()), gain(&mut ideal.into_iter()))),
        ];
        for (name, expected) in expected {
            proptest::prop_assert!((value(&name, &q) - expected).abs() < 1e-9, "{}: {} and not {}", name, value(&name, &q), expected);
        }
    }
}

#[test]
fn test_runs_go_by_score_and_ties_by_document() {
    let text = b"2 Q0 a 9 1.5 x\n\n# remark\n10\tQ0 b 1  2.5e0 y and more\n10 Q0 c 2 2.5 y\r\n10 Q0 a 3 -1 last";
    let run = Run::parse(text).unwrap();
    assert_eq!(run.tag, b"last");
    let queries: Vec<&[u8]> = run.queries.keys().copied().collect();
    assert_eq!(queries, [&b"10"[..], b"2"], "by bytes");
    let documents: Vec<&[u8]> = run.queries[&b"10"[..]].iter().map(|(document, _)| *document).collect();
    assert_eq!(documents, [&b"c"[..], b"b", b"a"]);
}

#[test]
fn test_bad_lines_are_named() {
    let bad = Run::parse(b"1 Q0 a 1 2.0 x\n1 Q0 a\n1 Q0 b 1 high x\n1 Q0 a 2 1.0 x\n1 Q0 c 1 nan x\n").unwrap_err();
    let lines: Vec<u64> = bad.lines.iter().map(|(line, _)| *line).collect();
    assert_eq!(lines, [2, 3, 4, 5], "{bad:?}");
    assert!(bad.lines[2].1.contains("has document \"a\" already"), "{bad:?}");
    let bad = Qrels::parse(b"1 0 a 1\n1 0 a 0\n1 0 b\n1 0 c 1.5\n").unwrap_err();
    let lines: Vec<u64> = bad.lines.iter().map(|(line, _)| *line).collect();
    assert_eq!(lines, [2, 3, 4], "{bad:?}");
    let many = "x\n".repeat(1000);
    let bad = Qrels::parse(many.as_bytes()).unwrap_err();
    assert_eq!((bad.lines.len() as u64 + bad.more, bad.lines.len()), (1000, 20));
    assert!(Run::parse(b"").unwrap().queries.is_empty());
}

#[test]
fn test_queries_without_results_count_only_if_asked() {
    let qrels = Qrels::parse(b"1 0 a 1\n2 0 a 1\n").unwrap();
    let run = Run::parse(b"1 Q0 a 1 1.0 x\n3 Q0 a 1 1.0 x\n").unwrap();
    let measures = [parse("map").unwrap(), parse("gm_map").unwrap(), parse("num_ret").unwrap()].concat();
    let scores = |complete| score(&qrels, &run, &measures, &Rules::default(), complete).all;
    assert_eq!(scores(false), [1.0, 1.0, 1.0]);
    let [map, gm_map, retrieved] = scores(true)[..] else { panic!() };
    assert_eq!([map, retrieved], [0.5, 1.0]);
    assert!((gm_map - 0.00001f64.sqrt()).abs() < 1e-12, "{gm_map}");
}

#[test]
fn test_names_of_measures() {
    let names = |text: &str| parse(text).unwrap().into_iter().map(|measure| measure.name).collect::<Vec<_>>();
    assert_eq!(names("P.10,5,5"), ["P_5", "P_10"]);
    assert_eq!(names("ndcg_cut_10"), ["ndcg_cut_10"]);
    assert_eq!(names("iprec_at_recall.0.25,.5"), ["iprec_at_recall_0.25", "iprec_at_recall_0.50"]);
    assert_eq!(names("success"), ["success_1", "success_5", "success_10"]);
    for bad in ["P.0", "P.x", "map.5", "nothing", "set_F.-1", "P_-5", "iprec_at_recall.2000000"] {
        assert!(parse(bad).is_err(), "{bad}");
    }
}

/// SciPy 1.16: `ttest_rel` and `permutation_test(permutation_type="samples", n_resamples=inf)`.
#[test]
fn test_significance_is_that_of_scipy() {
    let a = [0.31, 0.52, 0.11, 0.90, 0.45, 0.33, 0.72, 0.05];
    let b = [0.25, 0.55, 0.05, 0.70, 0.40, 0.35, 0.60, 0.05];
    let found = compare(&a, &b, 1);
    assert!((found.mean - 0.055).abs() < 1e-12);
    assert!(
        (found.t - 2.027_720_514_626_434_3).abs() < 1e-9 && (found.p_t - 0.082_188_753_687_166_83).abs() < 1e-9,
        "{found:?}"
    );
    assert_eq!(found.p_random, 0.078_125);
    let back = compare(&b, &a, 1);
    assert_eq!((back.t, back.p_t, back.p_random), (-found.t, found.p_t, found.p_random));
    assert_eq!(compare(&a, &a, 1).p_t, 1.0);
    assert_eq!(compare(&[1.0], &[0.5], 1).p_t, 1.0, "of one query nothing is known");
}

/// Where not all flips are tried the share is near that of all of them.
#[test]
fn test_random_flips_estimate_all_flips() {
    let mut random = Rng::new(3, 0, 0);
    let a: Vec<f64> = (0..40).map(|_| random.unit()).collect();
    let b: Vec<f64> = a.iter().map(|value| value - 0.05 + 0.2 * (random.unit() - 0.5)).collect();
    let found = compare(&a, &b, 1);
    assert_eq!(found, compare(&a, &b, 1), "the same seed");
    // with so many queries both tests agree within some hundredths
    assert!((found.p_random - found.p_t).abs() < 0.02, "{found:?}");
    assert!(found.p_random > 0.0);
}

#[test]
fn test_holm() {
    assert_eq!(holm(&[0.01, 0.04, 0.03]), [0.03, 0.06, 0.06]);
    assert_eq!(holm(&[0.5, 0.9]), [1.0, 1.0]);
    assert!(holm(&[]).is_empty());
}
