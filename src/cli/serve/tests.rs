//! The threads of an index under load: every scheduler and cache gives the answers of the plain CPU, and a thread that
//! panics harms nobody else.

use super::place::Place;
use crate::cli::query::{Settings, ask};
use crate::index::Index;
use crate::index::tests::{Plan, Text, build};
use crate::query::dispatch::Batches;
use crate::query::engine::Fallback;
use crate::query::{Mode, Scores};
use crate::serve::{Ask, Counts, Job, Kept, Log, LogForm, Outcome, Residents, Work};
use clap::Parser as _;
use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

#[derive(clap::Parser)]
struct Line {
    #[command(flatten)]
    settings: Settings,
}

fn settings(line: &str) -> Settings {
    Line::parse_from(std::iter::once("x").chain(line.split_whitespace())).settings
}

/// What nothing here should take, also where a software adapter compiles its kernels beside other tests.
const PATIENCE: Duration = Duration::from_secs(1000);

const WORDS: [&str; 7] = ["red", "apple", "pie", "tree", "leaf", "root", "stem"];

fn index(dir: &Path) -> PathBuf {
    let word = |i: usize, n: usize| WORDS[(i * n + i / 7) % WORDS.len()];
    let text = |i: usize| (format!("d{i}"), (1..i % 9 + 2).map(|n| word(i, n)).collect::<Vec<_>>().join(" "));
    let texts: Vec<(String, String)> = (0..400).map(text).collect();
    let texts: Vec<Text<'_>> = texts.iter().map(|(id, text)| (id.as_str(), "", "", text.as_str())).collect();
    let target = dir.join("index");
    build(&target, &texts, &Plan { impacts: Some(2), ..Plan::default() }).unwrap();
    target
}

fn place(path: &Path, line: &str, parallel: bool, most: usize, cache: u64) -> Place {
    Place {
        path: path.to_owned(),
        name: "index".to_owned(),
        settings: settings(line),
        cache,
        threads: 2,
        batches: Batches { most, postings: 1 << 40, wait: Duration::from_micros(300) },
        parallel,
        max_terms: 20,
        log: Log::new(LogForm::None, Box::new(std::io::sink())).into(),
    }
}

/// Ids that no document has are said in the log, which nobody waits for, and once for both kinds of score.
#[test]
fn test_unknown_ids_are_said_once() {
    let dir = tempfile::tempdir().unwrap();
    let (path, ids) = (index(dir.path()), dir.path().join("ids"));
    std::fs::write(&ids, "nobody\nno one\n").unwrap();
    let (kept, line) = (Kept::default(), format!("--within {}", ids.display()));
    let log = Arc::new(Log::new(LogForm::Lines, Box::new(kept.clone())));
    let (residents, _) = open(Place { log: Arc::clone(&log), ..place(&path, &line, false, 4, 0) });
    residents.close();
    log.finish();
    assert_eq!(kept.text(), "gamut: no document has the id nobody, and 1 more ids\n");
}

fn open(place: Place) -> (Residents, Arc<Counts>) {
    let counts = Arc::new(Counts::new());
    (Residents::new(Arc::new(place), Arc::clone(&counts), 10_000).unwrap(), counts)
}

fn send(index: &Residents, work: Work) -> oneshot::Receiver<Outcome> {
    let (reply, answer) = oneshot::channel();
    let deadline = Instant::now() + PATIENCE;
    assert!(index.put(Job { work, deadline, reply }).is_ok());
    answer
}

fn query(text: &str) -> Work {
    Work::Search(vec![Ask { text: text.to_owned(), ..Ask::default() }])
}

/// An answer without what differs from run to run, and from engine to engine.
fn plain(json: &[u8]) -> serde_json::Value {
    let mut value: serde_json::Value = serde_json::from_slice(json).unwrap();
    let object = value.as_object_mut().unwrap();
    ["seconds", "engine"].into_iter().for_each(|name| _ = object.remove(name).unwrap());
    value
}

/// Queries of all kinds.
fn asks() -> Vec<Ask> {
    let modes = [Mode::And, Mode::Or, Mode::AndOr];
    let ask = |i: usize| Ask {
        text: format!(
            "{} {} {}",
            WORDS[i % 7],
            WORDS[i / 7 % 7],
            if i.is_multiple_of(5) { "nothing" } else { WORDS[i / 3 % 7] }
        ),
        mode: Some(modes[i % 3]),
        k: Some([1, 10, 500][i / 4 % 3]),
        scores: i.is_multiple_of(6).then_some(Scores::Impacts),
        ..Ask::default()
    };
    (0..120).map(ask).collect()
}

