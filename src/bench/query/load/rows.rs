//! The rows of the tables: which servers take queries from the queue, and the rates that were tried on them.

use std::time::Instant;

use anyhow::ensure;

use crate::bench::query::lines::{Line, mode_name};
use crate::bench::say;
use crate::bench::table::figure;
use crate::query::engine::{Answers, Engine, Queries};
use crate::query::{Hit, Mode, Plan};

use super::arrivals::Arrivals;
use super::dispatched::{self, Desk};
use super::search::{self, Highest};
use super::serve::{self, Load, Run, Server};

/// No rate has more arrivals than this.
const MOST_ARRIVALS: f64 = 1e8;

/// An engine that takes queries from the queue.
pub(super) struct OnEngine<'a> {
    pub(super) engine: &'a mut (dyn Engine + Send),
    pub(super) plans: &'a [Plan],
    pub(super) mode: Mode,
    pub(super) k: usize,
    /// How many queries it takes at once.
    pub(super) most: usize,
}

impl Server for OnEngine<'_> {
    fn most(&self) -> usize {
        self.most
    }

    fn serve(&mut self, queries: &[usize], sizes: &[usize]) -> crate::Result<Answers> {
        if let [query] = queries {
            return self.engine.search_one(&self.plans[*query], self.mode, self.k);
        }
        let plans: Vec<Plan> = queries.iter().map(|&query| self.plans[query].clone()).collect();
        self.engine.search(&Queries { plans: &plans, sizes, k: self.k }, self.mode)
    }
}

/// The better of two engines for each query, one query at a time (Ding et al., section 9: serialized).
pub(super) struct Better<'a> {
    pub(super) cpu: OnEngine<'a>,
    pub(super) gpu: OnEngine<'a>,
    /// Whether the GPU is expected to be sooner, for each query.
    pub(super) on_gpu: Vec<bool>,
}

impl Server for Better<'_> {
    fn most(&self) -> usize {
        1
    }

    fn serve(&mut self, queries: &[usize], sizes: &[usize]) -> crate::Result<Answers> {
        let on_gpu = queries.iter().all(|&query| self.on_gpu[query]);
        if on_gpu { &mut self.gpu } else { &mut self.cpu }.serve(queries, sizes)
    }
}

/// How a rate is tried.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Trial {
    /// At least so many arrivals.
    pub(super) arrivals: u64,
    /// For at least so many seconds.
    pub(super) seconds: f64,
    /// So often.
    pub(super) repeats: u32,
    pub(super) timetable: Arrivals,
    /// Seconds from arrival to answer that are still in time.
    pub(super) deadline: f64,
    /// Seconds of work that does not count.
    pub(super) warm_up: f64,
}

impl Trial {
    /// How many arrivals a rate has; `None`: too many to try it.
    pub(super) fn count(&self, rate: f64) -> Option<usize> {
        let count = (rate * self.seconds).ceil().max(self.arrivals as f64);
        (count <= MOST_ARRIVALS).then_some(count as usize)
    }

    /// Whether a rate can show anything: all arrivals together take longer than a tenth of the deadline.
    fn can_miss(&self, rate: f64) -> bool {
        self.count(rate).is_some_and(|count| count as f64 / rate > 0.1 * self.deadline)
    }
}

/// What a row stands for.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Name {
    pub(super) engine: String,
    pub(super) mode: &'static str,
    pub(super) method: String,
    /// Threads that evaluate queries on the CPU.
    pub(super) threads: usize,
    /// The most queries that the GPU takes at once; 0 without a GPU.
    pub(super) batch: usize,
}

impl Name {
    pub(super) fn new(engine: &str, line: &Line, threads: usize, batch: usize) -> Self {
        let mode = mode_name(line.mode);
        Self { engine: engine.to_owned(), mode, method: line.method(), threads, batch }
    }

    /// In charts and messages.
    pub(super) fn text(&self) -> String {
        let Self { engine, mode, threads, batch, method } = self;
        let threads = if *threads > 0 { format!(", {threads} threads") } else { String::new() };
        let batch = if *batch > 1 { format!(", batches of {batch}") } else { String::new() };
        format!("{engine} {mode}{threads}{batch}: {method}")
    }
}

/// A rate that was tried.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Level {
    /// Queries a second.
    pub(super) rate: f64,
    /// In each run.
    pub(super) arrivals: usize,
    /// All repeats together.
    pub(super) run: Run,
    /// Whether a run ended early, at a missed deadline.
    pub(super) stopped: bool,
}

