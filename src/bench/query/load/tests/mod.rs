//! Loads in virtual time, without sleeping. Times of the machine are not checked.

mod command;

use super::dispatched;
use super::output;
use super::rows::Level;
use super::search::tests::Made as Tries;
use super::search::{self, Highest, WITHIN};
use super::serve::{self, Load, Queue, Run, Time};
use super::*;
use crate::query::dispatch::{Batches, Counts, Rules, Scale};
use crate::query::engine::{Answers, Effort};
use clap::Parser as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

#[derive(clap::Parser)]
struct CommandLine {
    #[command(flatten)]
    args: Args,
}

fn poisson(rate: f64, count: usize, seed: u64) -> Vec<f64> {
    Arrivals::Poisson(seed).times(rate, count)
}

fn args(line: &str) -> Args {
    CommandLine::parse_from(std::iter::once("x").chain(line.split_whitespace())).args
}

/// A clock that only servers move.
#[derive(Default)]
struct Virtual {
    /// The bits of a number of seconds.
    now: AtomicU64,
    /// Seconds by which a sleeper wakes too late.
    oversleeps: f64,
}

impl Virtual {
    fn set(&self, to: f64) {
        self.now.store(to.to_bits(), Ordering::Relaxed);
    }
}

impl Time for Virtual {
    fn now(&self) -> f64 {
        f64::from_bits(self.now.load(Ordering::Relaxed))
    }

    fn wait_until(&self, at: f64) {
        if at > self.now() {
            self.set(at + self.oversleeps);
        }
    }
}

impl Time for &Virtual {
    fn now(&self) -> f64 {
        (*self).now()
    }

    fn wait_until(&self, at: f64) {
        (*self).wait_until(at);
    }
}

/// Takes so many seconds for whatever it is asked at once.
struct Fixed<'a> {
    time: &'a Virtual,
    seconds: f64,
    most: usize,
    asked: Vec<Vec<usize>>,
}

impl<'a> Fixed<'a> {
    fn new(time: &'a Virtual, seconds: f64, most: usize) -> Self {
        Self { time, seconds, most, asked: Vec::new() }
    }
}

/// The right answer of a query.
fn right(query: usize) -> Vec<Hit> {
    vec![Hit { doc: query as u32, score: 1.0 }]
}

impl Server for Fixed<'_> {
    fn most(&self) -> usize {
        self.most
    }

    fn serve(&mut self, queries: &[usize], _: &[usize], _: &mut dyn FnMut()) -> crate::Result<Answers> {
        self.time.set(self.time.now() + self.seconds);
        self.asked.push(queries.to_vec());
        Ok(Answers { hits: queries.iter().map(|&query| right(query)).collect(), effort: Effort::Cpu(Vec::new()) })
    }
}

/// Runs servers in virtual time: the one whose clock is furthest behind is the next that is free.
fn simulate(load: Load<'_>, servers: &mut [Fixed<'_>]) -> anyhow::Result<Run> {
    let queue = Queue::new(load);
    let mut run = Run::default();
    let mut busy: Vec<usize> = (0..servers.len()).collect();
    while let Some(at) =
        (0..busy.len()).min_by(|&a, &b| servers[busy[a]].time.now().total_cmp(&servers[busy[b]].time.now()))
    {
        let time = servers[busy[at]].time;
        if !queue.turn(&mut servers[busy[at]], time, &mut run)? {
            busy.remove(at);
        }
    }
    Ok(run)
}

fn load<'a>(arrivals: &'a [f64], expected: &'a [Vec<Hit>]) -> Load<'a> {
    Load { arrivals, expected, deadline: f64::INFINITY, stop: false }
}

fn all_right(queries: usize) -> Vec<Vec<Hit>> {
    (0..queries).map(right).collect()
}

