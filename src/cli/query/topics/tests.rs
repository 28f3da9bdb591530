//! The same bytes by every window and number of threads, and from every point where a run can end.

use super::windows::{answer_all, most_behind};
use super::*;
use crate::base::means::Means;
use crate::gpu::testing::gpu;
use crate::gpu::{self, Gpu};
use crate::index::Index;
use crate::index::tests::{Plan, build};
use crate::query::engine::{Fallback, Methods, Names};
use crate::query::gpu::Options;
use crate::query::schedule::Schedule;
use crate::query::{Bm25, Mode};
use std::fs;

const WORDS: [&str; 6] = ["red", "apple", "pie", "tree", "leaf", "wood"];

fn index(dir: &Path) -> Index {
    let text = |i: usize| (0..6).filter(|w| i.is_multiple_of(w + 2)).map(|w| WORDS[w]).collect::<Vec<_>>().join(" ");
    let docs: Vec<_> = (0..500).map(|i| (format!("http://a.test/{i} \u{e9}"), text(i))).collect();
    let docs: Vec<_> = docs.iter().map(|(id, text)| (id.as_str(), "", "", text.as_str())).collect();
    build(&dir.join("index"), &docs, &Plan::default()).unwrap();
    Index::open(&dir.join("index")).unwrap()
}

fn topics(count: usize) -> String {
    let words = |i: usize| format!("{} {}", WORDS[i % 6], if i % 11 == 3 { "unheard" } else { WORDS[i / 6 % 6] });
    (0..count).map(|i| format!("q{i}\t{}\n", if i % 17 == 5 { "!?".to_owned() } else { words(i) })).collect()
}

struct Case<'a> {
    searcher: &'a Searcher<'a>,
    topics: String,
    form: Form,
    window: usize,
    threads: usize,
    /// How many topics the reader believes there are.
    guess: u64,
}

impl Case<'_> {
    fn answer(&self, done: Done, sink: &mut impl Sink) -> Result<Done> {
        let methods = Methods::chosen(EngineKind::Cpu, Mode::Or, &Names::default()).unwrap();
        self.answer_by(|| Ok(Fallback::on_cpu(self.searcher, &methods)), done, sink)
    }

    fn answer_by<'e>(&self, engine: impl Engines<'e>, done: Done, sink: &mut impl Sink) -> Result<Done> {
        let schedule = Schedule::default();
        let means = Means::new(self.threads, 1 << 20);
        let (form, window, clock) = (&self.form, &AtomicUsize::new(self.window), &Clock::new(Instant::now()));
        let (mode, guess) = (Mode::Or, &|_| self.guess);
        let work = Work {
            mode,
            k: 20,
            schedule: &schedule,
            name: "standard input",
            partial: "what was left",
            form,
            window,
            guess,
            clock,
            means: &means,
            over: &AtomicBool::new(false),
        };
        answer_all(self.searcher, engine, TopicReader::new(self.topics.as_bytes()).unwrap(), &work, done, sink)
    }

    fn bytes(&self) -> (Vec<u8>, Done) {
        let mut all = All::default();
        let done = self.answer(Done::default(), &mut all).unwrap();
        (all.bytes, done)
    }
}

/// Keeps everything.
#[derive(Default)]
struct All {
    bytes: Vec<u8>,
    windows: usize,
}

impl Sink for All {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.bytes.extend(bytes);
        Ok(())
    }

    fn done(&mut self, _: &Done) -> Result<()> {
        self.windows += 1;
        Ok(())
    }
}

/// Fails at a number of calls, as a disk that is full does.
struct Failing(Writer, usize);

impl Failing {
    fn tick(&mut self) -> Result<()> {
        self.1 = self.1.checked_sub(1).ok_or(Error::Interrupted)?;
        Ok(())
    }
}

impl Sink for Failing {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let (now, later) = bytes.split_at(bytes.len() / 2);
        self.0.write(now)?;
        self.tick()?;
        self.0.write(later)
    }

    fn done(&mut self, done: &Done) -> Result<()> {
        self.tick()?;
        self.0.done(done)
    }
}

fn form(format: RunFormat) -> Form {
    Form { format, tag: "t".to_owned() }
}

#[test]
fn test_windows_and_threads_leave_no_trace() {
    let dir = tempfile::tempdir().unwrap();
    let index = index(dir.path());
    let searcher = Searcher::new(&index, None, Bm25::default()).unwrap();
    let searcher = &searcher;
    for format in [RunFormat::Trec, RunFormat::Json, RunFormat::Tsv] {
        let case =
            |window, threads| Case { searcher, topics: topics(301), form: form(format), window, threads, guess: 0 };
        let whole = case(1 << 18, 1).bytes();
        assert_eq!((whole.1.topics, whole.1.answered), (301, 283));
        for (window, threads) in [(1, 1), (1, 4), (7, 4), (300, 2), (301, 3), (1 << 18, 4)] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            assert!(pool.install(|| case(window, threads).bytes()) == whole, "{format:?} {window} {threads}");
        }
    }
}