/// What `gamut query` says to them on the CPU.
fn expected(path: &Path, asks: &[Ask]) -> Vec<serde_json::Value> {
    let index = Index::open(path).unwrap();
    let answer = |one: &Ask| {
        let own = settings("");
        let scores = one.scores.or(own.scores);
        let own = Settings { mode: one.mode.unwrap(), k: one.k.unwrap(), scores, ..own };
        let searcher = own.searcher(&index).unwrap();
        let mut engine = Fallback::on_cpu(&searcher, &own.methods().unwrap());
        let answer = ask(&own, &mut engine, &one.text).unwrap();
        let mut json = Vec::new();
        answer.write_json(&mut json, &own, &searcher, false).unwrap();
        plain(&json)
    };
    asks.iter().map(answer).collect()
}

fn count(counts: &Counts, name: &str) -> u64 {
    let text = counts.print();
    let line = text.lines().find_map(|line| line.strip_prefix(&format!("gamut_{name}_total ")));
    line.unwrap_or_else(|| panic!("{text}")).parse().unwrap()
}

/// The device of tests, if there is one.
fn device() -> Option<String> {
    crate::gpu::testing::gpu().map(|_| std::env::var("GAMUT_TEST_DEVICE").unwrap_or_else(|_| "0".to_owned()))
}

/// Words are counted when they are terms: one between spaces can be many.
#[test]
fn test_too_many_terms() {
    let dir = tempfile::tempdir().unwrap();
    let path = index(dir.path());
    let (index, _counts) = open(place(&path, "", false, 1, 0));
    for (terms, good) in [(20, true), (21, false)] {
        let terms = (0..terms).map(|i| (format!("t{i}"), 1.0)).collect();
        let answer = send(&index, Work::Search(vec![Ask { terms, ..Ask::default() }])).blocking_recv();
        let Ok(Outcome::Answers(answers)) = answer else { panic!("{answer:?}") };
        match &answers[0] {
            Ok(_) => assert!(good),
            Err(error) => assert!(!good && error.contains("21 terms; this server takes 20"), "{error}"),
        }
    }
}

#[test]
fn test_every_scheduler_gives_the_same_answers_under_load() {
    let dir = tempfile::tempdir().unwrap();
    let path = index(dir.path());
    let asks = asks();
    let expected = expected(&path, &asks);
    let mut places = vec![place(&path, "", false, 1, 0), place(&path, "", false, 1, 1 << 20)];
    if let Some(device) = device() {
        let gpu = format!("--engine gpu --preload --device {device}");
        places.push(place(&path, &gpu, false, 16, 0));
        places.push(place(&path, &gpu, true, 1, 0));
        places.push(place(&path, &gpu, true, 64, 1 << 20));
        places.push(place(&path, &format!("--engine griffin --mode and --device {device}"), true, 8, 0));
    }
    for place in places {
        let name = format!("{:?} parallel {} {:?}", place.settings.engine_kind(), place.parallel, place.batches);
        let (index, counts) = open(place);
        std::thread::scope(|scope| {
            for client in 0..4 {
                let (index, asks, expected, name) = (&index, &asks, &expected, &name);
                scope.spawn(move || {
                    // one by one, and all in one request
                    for turn in 0..asks.len() {
                        let number = (turn * 7 + client * 31) % asks.len();
                        let answer = send(index, Work::Search(vec![asks[number].clone()])).blocking_recv();
                        let Ok(Outcome::Answers(answers)) = answer else { panic!("{name}: {answer:?}") };
                        assert_eq!(plain(answers[0].as_ref().unwrap()), expected[number], "{name}: {number}");
                    }
                    let answer = send(index, Work::Search(asks.clone())).blocking_recv();
                    let Ok(Outcome::Answers(answers)) = answer else { panic!("{name}: {answer:?}") };
                    for (number, (answer, expected)) in answers.iter().zip(expected).enumerate() {
                        assert_eq!(&plain(answer.as_ref().unwrap()), expected, "{name}: {number}, of many");
                    }
                });
            }
        });
        assert_eq!(index.waiting(), 0);
        let count = |name| count(&counts, name);
        let searched = count("queries_by_cpu") + count("queries_by_gpu") + count("cache_hits");
        assert_eq!((searched, count("panics")), (4 * 2 * asks.len() as u64, 0), "{name}");
        index.close();
    }
}