/// The latencies of servers with one queue, each query taken by the server that is free first.
fn plain_latencies(arrivals: &[f64], servers: usize, seconds: f64) -> Vec<f64> {
    let mut free = vec![0.0f64; servers];
    let latency = |&at: &f64| {
        let first = (0..servers).min_by(|&a, &b| free[a].total_cmp(&free[b])).unwrap();
        free[first] = free[first].max(at) + seconds;
        free[first] - at
    };
    arrivals.iter().map(latency).collect()
}

fn sorted(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_by(f64::total_cmp);
    values
}

#[test]
fn test_known_service_times_give_known_latencies() {
    let expected = all_right(10);
    for (servers, rate) in [(1, 50.0), (1, 99.0), (1, 300.0), (3, 250.0), (4, 1000.0)] {
        let arrivals = poisson(rate, 3000, 5);
        let times: Vec<Virtual> = (0..servers).map(|_| Virtual::default()).collect();
        let mut all: Vec<Fixed<'_>> = times.iter().map(|time| Fixed::new(time, 0.01, 1)).collect();
        let run = simulate(load(&arrivals, &expected), &mut all).unwrap();
        let plain = sorted(plain_latencies(&arrivals, servers, 0.01));
        assert_eq!(run.latencies.len(), 3000);
        assert!(sorted(run.latencies).iter().zip(&plain).all(|(a, b)| (a - b).abs() < 1e-9), "{servers} at {rate}");
        assert_eq!(run.compared, 3000usize.div_ceil(serve::SAMPLE));
        assert!(all.iter().all(|server| !server.asked.is_empty()), "each has its part");
    }
}

/// A server that is asked only when it is free would see two seconds each time.
#[test]
fn test_latency_counts_from_arrival_under_overload() {
    let arrivals: Vec<f64> = (0..10).map(f64::from).collect();
    let expected = all_right(3);
    let time = Virtual::default();
    let mut server = [Fixed::new(&time, 2.0, 1)];
    let run = simulate(Load { deadline: 5.5, ..load(&arrivals, &expected) }, &mut server).unwrap();
    assert_eq!(run.latencies, (2..12).map(f64::from).collect::<Vec<_>>());
    assert_eq!((run.missed, run.late, run.seconds), (6, 0, 20.0));
    assert_eq!(server[0].asked.concat(), [0, 1, 2, 0, 1, 2, 0, 1, 2, 0], "over and over in their order");
    // the first that is late ends a run
    let time = Virtual::default();
    let stopping = Load { deadline: 5.5, stop: true, ..load(&arrivals, &expected) };
    let run = simulate(stopping, &mut [Fixed::new(&time, 2.0, 1)]).unwrap();
    assert_eq!((run.latencies, run.missed), (vec![2.0, 3.0, 4.0, 5.0, 6.0], 1));
}

#[test]
fn test_a_batch_is_what_arrived_while_the_last_one_ran() {
    let arrivals = [0.0, 0.1, 0.2, 0.3, 1.5, 7.0];
    let expected = all_right(6);
    let time = Virtual::default();
    let mut server = [Fixed::new(&time, 1.0, 2)];
    let run = simulate(load(&arrivals, &expected), &mut server).unwrap();
    assert_eq!(server[0].asked, [vec![0], vec![1, 2], vec![3, 4], vec![5]]);
    let expected = [1.0, 1.9, 1.8, 2.7, 1.5, 1.0];
    assert!(run.latencies.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-9), "{:?}", run.latencies);
}

#[test]
fn test_a_server_that_wakes_late_is_told_and_counts() {
    let expected = all_right(1);
    let time = Virtual { oversleeps: 0.25, ..Virtual::default() };
    // the second one waits for the first, which is no fault of the clock
    let run = simulate(load(&[1.0, 1.5, 9.0], &expected), &mut [Fixed::new(&time, 1.0, 1)]).unwrap();
    assert_eq!((run.late, run.latest), (2, 0.25));
    assert_eq!(run.latencies, [1.25, 1.75, 1.25]);
}