impl Level {
    /// Whether no query missed its deadline.
    pub(super) fn holds(&self) -> bool {
        self.run.missed == 0
    }
}

/// A row, and all that was tried for it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Row {
    pub(super) name: Name,
    /// `None` if rates were given.
    pub(super) highest: Option<Highest>,
    /// In the order in which they were tried.
    pub(super) levels: Vec<Level>,
}

impl Row {
    /// The level of a rate that ran to its end.
    pub(super) fn level(&self, rate: f64) -> Option<&Level> {
        self.levels.iter().rev().find(|level| level.rate == rate && !level.stopped)
    }
}

/// Servers of one row.
pub(super) struct Servers<'a> {
    pub(super) name: Name,
    pub(super) all: Vec<Box<dyn Server + 'a>>,
    /// The right answers.
    pub(super) expected: &'a [Vec<Hit>],
    /// Who gives them their work; without one they have one queue, first come first served.
    pub(super) desk: Option<Desk>,
}

impl Servers<'_> {
    fn run(&mut self, load: Load<'_>) -> anyhow::Result<Run> {
        match &mut self.desk {
            Some(desk) => dispatched::run(&mut self.all, load, desk),
            None => serve::run(&mut self.all, load),
        }
    }

    /// Runs them with arrivals all at once, more and more, for some seconds. Returns queries a second of the last run.
    fn warm_up(&mut self, seconds: f64) -> anyhow::Result<f64> {
        let start = Instant::now();
        let mut count = self.all.iter().map(|server| server.most()).sum::<usize>().max(16);
        loop {
            let arrivals = vec![0.0; count];
            let load = Load { arrivals: &arrivals, expected: self.expected, deadline: f64::INFINITY, stop: false };
            let run = self.run(load)?;
            if start.elapsed().as_secs_f64() >= seconds || count as f64 > MOST_ARRIVALS / 2.0 {
                return Ok(count as f64 / run.seconds.max(1e-9));
            }
            count *= 2;
        }
    }

    /// Tries a rate, all repeats, or with `stop` until a deadline is missed.
    fn level(&mut self, trial: &Trial, rate: f64, stop: bool) -> anyhow::Result<Level> {
        let count = trial.count(rate);
        ensure!(count.is_some(), "{rate} queries a second for {} seconds are too many; lower --seconds", trial.seconds);
        let arrivals = trial.timetable.times(rate, count.unwrap_or_default());
        let load = Load { arrivals: &arrivals, expected: self.expected, deadline: trial.deadline, stop };
        let mut level = Level { rate, arrivals: arrivals.len(), run: Run::default(), stopped: false };
        for _ in 0..trial.repeats {
            level.run.merge(self.run(load)?);
            if stop && level.run.missed > 0 {
                level.stopped = true;
                break;
            }
        }
        let Run { late, latest, by_cpu, missed, .. } = level.run;
        let name = self.name.text();
        let kept = if missed == 0 { "no query misses the deadline" } else { "a query misses the deadline" };
        say(&format!("{name}: {} queries/s: {kept}", figure(rate)));
        if late > 0 {
            say(&format!(
                "{name}: {late} queries began more than 1 ms after their arrival though a server was idle, at most \
                 {:.1} ms: the machine has other work to do, or fewer cores than threads",
                1e3 * latest
            ));
        }
        if by_cpu > 0 {
            say(&format!("{name}: the CPU answered {by_cpu} queries for the device"));
        }
        Ok(level)
    }

    /// Searches the highest rate, and tries half of it, too; or tries the given rates.
    ///
    /// # Errors
    /// As of [`serve::run`]; a rate has too many arrivals.
    pub(super) fn measure(mut self, trial: &Trial, rates: &[f64]) -> anyhow::Result<Row> {
        let capacity = self.warm_up(trial.warm_up)?;
        let mut levels = Vec::new();
        if !rates.is_empty() {
            for &rate in rates {
                levels.push(self.level(trial, rate, false)?);
            }
            return Ok(Row { name: self.name, highest: None, levels });
        }
        // too high a guess would only show that its arrivals are too few
        let mut start = capacity;
        while start > 1.0 && !trial.can_miss(start) {
            start /= 2.0;
        }
        let can = |rate| trial.can_miss(rate);
        let highest = search::highest(start, can, |rate| {
            levels.push(self.level(trial, rate, true)?);
            Ok(levels.last().is_some_and(Level::holds))
        })?;
        if let Some(rate) = highest.rate() {
            levels.push(self.level(trial, rate / 2.0, false)?);
        }
        Ok(Row { name: self.name, highest: Some(highest), levels })
    }
}
