//! The command on small indexes: the content of its files, and its refusals. Times are not checked.

use super::*;
use crate::index::Index;
use crate::index::tests::{Plan as BuildPlan, Text, build, reordered};
use crate::order::Permutation;
use crate::query::Bm25;
use crate::query::method::EngineKind;
use crate::query::or::OR;
use clap::Parser as _;
use std::path::Path;

#[derive(clap::Parser)]
struct Line {
    #[command(flatten)]
    args: Args,
}

/// 300 documents of a few words each.
fn texts() -> Vec<(String, String)> {
    let word = |i: usize, n: usize| ["red", "apple", "pie", "tree", "leaf"][(i * n + i / 7) % 5];
    let text = |i: usize| (format!("d{i}"), (1..i % 6 + 2).map(|n| word(i, n)).collect::<Vec<_>>().join(" "));
    (0..300).map(text).collect()
}

/// An index of them, in another order if there is a seed.
pub(super) fn index(dir: &Path, name: &str, seed: u64) -> PathBuf {
    let target = dir.join(name);
    let texts = texts();
    let texts: Vec<Text<'_>> = texts.iter().map(|(id, text)| (id.as_str(), "", "", text.as_str())).collect();
    let codecs = crate::codec::parse_list("vbyte,simdbp").unwrap();
    build(&target, &texts, &BuildPlan { codecs, ..BuildPlan::default() }).unwrap();
    if seed > 0 {
        reordered(&target, &Permutation::random(300, seed));
    }
    target
}

fn args(line: &str) -> Args {
    Line::parse_from(std::iter::once("x").chain(line.split_whitespace())).args
}

#[test]
fn test_orders_codecs_and_methods_side_by_side() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name).display().to_string();
    index(dir.path(), "a", 0);
    index(dir.path(), "b", 100);
    std::fs::write(at("topics"), "1:red apple\n2:pie\n3:nothing red\n4:tree leaf red apple\n5: \n").unwrap();
    let (a, b, topics, csv, svg) = (at("a"), at("b"), at("topics"), at("csv"), at("svg"));
    let line = format!(
        "{a} {b} --topics {topics} --codec all --or all --intersect skip-list,daat --engine cpu --rounds 1 --check -k 3 \
         --batch order:size=2,para --threads 2 --csv {csv} --svg {svg}"
    );
    run(&args(&line)).unwrap();
    let csv = std::fs::read_to_string(csv).unwrap();
    let rows: Vec<Vec<&str>> = csv.lines().skip(1).map(|line| line.split(',').collect()).collect();
    let head: Vec<&str> = csv.lines().next().unwrap().split(',').collect();
    assert_eq!(head[..8], ["order", "codec", "mode", "engine", "method", "by", "group", "queries"]);
    assert_eq!(
        head[8..],
        "mean_ms,p50_ms,p80_ms,p90_ms,p95_ms,p99_ms,p99_9_ms,max_ms,queries_per_second".split(',').collect::<Vec<_>>()
    );
    // each of four places has two intersectors, five ways to OR, and one for both, whose name is in quotes, with a
    // comma
    let all = rows.iter().filter(|row| row.contains(&"all")).count();
    assert_eq!(all, 4 * (2 + OR.on(EngineKind::Cpu).count() + 1));
    assert_eq!(rows.iter().filter(|row| row.contains(&"batch")).count(), 4 * 3 * 2);
    let single = rows.iter().find(|row| row[4] == "daat" && row[5] == "terms" && row[6] == "1").unwrap();
    assert_eq!((single[0], single[7]), ("input", "1"), "one query has one term");
    assert!(rows.iter().all(|row| row.last().unwrap().parse::<f64>().unwrap() > 0.0));
    let chart = std::fs::read_to_string(svg).unwrap();
    assert!(chart.contains("by number of terms") && chart.contains("1 query has no words: 5"));
}

