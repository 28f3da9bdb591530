//! Queries that arrive on a timetable, and servers that take them from one queue, first come first served.
//!
//! A server that is free takes the next query of the timetable, waits for its arrival if that is still to come, answers
//! it, and counts the time from the **arrival**, not from when it began. So a server that falls behind does not thin
//! out the load (no coordinated omission), and no thread of its own has to hand queries out.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::ScopedJoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};

use crate::bench::query::answers::difference;
use crate::query::Hit;
use crate::query::dispatch::Counts;
use crate::query::engine::Answers;

/// Every so many arrivals an answer is compared.
pub(super) const SAMPLE: usize = 97;
/// An idle server that begins so many seconds after the arrival woke up late.
const LATE: f64 = 1e-3;
/// Seconds before an arrival in which a server does not sleep.
const SPIN: f64 = 200e-6;
/// Seconds for starting threads, before the first arrival.
pub(super) const LEAD: f64 = 0.01;

/// What tells the time.
pub(super) trait Time {
    /// Seconds since the start of the timetable.
    fn now(&self) -> f64;

    /// Comes back at that time, or a little later.
    fn wait_until(&self, at: f64);
}

/// The clock on the wall.
pub(super) struct Wall(pub(super) Instant);

impl Time for Wall {
    fn now(&self) -> f64 {
        self.0.elapsed().as_secs_f64() - LEAD
    }

    fn wait_until(&self, at: f64) {
        loop {
            let left = at - self.now();
            if left <= 0.0 {
                return;
            }
            match Duration::try_from_secs_f64(left - SPIN) {
                // the system may wake a thread some 60 us late
                Ok(sleep) if !sleep.is_zero() => std::thread::sleep(sleep),
                _ => std::hint::spin_loop(),
            }
        }
    }
}

/// What answers queries.
pub(super) trait Server: Send {
    /// How many queries it takes at once, if so many have arrived.
    fn most(&self) -> usize;

    /// Answers queries, given by their numbers; a GPU gets so many of them at once. `meanwhile` as of
    /// [`Engine::search_meanwhile`](crate::query::engine::Engine::search_meanwhile).
    ///
    /// # Errors
    /// Those of its engine.
    fn serve(&mut self, queries: &[usize], sizes: &[usize], meanwhile: &mut dyn FnMut()) -> crate::Result<Answers>;
}

/// A timetable, and what is asked of the servers.
#[derive(Clone, Copy)]
pub(super) struct Load<'a> {
    /// Seconds from the start; they do not fall.
    pub(super) arrivals: &'a [f64],
    /// Right answers of each query; arrival `i` is query `i` modulo their number.
    pub(super) expected: &'a [Vec<Hit>],
    /// Seconds from arrival to answer that are still in time.
    pub(super) deadline: f64,
    /// Whether to stop at the first answer that is late.
    pub(super) stop: bool,
}

/// What a load led to.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Run {
    /// Seconds from arrival to answer, in no order; of a run that was stopped only of those answered before.
    pub(super) latencies: Vec<f64>,
    /// How many answers missed the deadline.
    pub(super) missed: usize,
    /// How often an idle server began more than a millisecond after the arrival.
    pub(super) late: usize,
    /// The most seconds that one did so.
    pub(super) latest: f64,
    /// Queries that a device left to the CPU.
    pub(super) by_cpu: usize,
    /// Answers that were compared.
    pub(super) compared: usize,
    /// Queries of each server.
    pub(super) served: Vec<usize>,
    /// Seconds from the start to the last answer.
    pub(super) seconds: f64,
    /// What the dispatcher did, if there was one.
    pub(super) dispatched: Option<Counts>,
}

impl Run {
    /// Adds another one, whose servers are the same.
    pub(super) fn merge(&mut self, other: Self) {
        self.latencies.extend(other.latencies);
        self.missed += other.missed;
        self.late += other.late;
        self.latest = self.latest.max(other.latest);
        self.by_cpu += other.by_cpu;
        self.compared += other.compared;
        self.served.resize(self.served.len().max(other.served.len()), 0);
        self.served.iter_mut().zip(other.served).for_each(|(sum, count)| *sum += count);
        self.seconds = self.seconds.max(other.seconds);
        match (&mut self.dispatched, other.dispatched) {
            (Some(all), Some(more)) => all.add(&more),
            (all @ None, more) => *all = more,
            (Some(_), None) => {}
        }
    }

    /// Adds what became of some arrivals, answered at `end`. True if one was late, and the load stops there.
    ///
    /// # Errors
    /// An answer differs from the expected one.
    pub(super) fn add(
        &mut self,
        load: &Load<'_>,
        taken: &[usize],
        answers: &Answers,
        end: f64,
    ) -> anyhow::Result<bool> {
        let mut missed = false;
        for (&arrival, hits) in taken.iter().zip(&answers.hits) {
            let latency = end - load.arrivals[arrival];
            self.latencies.push(latency);
            if latency > load.deadline {
                self.missed += 1;
                missed = true;
            }
            if arrival.is_multiple_of(SAMPLE) {
                self.compared += 1;
                let query = arrival % load.expected.len();
                compare(query, &load.expected[query], hits)?;
            }
        }
        self.by_cpu += answers.effort.by_cpu();
        self.seconds = end;
        Ok(missed && load.stop)
    }