/// Only the request that is to blame fails, wherever its thread panics, and the threads go on.
#[test]
fn test_a_panic_harms_nobody_else() {
    let dir = tempfile::tempdir().unwrap();
    let path = index(dir.path());
    let mut places = vec![place(&path, "", false, 1, 0)];
    if let Some(device) = device() {
        let gpu = format!("--engine gpu --device {device}");
        places.extend([place(&path, &gpu, false, 16, 0), place(&path, &gpu, true, 16, 0)]);
    }
    for place in places {
        let (index, counts) = open(place);
        let mut answers = Vec::new();
        // more than there are threads
        for word in &WORDS[..6] {
            for bad in ["panicwhenlookedup", "panicwhensearched"] {
                answers.push((false, send(&index, query(&format!("red {bad}")))));
                answers.push((true, send(&index, query(word))));
            }
        }
        let all = vec!["red".to_owned(), "red panicwhensearched".to_owned(), "apple".to_owned()];
        let asks = all.into_iter().map(|text| Ask { text, ..Ask::default() }).collect();
        answers.push((false, send(&index, Work::Search(asks))));
        for (good, answer) in answers {
            match answer.blocking_recv() {
                Ok(Outcome::Answers(answers)) => assert!(good && answers[0].is_ok()),
                Ok(Outcome::Failed(_)) | Err(_) => assert!(!good),
                other => panic!("{other:?}"),
            }
        }
        assert!(matches!(send(&index, Work::Stats).blocking_recv(), Ok(Outcome::Found(_))));
        // six as they were looked up, and seven as they were searched; by a GPU, their batches before that. They are
        // counted a moment after the request has failed
        let late = Instant::now() + Duration::from_secs(20);
        while count(&counts, "panics") < 13 && Instant::now() < late {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!((13..=26).contains(&count(&counts, "panics")), "{}", counts.print());
        index.close();
    }
}

/// A document does not wait for the batch of a GPU.
#[test]
fn test_documents_wait_for_no_batch() {
    let Some(device) = device() else { return };
    let dir = tempfile::tempdir().unwrap();
    let path = index(dir.path());
    let mut place = place(&path, &format!("--engine gpu --device {device}"), false, 1000, 0);
    place.batches.wait = Duration::from_secs(20);
    let (index, _) = open(place);
    let mut search = send(&index, query("red"));
    let found = send(&index, Work::Document("d7".to_owned())).blocking_recv();
    assert!(matches!(found, Ok(Outcome::Found(_))), "{found:?}");
    assert!(search.try_recv().is_err(), "the batch still waits for others");
    // the end does not wait
    index.close();
    assert!(matches!(search.blocking_recv(), Ok(Outcome::Answers(_))));
}

/// A GPU that is lost in mid-load, several times: no answer is wrong or missing, threads of the CPU go on, and it comes
/// back.
#[test]
fn test_a_device_is_lost_and_back_under_load() {
    let Some(device) = device() else { return };
    let dir = tempfile::tempdir().unwrap();
    let path = index(dir.path());
    let mut asks = asks();
    // the other kind of score is for the CPU
    asks.iter_mut().for_each(|ask| ask.scores = None);
    let expected = expected(&path, &asks);
    for (line, parallel, most) in
        [("--engine gpu", false, 16), ("--engine gpu", true, 16), ("--engine griffin --mode and", true, 1)]
    {
        let (index, counts) = open(place(&path, &format!("{line} --device {device}"), parallel, most, 0));
        let lost = AtomicBool::new(false);
        let patience = Instant::now() + PATIENCE;
        std::thread::scope(|scope| {
            for client in 0..3 {
                let (index, asks, expected, lost) = (&index, &asks, &expected, &lost);
                scope.spawn(move || {
                    let mut turn = client;
                    while turn < 200 || (!lost.load(Relaxed) && Instant::now() < patience) {
                        turn += 1;
                        let number = (turn * 7 + client * 31) % asks.len();
                        let answer = send(index, Work::Search(vec![asks[number].clone()])).blocking_recv();
                        let Ok(Outcome::Answers(answers)) = answer else { panic!("{line}: {answer:?}") };
                        assert_eq!(plain(answers[0].as_ref().unwrap()), expected[number], "{line}: {number}");
                    }
                });
            }
            // more and more, until a GPU takes some of them, however little the CPU is expected to take for one
            let many = Cell::new(500);
            let flood = |text: &str, what: &str| {
                let ask = Ask { text: text.to_owned(), ..Ask::default() };
                let asks = vec![ask; many.get()];
                many.set((2 * many.get()).min(8000));
                let Ok(Outcome::Answers(answers)) = send(&index, Work::Search(asks)).blocking_recv() else {
                    panic!("{line}: no answers")
                };
                assert!(answers.iter().all(|answer| answer.is_ok()));
                assert!(Instant::now() < patience, "{line}: {what}\n{}", counts.print());
            };
            for loss in 1..=2 {
                while count(&counts, "devices_lost") < loss {
                    flood("red devicelost", "never lost");
                }
                while count(&counts, "devices_back") < loss {
                    flood("red", "never back");
                }
                let before = count(&counts, "queries_by_gpu");
                while count(&counts, "queries_by_gpu") < before + 5 {
                    flood("red", "takes nothing");
                }
            }
            lost.store(true, Relaxed);
        });
        assert_eq!((index.waiting(), count(&counts, "panics")), (0, 0), "{line}");
        index.close();
    }
}