#[test]
fn test_what_is_refused_and_why() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name).display().to_string();
    index(dir.path(), "a", 0);
    let texts = [("0", "", "", "red apple"), ("1", "", "", "red")];
    build(&dir.path().join("other"), &texts, &BuildPlan::default()).unwrap();
    std::fs::write(at("topics"), "red apple\n").unwrap();
    std::fs::write(at("empty"), "\n").unwrap();
    let (a, other, topics, empty) = (at("a"), at("other"), at("topics"), at("empty"));
    for (line, why) in [
        (format!("{a} {other} --topics {topics}"), "one collection"),
        (format!("{a} --topics {topics} --or zigzag"), "exhaustive"),
        (format!("{a} --topics {topics} --intersect zigzag"), "skip-list"),
        (format!("{a} --topics {topics} --codec raw"), "vbyte, simdbp"),
        (format!("{a} --topics {empty}"), "holds no topic"),
        (format!("{a} --topics {a}/none"), "none"),
        (format!("{a} --topics {topics} --scores impacts"), "has no impacts"),
        (format!("{a} --topics {topics} --b 2"), "--b"),
        (format!("{a} --topics {topics} --topk zigzag"), "bucket-select"),
        (format!("{a} --topics {topics} --rounds 0"), "--check"),
        (format!("{a} --topics {topics} --csv {a}-no/such"), "cannot write"),
    ] {
        let error = run(&args(&format!("{line} --engine cpu"))).expect_err(&line);
        assert!(format!("{error:#}").contains(why), "{line}: {error:#}");
    }
}

/// Without rounds answers are compared, and nothing is written down.
#[test]
fn test_answers_are_compared_without_measuring() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name).display().to_string();
    index(dir.path(), "a", 0);
    std::fs::write(at("topics"), "red apple\npie leaf\n").unwrap();
    let (a, topics, csv) = (at("a"), at("topics"), at("csv"));
    let all = "--or all --intersect all --topk all --engine cpu --check --rounds 0 --batch order";
    run(&args(&format!("{a} --topics {topics} --csv {csv} {all}"))).unwrap();
    assert_eq!(std::fs::read_to_string(csv).unwrap().lines().count(), 1, "a head and no row");
}

#[test]
fn test_a_wrong_answer_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let indexes = [index(dir.path(), "a", 0), index(dir.path(), "b", 50)].map(|dir| Index::open(&dir).unwrap());
    let places = lines::places(&indexes, None, Bm25::default(), None).unwrap();
    let (_, topics) = crate::query::parse_topics(b"red apple\npie").unwrap();
    let plans: Vec<Vec<Plan>> = places.iter().map(|place| lines::plan(&place.searcher, &topics).unwrap().0).collect();
    let clock = Clock { k: 5, rounds: 1, take: Take::Fastest, warm_up: 0.0, memory: None, workgroups: None };
    let cpu = Cpu { places: &places, plans: &plans, clock };
    let line = Methods::parse("best", "best", "best", 10).unwrap().lines(0, &[Mode::Or]).remove(0);
    let expected = cpu.plain(0, Mode::Or).unwrap();
    assert_eq!(cpu.check(&line, &cpu.answers(&line).unwrap(), &expected), 0);
    assert_eq!(cpu.check_index(1, Mode::Or, &expected).unwrap(), 0, "another order has the same answers");
    let mut wrong = expected.clone();
    wrong[1][2].score *= 1.01;
    assert_eq!(cpu.check(&line, &wrong, &expected), 1);
    assert_eq!(cpu.check_index(1, Mode::Or, &wrong).unwrap(), 1);
    assert!(measure::no_difference(1, 2).is_err());
}