/// The last windows are small, but not too small.
#[test]
fn test_sizes_of_windows() {
    let window = 1 << 18;
    let sizes = |count, all| most_behind(count, all, window);
    assert_eq!([0, 1000, 99_000].map(|count| sizes(count, 0)), [window; 3], "nobody knows how many there are");
    assert_eq!(sizes(0, 10_000_000), window);
    assert_eq!(sizes(9_500_000, 10_000_000), 125_000);
    assert_eq!([9_990_000, 10_000_000, 20_000_000].map(|count| sizes(count, 10_000_000)), [1 << 13; 3]);
    assert_eq!(most_behind(9_990_000, 10_000_000, 10_000), 1 << 12);
    assert_eq!([1, 50, 4000].map(|window| most_behind(90, 100, window)), [1, 50, 4000], "no more than a window has");
}

/// However wrong the guess is, the windows have all topics, and the same bytes come of them.
#[test]
fn test_a_wrong_guess_leaves_no_trace() {
    let dir = tempfile::tempdir().unwrap();
    let index = index(dir.path());
    let searcher = &Searcher::new(&index, None, Bm25::default()).unwrap();
    let topics = topics(26_000);
    let all = |window, guess| {
        let case = Case { searcher, topics: topics.clone(), form: form(RunFormat::Tsv), window, threads: 2, guess };
        let mut all = All::default();
        let done = case.answer(Done::default(), &mut all).unwrap();
        (all, done)
    };
    let (expected, done) = all(16_384, 0);
    assert_eq!((done.topics, expected.windows), (26_000, 4));
    for (window, guess, windows) in [(16_384, 26_000, 7), (16_384, 100, 7), (16_384, 1_000_000, 4), (300, 26_000, 87)] {
        let found = all(window, guess);
        assert!(found.0.bytes == expected.bytes && found.1 == done, "{window} {guess}");
        assert_eq!(found.0.windows, windows, "{window} {guess}");
    }
}

/// Each window goes to whichever of two devices is free; lines come in the order of the topics, and what ends a run
/// ends it behind whole windows.
#[test]
fn test_devices_answer_windows_at_the_same_time() {
    let Some(one) = gpu() else { return };
    let other = Gpu::open(&gpu::Choice::Named(one.report().index.to_string())).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let index = index(dir.path());
    let searcher = &Searcher::new(&index, None, Bm25::default()).unwrap();
    let case =
        |topics: String| Case { searcher, topics, form: form(RunFormat::Trec), window: 10, threads: 2, guess: 0 };
    let lost = AtomicUsize::new(0);
    let methods = Methods::chosen(EngineKind::Gpu, Mode::Or, &Names::default()).unwrap();
    let engine = || {
        let failed = Box::new(|_: &Error| _ = lost.fetch_add(1, Ordering::Relaxed));
        Fallback::on_gpu(searcher, &methods, Mode::Or, &[one.clone(), other.clone()], Options::default(), failed)
    };
    let expected = case(topics(95)).bytes();
    let mut all = All::default();
    let done = case(topics(95)).answer_by(engine, Done::default(), &mut all).unwrap();
    assert!((&all.bytes, all.windows) == (&expected.0, 10));
    assert_eq!(Done { by_cpu: 0, ..done }, expected.1);
    // a bad topic in the fourth window, and a sink that takes no more
    let mut all = All::default();
    let bad = topics(35) + "q3\tred\n" + &topics(95).replace('q', "p");
    assert!(case(bad).answer_by(engine, Done::default(), &mut all).unwrap_err().to_string().contains("q3"));
    assert!(all.windows == 3 && expected.0.starts_with(&all.bytes), "{} windows", all.windows);
    let path = dir.path().join("run");
    let mut failing = Failing(writer(&path).unwrap().0, 5);
    assert!(case(topics(95)).answer_by(engine, Done::default(), &mut failing).is_err());
    drop(failing);
    assert_eq!(writer(&path).unwrap().1.topics, 20);
    // a device that is lost leaves its windows to the CPU
    let lost_later = || {
        let engine = engine();
        other.destroy();
        engine
    };
    let mut all = All::default();
    let done = case(topics(95)).answer_by(lost_later, Done::default(), &mut all).unwrap();
    assert!(all.bytes == expected.0 && done.topics == 95);
    assert!(lost.load(Ordering::Relaxed) <= 1);
}

