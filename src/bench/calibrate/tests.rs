//! What is measured of which queries, and what is said about it.

use super::*;
use crate::gpu::testing;
use crate::index::tests::{Plan as BuildPlan, Text, build};
use crate::query::cost::MeasuredSteps;
use crate::query::engine::{Step, Trace};
use crate::query::migrate::Machine;
use clap::{Args as _, FromArgMatches as _};
use std::path::Path;

fn index(dir: &Path) -> Index {
    let texts: Vec<String> = (0..300).map(|i| format!("all word{} word{} word{}", i % 3, i % 7, i % 60)).collect();
    let texts: Vec<Text<'_>> = texts.iter().map(|text| ("id", "", "", text.as_str())).collect();
    build(&dir.join("index"), &texts, &BuildPlan::default()).unwrap();
    Index::open(&dir.join("index")).unwrap()
}

fn log(dir: &Path) -> PathBuf {
    // each twice, once in another order, and with words that no document has
    let lines: String =
        (0..60).map(|i| format!("all word{i}\nword{i} all\nunheard{i}\nall unheard{i}\n!?\n")).collect();
    let path = dir.join("log.txt");
    std::fs::write(&path, lines).unwrap();
    path
}

fn args(more: &[&str]) -> Args {
    let command = Args::augment_args(clap::Command::new("calibrate"));
    let given = [&["calibrate", "index", "--topics", "log"], more].concat();
    Args::from_arg_matches(&command.get_matches_from(given)).unwrap()
}

#[test]
fn test_queries_are_different_and_take_turns() {
    let dir = tempfile::tempdir().unwrap();
    let (index, log) = (index(dir.path()), log(dir.path()));
    let searcher = Searcher::new(&index, None, Bm25::default()).unwrap();
    let all = queries(&args(&[]), &searcher, &log).unwrap();
    let ids: HashSet<u32> = all.iter().map(|query| query.plan.terms[1].id).collect();
    assert_eq!((all.len(), ids.len()), (60, 60));
    let turns: Vec<_> = all.iter().take(5).map(|query| (query.mode, query.k)).collect();
    let [and, or] = [Mode::And, Mode::Or];
    assert_eq!(turns, [(and, 10), (and, 1000), (or, 10), (or, 1000), (and, 10)]);
    for query in &all {
        assert_eq!(query.features, Features::of(&query.plan, query.mode, query.k));
    }
    let some = queries(&args(&["--queries", "7", "--mode", "or", "-k", "3"]), &searcher, &log).unwrap();
    assert!(some.len() == 7 && some.iter().all(|query| (query.mode, query.k) == (or, 3)));
}