#[test]
fn test_the_highest_rate_of_a_fixed_service_time() {
    let expected = all_right(7);
    // a server answers 100 a second in the long run
    for (servers, deadline) in [(1, 0.05), (1, 0.5), (2, 0.1)] {
        let arrivals = |rate| poisson(rate, 5000, 3);
        let plain = |rate| plain_latencies(&arrivals(rate), servers, 0.01).iter().all(|&time| time <= deadline);
        let holds = |rate| {
            let arrivals = arrivals(rate);
            let times: Vec<Virtual> = (0..servers).map(|_| Virtual::default()).collect();
            let mut all: Vec<Fixed<'_>> = times.iter().map(|time| Fixed::new(time, 0.01, 1)).collect();
            let run = simulate(Load { deadline, stop: true, ..load(&arrivals, &expected) }, &mut all)?;
            Ok(run.missed == 0)
        };
        let found = search::highest(20.0, &mut Tries { can: |_| true, holds, again: |_| true, tried: 0 });
        let Highest::Rate(rate) = found.unwrap() else { panic!("no rate") };
        assert!(plain(rate) && !plain(rate * WITHIN), "{servers} servers, {deadline} s: {rate}");
        assert!(rate < 110.0 * servers as f64, "{rate}");
    }
}

#[test]
fn test_a_wrong_answer_under_load_is_an_error() {
    let arrivals = vec![0.0; 3 * serve::SAMPLE];
    let check = |wrong: usize| {
        let mut expected = all_right(arrivals.len());
        expected[wrong][0].score = f32::from_bits(1.0f32.to_bits() + 1);
        let time = Virtual::default();
        simulate(load(&arrivals, &expected), &mut [Fixed::new(&time, 1.0, 50)])
    };
    let error = check(2 * serve::SAMPLE).unwrap_err().to_string();
    assert!(error.contains("query 195 has a wrong answer") && error.contains("rank 1"), "{error}");
    assert_eq!(check(1).unwrap().compared, 3, "others are not compared");
}

/// Answers by the clock on the wall, or fails.
struct Quick {
    fails: bool,
}

impl Server for Quick {
    fn most(&self) -> usize {
        2
    }

    fn serve(&mut self, queries: &[usize], _: &[usize], _: &mut dyn FnMut()) -> crate::Result<Answers> {
        if self.fails {
            return Err(crate::Error::Invalid { what: "a server".to_owned(), why: "fails".to_owned() });
        }
        Ok(Answers { hits: queries.iter().map(|&query| right(query)).collect(), effort: Effort::Cpu(Vec::new()) })
    }
}

#[test]
fn test_threads_share_the_queue() {
    let (arrivals, expected) = (poisson(1e6, 5000, 1), all_right(11));
    let servers = |fails: [bool; 3]| fails.map(|fails| Box::new(Quick { fails }) as Box<dyn Server>);
    let run = serve::run(&mut servers([false; 3]), load(&arrivals, &expected)).unwrap();
    assert_eq!((run.latencies.len(), run.served.len(), run.served.iter().sum::<usize>()), (5000, 3, 5000));
    assert_eq!(run.compared, 5000usize.div_ceil(serve::SAMPLE));
    assert!(run.latencies.iter().all(|&latency| latency >= 0.0), "no answer before its query");
    let error = serve::run(&mut servers([true; 3]), load(&arrivals, &expected)).unwrap_err();
    assert!(error.to_string().contains("fails"), "{error}");
    assert!(serve::run(&mut servers([false; 3]), load(&arrivals, &[])).is_err(), "no query");
}

/// Takes as long as a query says; the first calls take ten times as long.
struct Made<'a> {
    time: &'a Virtual,
    seconds: fn(usize) -> f64,
    slow: usize,
    asked: Arc<Mutex<Vec<usize>>>,
}

impl Server for Made<'_> {
    fn most(&self) -> usize {
        1
    }

    fn serve(&mut self, queries: &[usize], _: &[usize], _: &mut dyn FnMut()) -> crate::Result<Answers> {
        let times = if self.slow > 0 { 10.0 } else { 1.0 };
        self.slow = self.slow.saturating_sub(1);
        self.time.set(self.time.now() + times * (self.seconds)(queries[0]));
        self.asked.lock().unwrap().extend(queries);
        Ok(Answers { hits: queries.iter().map(|&query| right(query)).collect(), effort: Effort::Cpu(Vec::new()) })
    }
}