#[test]
fn test_lines_are_those_of_the_answers() {
    let dir = tempfile::tempdir().unwrap();
    let index = index(dir.path());
    let searcher = Searcher::new(&index, None, Bm25::default()).unwrap();
    let (mut trec, mut tsv, mut json) = (String::new(), String::new(), String::new());
    for line in topics(40).lines() {
        let (id, text) = line.split_once('\t').unwrap();
        let hits = searcher.search(&searcher.plan(&searcher.parse(text).unwrap()).unwrap(), Mode::Or, 20).unwrap();
        let mut objects = Vec::new();
        for (rank, hit) in (1..).zip(hits) {
            let name = index.name(hit.doc).unwrap().id;
            trec += &format!("{id} Q0 {} {rank} {} t\n", name.replace(' ', "%20"), hit.score);
            tsv += &format!("{id}\t{name}\t{rank}\t{}\n", hit.score);
            objects.push(format!("{{\"rank\":{rank},\"id\":\"{name}\",\"score\":{}}}", hit.score));
        }
        json += &format!("{{\"id\":\"{id}\",\"hits\":[{}]}}\n", objects.join(","));
    }
    for (format, expected) in [(RunFormat::Trec, trec), (RunFormat::Tsv, tsv), (RunFormat::Json, json)] {
        let case =
            Case { searcher: &searcher, topics: topics(40), form: form(format), window: 9, threads: 2, guess: 0 };
        assert_eq!(String::from_utf8(case.bytes().0).unwrap(), expected, "{format:?}");
    }
}

fn job(options: &str) -> Job {
    Job { gamut: "1".to_owned(), index: "2".to_owned(), options: options.to_owned() }
}

fn writer(path: &Path) -> Result<(Writer, Done)> {
    let (target, done) = target(path, (true, false), job("or"))?;
    Ok((Writer::new(target, Duration::ZERO), done))
}

/// Ends a run at every call of its sink; the next one goes on, with another window, and gives the same file.
#[test]
fn test_a_run_goes_on_from_every_point() {
    let dir = tempfile::tempdir().unwrap();
    let index = index(dir.path());
    let searcher = Searcher::new(&index, None, Bm25::default()).unwrap();
    let case = |window| Case {
        searcher: &searcher,
        topics: topics(60),
        form: form(RunFormat::Trec),
        window,
        threads: 2,
        guess: 0,
    };
    let (expected, all) = case(10).bytes();
    let path = dir.path().join("run");
    let mut went_on = 0;
    for end in 0.. {
        let (first, done) = writer(&path).unwrap();
        assert_eq!(done, Done::default(), "nothing is left of the run before");
        let mut failing = Failing(first, end);
        let outcome = case(10).answer(done, &mut failing);
        if outcome.is_ok() {
            assert_eq!(end, 12, "a piece and an end for each of six windows");
            break;
        }
        drop(failing);
        assert!(!path.exists());
        let (mut second, done) = writer(&path).unwrap();
        went_on += u32::from(done.topics > 0);
        assert_eq!(done.topics as usize, 10 * (end / 2));
        assert_eq!(case(7).answer(done, &mut second).unwrap(), all);
        second.finish().unwrap();
        assert!(fs::read(&path).unwrap() == expected, "ended at call {end}");
        fs::remove_file(&path).unwrap();
    }
    assert_eq!(went_on, 10);
}

#[test]
fn test_a_run_goes_on_only_if_it_is_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let index = index(dir.path());
    let searcher = Searcher::new(&index, None, Bm25::default()).unwrap();
    let case = |topics: String| Case {
        searcher: &searcher,
        topics,
        form: form(RunFormat::Trec),
        window: 10,
        threads: 2,
        guess: 0,
    };
    let path = dir.path().join("run");
    let (first, done) = writer(&path).unwrap();
    let mut failing = Failing(first, 5);
    assert!(case(topics(60)).answer(done, &mut failing).is_err());
    drop(failing);
    let refused = |options: &str| target(&path, (true, false), job(options)).err().map(|error| error.to_string());
    assert!(refused("and").is_some_and(|error| error.contains("other options") && error.contains(".run.part")));
    let (mut second, done) = writer(&path).unwrap();
    assert_eq!(done.topics, 20);
    for others in [topics(60).replace("red", "pie"), topics(19), topics(60).replace("q0\t", "q\t")] {
        let error = case(others).answer(done.clone(), &mut second).unwrap_err().to_string();
        let expected = "in standard input: the first 20 topics: are not those that were answered; remove what was left";
        assert!(error.contains(expected), "{error}");
    }
    let longer = topics(60) + "q60\tred\n";
    assert_eq!(case(longer.clone()).answer(done, &mut second).unwrap().topics, 61, "what is not answered may change");
    second.finish().unwrap();
    assert!(fs::read(&path).unwrap() == case(longer).bytes().0);
}