    /// Somebody idle began so many seconds after the arrival.
    pub(super) fn began_behind(&mut self, seconds: f64) {
        self.late += usize::from(seconds > LATE);
        self.latest = self.latest.max(seconds);
    }
}

/// The queue of a load.
pub(super) struct Queue<'a> {
    load: Load<'a>,
    /// The next arrival that no server has taken.
    next: Mutex<usize>,
    stopped: AtomicBool,
}

impl<'a> Queue<'a> {
    pub(super) fn new(load: Load<'a>) -> Self {
        Self { load, next: Mutex::new(0), stopped: AtomicBool::new(false) }
    }

    /// The next arrival, if there is one and `wanted` accepts its time.
    fn take(&self, wanted: impl Fn(f64) -> bool) -> Option<usize> {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = *next;
        self.load.arrivals.get(taken).filter(|&&at| wanted(at))?;
        *next += 1;
        Some(taken)
    }

    /// A free server takes what is next, waits for it, and answers it. False if nothing is left to do.
    ///
    /// # Errors
    /// As of [`run`].
    pub(super) fn turn(&self, server: &mut dyn Server, time: &impl Time, run: &mut Run) -> anyhow::Result<bool> {
        let Load { arrivals, expected, .. } = self.load;
        if self.stopped.load(Ordering::Relaxed) {
            return Ok(false);
        }
        let Some(first) = self.take(|_| true) else { return Ok(false) };
        let idle = time.now() < arrivals[first];
        time.wait_until(arrivals[first]);
        let begun = time.now();
        if idle {
            run.began_behind(begun - arrivals[first]);
        }
        let mut taken = vec![first];
        while taken.len() < server.most()
            && let Some(more) = self.take(|at| at <= begun)
        {
            taken.push(more);
        }
        let queries: Vec<usize> = taken.iter().map(|arrival| arrival % expected.len()).collect();
        let answers = server.serve(&queries, &[queries.len()], &mut || ())?;
        if run.add(&self.load, &taken, &answers, time.now())? {
            self.stopped.store(true, Ordering::Relaxed);
        }
        Ok(true)
    }

    /// Turns of a server until nothing is left to do. After an error the other servers stop, too.
    ///
    /// # Errors
    /// As of [`run`].
    fn work(&self, server: &mut dyn Server, time: &impl Time) -> anyhow::Result<Run> {
        let mut run = Run::default();
        loop {
            match self.turn(server, time, &mut run) {
                Ok(true) => {}
                Ok(false) => return Ok(run),
                Err(error) => {
                    self.stopped.store(true, Ordering::Relaxed);
                    return Err(error);
                }
            }
        }
    }
}

fn compare(query: usize, expected: &[Hit], found: &[Hit]) -> anyhow::Result<()> {
    let pairs = |hits: &[Hit]| -> Vec<(u32, f32)> { hits.iter().map(|hit| (hit.doc, hit.score)).collect() };
    match difference(&pairs(expected), &pairs(found)) {
        None => Ok(()),
        Some(difference) => bail!("query {} has a wrong answer under load: {difference}", query + 1),
    }
}

/// Runs a load on servers, each in a thread.
///
/// # Errors
/// The first one of a server; an answer that differs from the expected one; a thread cannot be started.
pub(super) fn run(servers: &mut [Box<dyn Server + '_>], load: Load<'_>) -> anyhow::Result<Run> {
    if load.expected.is_empty() {
        bail!("no query");
    }
    let queue = Queue::new(load);
    let time = Wall(Instant::now());
    std::thread::scope(|scope| {
        let start = |server| {
            std::thread::Builder::new()
                .spawn_scoped(scope, || queue.work(server, &time))
                .context("cannot start a thread for each server")
        };
        let mut threads = Vec::new();
        for server in servers {
            match start(&mut **server) {
                Ok(thread) => threads.push(thread),
                Err(error) => {
                    queue.stopped.store(true, Ordering::Relaxed);
                    return Err(error);
                }
            }
        }
        join(threads)
    })
}

/// The runs of all servers together.
///
/// # Errors
/// The first one of a server.
pub(super) fn join(threads: Vec<ScopedJoinHandle<'_, anyhow::Result<Run>>>) -> anyhow::Result<Run> {
    let mut all = Run::default();
    let mut failed = None;
    for (number, thread) in threads.into_iter().enumerate() {
        match thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)) {
            Ok(run) => {
                let mut served = vec![0; number + 1];
                served[number] = run.latencies.len();
                all.merge(Run { served, ..run });
            }
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    failed.map_or(Ok(all), Err)
}