#[test]
fn test_both_processors_are_measured() {
    let dir = tempfile::tempdir().unwrap();
    let (index, log) = (index(dir.path()), log(dir.path()));
    let searcher = Searcher::new(&index, None, Bm25::default()).unwrap();
    let all = queries(&args(&["--mode", "or", "-k", "10"]), &searcher, &log).unwrap();
    let cpu = measure::cpu(&searcher, &all, 1).unwrap();
    assert!(cpu.len() == 60 && cpu.iter().all(|&seconds| seconds > 0.0 && seconds < 1.0));
    let alone = learned("simdbp", &all, &cpu, None, 0.0).unwrap();
    assert_eq!((alone.facts.queries, &alone.facts.device, &alone.gpu), (60, &None, &None));
    assert_eq!(
        alone.facts.means.iter().map(|mean| (mean.all, mean.k, mean.queries)).collect::<Vec<_>>(),
        [(false, 10, 60)]
    );
    let Some(gpu) = testing::gpu() else { return };
    let device = measure::gpu(&searcher, &gpu, &all, 1).unwrap();
    let times: Vec<&Times> = device.times.iter().flatten().collect();
    assert_eq!(times.len(), 60, "the GPU answers all of them");
    assert!(times.iter().all(|times| times.alone > 0.0 && times.batched > 0.0));
    let sum = |part: fn(&Times) -> f64| times.iter().map(|times| part(times)).sum::<f64>();
    assert!(device.ready > 0.0 && device.per_posting > 0.0);
    let both = learned("simdbp", &all, &cpu, Some((&gpu, &device)), 0.25).unwrap();
    let facts = both.facts.device.as_ref().unwrap();
    assert_eq!((&facts.id.name, facts.opening), (&gpu.report().name, 0.25 + device.ready));
    let [alone, batched] = both.facts.means[0].gpu.unwrap();
    assert!((alone / (sum(|times| times.alone) / 60.0) - 1.0).abs() < 1e-9);
    assert!((batched / (sum(|times| times.batched) / 60.0) - 1.0).abs() < 1e-9);
    // all queries left to the CPU: nothing is known of the GPU
    let none = measure::Device { times: vec![None; 60], ..device };
    let left = learned("simdbp", &all, &cpu, Some((&gpu, &none)), 0.25).unwrap();
    assert_eq!((&left.facts.device, &left.gpu), (&None, &None));
    let text = output::one(&both, Here { now: both.facts.when + 7300, postings: 1000, threads: 4 });
    for part in
        ["codec simdbp: 60 queries, measured 2 hours ago", &gpu.report().name, "20 %", "22 %", "GPU, in batches"]
    {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert!(output::known(&Kept::default(), Here { now: 0, postings: 0, threads: 1 }).contains("a rule stands for"));
}

#[test]
fn test_single_steps_are_measured_on_both() {
    let Some(gpu) = testing::gpu() else { return };
    let dir = tempfile::tempdir().unwrap();
    let (index, log) = (index(dir.path()), dir.path().join("log.txt"));
    let lines: String = (0..60).map(|i| format!("all word{} word{} word{i}\n", i % 3, i % 7)).collect();
    std::fs::write(&log, lines).unwrap();
    let searcher = Searcher::new(&index, None, Bm25::default()).unwrap();
    let all = queries(&args(&["-k", "10"]), &searcher, &log).unwrap();
    assert!(all.len() > FEWEST);
    let names = Names { intersect: Some("svs,merge-path".to_owned()), ..Names::default() };
    let methods = Methods::chosen(EngineKind::Griffin, Mode::And, &names).unwrap();
    let chosen = steps::chosen(&all);
    assert_eq!(chosen.len(), all.len());
    let measured = steps::measure(&searcher, &gpu, &methods, &chosen, 1).unwrap();
    // by two of four rules each first step is on either processor, and the next one is behind a move
    for of in 0..2 {
        let first = measured.steps[of].iter().filter(|(features, _)| features.first).count();
        assert_eq!(first, 2 * all.len());
        assert!(measured.moves[of].len() >= FEWEST && measured.steps[of].len() > first);
        assert!(measured.steps[of].iter().all(|(features, seconds)| {
            *seconds > 0.0 && features.candidates <= features.list && features.last.is_none_or(|k| k == 10)
        }));
        assert!(measured.moves[of].iter().all(|&(candidates, seconds)| candidates > 0 && seconds > 0.0));
    }
    let cpu = vec![1e-3; all.len()];
    let times = vec![Some(Times { alone: 1e-3, batched: 1e-4 }); all.len()];
    let device = measure::Device { times, ready: 0.1, per_posting: 1e-9 };
    let mut calibration = learned(&searcher.codec_name(), &all, &cpu, Some((&gpu, &device)), 0.1).unwrap();
    add_steps(&mut calibration, &searcher, &gpu, &methods, &all, 1).unwrap();
    let here = Here { now: calibration.facts.when, postings: 1_000_000_000, threads: 1 };
    let object = output::object(std::slice::from_ref(&calibration), None, here);
    let pays = object["calibrations"][0]["gpu_pays_from"].as_array().unwrap();
    // a second for the postings and two tenths to open it, of which each query wins 0.9 ms
    assert!(!pays.is_empty() && pays.iter().all(|from| from == 1334), "{pays:?}");
    let text = output::one(&calibration, here);
    for part in [
        "steps by svs and merge-path: ",
        "CPU, a step",
        "GPU, a step",
        "a move to the CPU",
        "a move to the GPU",
        "GPU pays from",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    // what brought lists, or ran elsewhere the second time, is no step
    let trace = |on, brought| {
        let (candidates, list, no_room, left, seconds) = (5, 9, false, 3, 1e-3);
        let step = Step { candidates, list, on, no_room, left, seconds, brought, moved: None, expected: None };
        Trace { steps: vec![step], ranking: 1e-4, ..Trace::default() }
    };
    let (here, there) = (trace(Machine::Gpu, 0), trace(Machine::Cpu, 0));
    for (traces, counted) in [
        (vec![here.clone(), here.clone(), here.clone()], 1),
        (vec![here.clone(), there], 0),
        (vec![here, trace(Machine::Gpu, 8)], 0),
        (vec![], 0),
    ] {
        let mut measured = MeasuredSteps::default();
        steps::add(&mut measured, &all[0], &traces);
        assert_eq!(measured.steps[1].len(), counted, "{traces:?}");
    }
}