/// A GPU that is slow at first, and a model that knows proportions only: each query goes where it is sooner.
#[test]
fn test_serialized_believes_what_is_timed_last() {
    let asked = [(); 2].map(|()| Arc::new(Mutex::new(Vec::new())));
    let time = Virtual::default();
    // the CPU takes 0.1 or 1 ms, and the GPU 0.4 ms
    let cpu = |query: usize| if query.is_multiple_of(2) { 1e-4 } else { 1e-3 };
    let made = |of: usize, seconds, slow| {
        Box::new(Made { time: &time, seconds, slow, asked: Arc::clone(&asked[of]) }) as Box<dyn Server>
    };
    for (warm_up, right) in [(0.5, true), (0.0, false)] {
        let servers = [made(0, cpu, 0), made(1, |_| 4e-4, 60)];
        let costs = (0..10).map(|query| [50.0 * cpu(query), 4e-6]).collect();
        let mut better = Better { time: &time, servers, costs, scales: Default::default() };
        better.take_times(&[0, 1, 2, 3], warm_up).unwrap();
        assert!(asked[0].lock().unwrap().len() >= 8 && asked[1].lock().unwrap().len() >= 8, "two turns at least");
        asked.iter().for_each(|asked| asked.lock().unwrap().clear());
        for query in (0..10).cycle().take(50) {
            better.serve(&[query], &[1], &mut || ()).unwrap();
        }
        let [on_cpu, on_gpu] = [0, 1].map(|of: usize| asked[of].lock().unwrap().clone());
        let split = on_cpu.iter().all(|query| query % 2 == 0) && on_gpu.iter().all(|query| query % 2 == 1);
        assert_eq!((split, on_cpu.len() + on_gpu.len()), (right, 50), "{on_cpu:?} {on_gpu:?}");
        asked.iter().for_each(|asked| asked.lock().unwrap().clear());
        // and the model is corrected as it goes
        let [of_cpu, of_gpu] = better.scales.map(Scale::factor);
        assert!((of_cpu - 0.02).abs() < 1e-4 && (!right || (of_gpu - 100.0).abs() < 0.01), "{of_cpu} {of_gpu}");
    }
}

fn desk(processors: &[Processor]) -> dispatched::Desk {
    let costs = |query| {
        let cpu = if query % 2 == 0 { 1e-6 } else { 1e-3 };
        (Costs { cpu, gpu: 1e-4, gpu_batched: 1e-5 }, 1000)
    };
    let rules = Rules { batches: Batches { most: 2, postings: 1 << 40, wait: Duration::ZERO }, ..Rules::default() };
    dispatched::Desk { rules, processors: processors.to_vec(), queries: (0..11).map(costs).collect(), scale: [1.0; 2] }
}