#[test]
fn test_lines_on_the_gpu_have_the_same_answers_and_all_figures() {
    let Some(gpu) = crate::gpu::testing::gpu() else { return };
    let dir = tempfile::tempdir().unwrap();
    let indexes = [Index::open(&index(dir.path(), "a", 0)).unwrap()];
    let places = lines::places(&indexes, Some(&["simdbp".to_owned()]), Bm25::default(), None).unwrap();
    let (_, topics) = crate::query::parse_topics(b"red apple\npie tree leaf").unwrap();
    let plans = vec![lines::plan(&places[0].searcher, &topics).unwrap().0];
    let clock = Clock { k: 5, rounds: 1, take: Take::Fastest, warm_up: 0.0, memory: None, workgroups: None };
    let cpu = Cpu { places: &places, plans: &plans, clock };
    let methods = Methods::parse("best", "ranges,gpu-binary,wu", "best", 10).unwrap();
    let codec = places[0].searcher.codec().codec();
    let mut shown = Vec::new();
    for lines in methods.gpu_lines(0, &[Mode::And, Mode::Or], codec) {
        let mut turns = OnGpu::new(&places[0], &plans[0], &gpu, lines, clock).unwrap();
        for line in 0..turns.lines().len() {
            let expected = cpu.plain(0, turns.lines()[line].mode).unwrap();
            let answers = turns.answers(line).unwrap();
            assert_eq!(cpu.check(&turns.lines()[line], &answers, &expected), 0);
            let batched = turns.batches(line, Schedule::default()).unwrap().unwrap();
            assert_eq!((batched.waits.count, batched.line.method()), (2, turns.lines()[line].method()));
        }
        let measured = turns.latencies().unwrap();
        shown.extend(measured.iter().map(|measured| measured.line.method()));
        assert!(measured.iter().all(|measured| measured.seconds.iter().all(|&seconds| seconds > 0.0)));
        let shares = turns.shares(&[Schedule::default()]).unwrap();
        assert_eq!(shares.len(), 2 * measured.len(), "one by one and in batches");
        assert!(shares.chunks(2).all(|both| both[0].queries == "one by one" && both[1].queries.starts_with("order")));
        assert!(shares.iter().all(|shares| shares.parts.len() > 1), "passes and the host");
        assert!(shares.iter().all(|shares| shares.work.lists.hit_rate() == Some(1.0)), "all lists are there");
    }
    assert_eq!(shown, ["ranges", "ranges", "gpu-binary", "wu"]);
}

#[test]
fn test_lines_on_both_processors_have_the_same_answers_and_their_figures() {
    let Some(gpu) = crate::gpu::testing::gpu() else { return };
    let dir = tempfile::tempdir().unwrap();
    let indexes = [Index::open(&index(dir.path(), "a", 0)).unwrap()];
    let places = lines::places(&indexes, Some(&["simdbp+vbyte".to_owned()]), Bm25::default(), None).unwrap();
    assert_eq!(places[0].codec, "simdbp+vbyte");
    let (_, topics) = crate::query::parse_topics(b"red apple\npie tree leaf\npie\nnothing red").unwrap();
    let plans = vec![lines::plan(&places[0].searcher, &topics).unwrap().0];
    let clock = Clock { k: 5, rounds: 1, take: Take::Fastest, warm_up: 0.0, memory: None, workgroups: None };
    let cpu = Cpu { places: &places, plans: &plans, clock };
    let rules: Vec<Migration> =
        ["ratio=128", "length=100000", "fixed=gpu-cpu"].iter().map(|rule| Migration::parse(rule).unwrap()).collect();
    let methods = Methods::parse("best", "daat,gallop,merge-path", "best", 10).unwrap();
    let codec = places[0].searcher.device_codec().codec();
    let lines = methods.lines_on_both(0, &[Mode::And, Mode::Or, Mode::AndOr], codec, &rules);
    assert_eq!(lines.len(), 6, "nothing moves in disjunctions");
    assert_eq!((lines[0].engine(), lines[0].method()), ("griffin", "gallop, merge-path, ratio=128".to_owned()));
    let mut turns = OnBoth::new(&places[0], &plans[0], &gpu, lines, clock).unwrap();
    let mut expected = [Mode::And, Mode::AndOr].map(|mode| (mode, cpu.plain(0, mode).unwrap()));
    turns.check(&cpu, &expected).unwrap();
    expected[1].1[0][0].score += 1.0;
    let wrong = turns.check(&cpu, &expected).unwrap_err().to_string();
    assert!(wrong.starts_with("3 of 24 answers differ"), "a line of each rule: {wrong}");
    assert!(turns.latencies().unwrap().iter().all(|line| line.seconds.iter().all(|&seconds| seconds > 0.0)));
    let table = both::table(&places, &turns.moves().unwrap());
    let counts: Vec<&[String]> = table.rows.iter().map(|row| &row[4..11]).collect();
    // queries all on the CPU, all on the GPU, on both; steps; no room; moves: one query has two steps, one is empty
    assert_eq!(counts[0], ["0", "3", "0", "0", "4", "0", "0"]);
    assert_eq!(counts[1], ["3", "0", "0", "4", "0", "0", "0"]);
    assert_eq!(counts[2], ["0", "2", "1", "1", "3", "0", "1"]);
    assert_eq!((table.rows[1][11].as_str(), table.rows[2][12].as_str() == "-"), ("-", false));
}