#[test]
fn test_a_dispatcher_shares_the_load_out() {
    let (arrivals, expected) = (poisson(1e5, 5000, 1), all_right(11));
    let servers = |fails: [bool; 3]| fails.map(|fails| Box::new(Quick { fails }) as Box<dyn Server>);
    let mut desk = desk(&[Processor::Cpu, Processor::Cpu, Processor::Gpu]);
    let run = dispatched::run(&mut servers([false; 3]), load(&arrivals, &expected), &mut desk).unwrap();
    assert_eq!((run.latencies.len(), run.served.iter().sum::<usize>()), (5000, 5000));
    assert_eq!(run.compared, 5000usize.div_ceil(serve::SAMPLE));
    assert!(run.latencies.iter().all(|&latency| latency >= 0.0), "no answer before its query");
    let counts = run.dispatched.unwrap();
    assert_eq!(counts.taken, [run.served[0] + run.served[1], run.served[2]]);
    assert_eq!(desk.scale, counts.scale, "the next run knows better");
    // one that fails ends it for all; where threads are late, it may be that one is never asked
    for fails in [[true; 3], [true, false, false], [false, false, true]] {
        match dispatched::run(&mut servers(fails), load(&arrivals, &expected), &mut desk) {
            Err(error) => assert!(error.to_string().contains("fails"), "{error}"),
            Ok(run) => assert!(run.served.iter().zip(fails).all(|(&served, fails)| !fails || served == 0), "{fails:?}"),
        }
    }
    // so does the first late answer, and a wrong one
    let late = Load { deadline: 0.0, stop: true, ..load(&arrivals, &expected) };
    let run = dispatched::run(&mut servers([false; 3]), late, &mut desk).unwrap();
    assert!(run.missed > 0 && run.latencies.len() < 5000, "{}", run.latencies.len());
    let mut wrong = all_right(11);
    wrong[serve::SAMPLE % 11][0].doc += 1;
    let error = dispatched::run(&mut servers([false; 3]), load(&arrivals, &wrong), &mut desk).unwrap_err();
    assert!(error.to_string().contains("wrong answer"), "{error}");
}

fn row() -> Row {
    let name =
        Name { engine: "parallel".to_owned(), mode: "and", method: "daat, x".to_owned(), threads: 3, batch: 256 };
    let level = |rate: f64, missed: usize, stopped: bool| {
        let latencies: Vec<f64> = (1..=1000).map(|i| f64::from(i) * 1e-3).collect();
        let dispatched =
            Some(Counts { taken: [250, 750], stolen: [7, 0], thresholds: [0.2, 0.75], ..Counts::default() });
        let run = Run { latencies, missed, served: vec![100, 150, 750], dispatched, ..Run::default() };
        Level { rate, arrivals: 1000, run, stopped }
    };
    let levels = vec![level(100.0, 0, false), level(200.0, 1, true), level(50.0, 0, false)];
    Row { name, highest: Some(Highest::Rate(100.0)), levels }
}

#[test]
fn test_rows_as_table_csv_and_chart() {
    let rows = [row(), Row { highest: Some(Highest::Below(0.5)), levels: Vec::new(), ..row() }];
    let table = output::table(&rows);
    assert_eq!(table.head[6..12], ["mean", "p50", "p95", "p99", "p99.9", "max"]);
    assert!(table.rows.iter().all(|row| row.len() == table.head.len()));
    let shown: Vec<&str> = table.rows.iter().map(|row| row[5].as_str()).collect();
    assert_eq!(shown, ["highest 100.0", "half 50.00", "below 0.5000"]);
    assert_eq!(table.rows[0][6..], ["500.5", "500.0", "950.0", "990.0", "999.0", "1000", "0", "75 %", "7 0"]);
    assert_eq!(table.rows[2][6..], ["-"; 9]);
    let mut csv = Vec::new();
    output::write_csv(&mut csv, &rows).unwrap();
    let csv = String::from_utf8(csv).unwrap();
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines.len(), 4, "a head, and each rate that was tried");
    assert!(
        lines[1].starts_with("parallel,and,\"daat, x\",3,256,100,true,1000,1000,0,0,500.500000,500.000000,"),
        "{}",
        lines[1]
    );
    let queues = ",1000.000000,0.7500,250,750,0,0,7,0,0,0,0.200,0.750,0.000,0.000";
    assert!(lines[1].ends_with(queues), "{}", lines[1]);
    assert!(lines[2].contains(",200,false,1000,1000,1,0,,,,,,,"), "it lacks the slow ones: {}", lines[2]);
    let columns = |line: &str| line.replace("\"daat, x\"", "").split(',').count();
    assert!(lines.iter().all(|line| columns(line) == columns(lines[0])));
    let svg = output::chart("load", &rows).unwrap();
    assert!(svg.contains("99th percentile") && svg.matches("<circle").count() == 4, "two rates in two panels");
}
