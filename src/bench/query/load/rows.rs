//! The rows of the tables: which servers take queries from the queue, and the rates that were tried on them.

use std::time::Instant;

use anyhow::ensure;

use crate::bench::query::lines::{Line, mode_name};
use crate::bench::say;
use crate::bench::table::figure;
use crate::query::dispatch::{Processor, Scale};
use crate::query::engine::{Answers, Engine, Queries};
use crate::query::{Hit, Mode, Plan};

use super::arrivals::Arrivals;
use super::dispatched::{self, Desk};
use super::search::{self, Highest, Tries};
use super::serve::{self, Load, Run, Server, Time};

/// No rate has more arrivals than this.
const MOST_ARRIVALS: f64 = 1e8;

/// The first answers to all queries may take so many times as long as a warm-up.
const MOST_WARM_UPS: f64 = 20.0;

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

    fn serve(&mut self, queries: &[usize], sizes: &[usize], meanwhile: &mut dyn FnMut()) -> crate::Result<Answers> {
        if let [query] = queries {
            return self.engine.search_one(&self.plans[*query], self.mode, self.k);
        }
        let plans: Vec<Plan> = queries.iter().map(|&query| self.plans[query].clone()).collect();
        self.engine.search_meanwhile(&Queries { plans: &plans, sizes, k: self.k }, self.mode, meanwhile)
    }
}

/// The better of two servers for each query, one query at a time (Ding et al., section 9: serialized).
pub(super) struct Better<'a, T> {
    pub(super) time: T,
    /// The CPU, and the GPU.
    pub(super) servers: [Box<dyn Server + 'a>; 2],
    /// What each query should take on either, in seconds, by a model.
    pub(super) costs: Vec<[f64; 2]>,
    /// How far the model is off.
    pub(super) scales: [Scale; 2],
}

impl<T: Time> Better<'_, T> {
    /// Times some queries on both, turn after turn for so many seconds, and believes the last turn: in the first one
    /// lists are looked through and tables are made, and a GPU that has just had nothing to do is slow at first.
    ///
    /// # Errors
    /// Those of the servers.
    pub(super) fn take_times(&mut self, some: &[usize], seconds: f64) -> crate::Result<()> {
        for (of, server) in self.servers.iter_mut().enumerate() {
            let model: f64 = some.iter().map(|&query| self.costs[query][of]).sum();
            let start = self.time.now();
            for turn in 0.. {
                let begun = self.time.now();
                some.iter().try_for_each(|&query| server.serve(&[query], &[1], &mut || ()).map(drop))?;
                let end = self.time.now();
                if turn > 0 && end - start >= seconds {
                    self.scales[of] = Scale::default();
                    Scale::add(&mut self.scales, Processor::BOTH[of], 1e9 * (end - begun), 1e9 * model);
                    break;
                }
            }
        }
        Ok(())
    }

    /// Where a query should be sooner.
    fn sooner(&self, query: usize) -> usize {
        let [cpu, gpu] = [0, 1].map(|of: usize| self.scales[of].factor() * self.costs[query][of]);
        usize::from(gpu < cpu)
    }
}

impl<T: Time + Send> Server for Better<'_, T> {
    fn most(&self) -> usize {
        1
    }

    fn serve(&mut self, queries: &[usize], sizes: &[usize], meanwhile: &mut dyn FnMut()) -> crate::Result<Answers> {
        let of = queries.first().map_or(0, |&query| self.sooner(query));
        let begun = self.time.now();
        let answers = self.servers[of].serve(queries, sizes, meanwhile)?;
        let model: f64 = queries.iter().map(|&query| self.costs[query][of]).sum();
        Scale::add(&mut self.scales, Processor::BOTH[of], 1e9 * (self.time.now() - begun), 1e9 * model);
        Ok(answers)
    }
}

/// How a rate is tried.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Trial {
    /// At least so many arrivals.
    pub(super) arrivals: u64,
    /// For at least so many seconds.
    pub(super) seconds: f64,
    /// For at most so many seconds, whatever the arrivals.
    pub(super) most_seconds: f64,
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
        // at a low rate so many arrivals would take minutes
        let count = count.min((rate * self.most_seconds).ceil().max(1.0));
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

    /// Runs them with arrivals all at once, more and more, for some seconds, and until each query was answered once:
    /// the first answer looks lists through, and makes tables. Returns queries a second of the last run.
    fn warm_up(&mut self, seconds: f64) -> anyhow::Result<f64> {
        let start = Instant::now();
        let mut count = self.all.iter().map(|server| server.most()).sum::<usize>().max(16);
        loop {
            let arrivals = vec![0.0; count];
            let load = Load { arrivals: &arrivals, expected: self.expected, deadline: f64::INFINITY, stop: false };
            let run = self.run(load)?;
            let elapsed = start.elapsed().as_secs_f64();
            let enough = elapsed >= seconds && (count >= self.expected.len() || elapsed >= MOST_WARM_UPS * seconds);
            if enough || count as f64 > MOST_ARRIVALS / 2.0 {
                return Ok(count as f64 / run.seconds.max(1e-9));
            }
            count *= 2;
        }
    }

    /// Tries a rate so often, or with `stop` until a deadline is missed.
    fn level(&mut self, trial: &Trial, rate: f64, repeats: u32, stop: bool) -> anyhow::Result<Level> {
        let count = trial.count(rate);
        ensure!(count.is_some(), "{rate} queries a second for {} seconds are too many; lower --seconds", trial.seconds);
        let arrivals = trial.timetable.times(rate, count.unwrap_or_default());
        let load = Load { arrivals: &arrivals, expected: self.expected, deadline: trial.deadline, stop };
        let mut level = Level { rate, arrivals: arrivals.len(), run: Run::default(), stopped: false };
        for _ in 0..repeats {
            level.run.merge(self.run(load)?);
            if stop && level.run.missed > 0 {
                level.stopped = true;
                break;
            }
        }
        let Run { late, latest, by_cpu, missed, .. } = level.run;
        let name = self.name.text();
        let kept = if missed == 0 { "no query misses the deadline" } else { "a query misses the deadline" };
        let fewer = match (level.arrivals as u64) < trial.arrivals {
            true => format!(", of {} arrivals in {} s", level.arrivals, trial.most_seconds),
            false => String::new(),
        };
        say(&format!("{name}: {} queries/s: {kept}{fewer}", figure(rate)));
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
        if !rates.is_empty() {
            let levels = rates.iter().map(|&rate| self.level(trial, rate, trial.repeats, false));
            let levels = levels.collect::<anyhow::Result<_>>()?;
            return Ok(Row { name: self.name, highest: None, levels });
        }
        // too high a guess would only show that its arrivals are too few
        let mut start = NEAR_CAPACITY * capacity;
        while start > 1.0 && !trial.can_miss(start) {
            start /= 2.0;
        }
        let mut found = Found { servers: &mut self, trial, levels: Vec::new() };
        let highest = search::highest(start, &mut found)?;
        let mut levels = found.levels;
        if let Some(rate) = highest.rate() {
            levels.push(self.level(trial, rate / 2.0, trial.repeats, false)?);
        }
        Ok(Row { name: self.name, highest: Some(highest), levels })
    }
}

/// A share of the queries that are answered a second when all have arrived. With gaps between them they are fewer.
const NEAR_CAPACITY: f64 = 0.9;

/// The rates that a search has tried.
struct Found<'t, 's> {
    servers: &'t mut Servers<'s>,
    trial: &'t Trial,
    levels: Vec<Level>,
}

impl Tries for Found<'_, '_> {
    fn can(&self, rate: f64) -> bool {
        self.trial.can_miss(rate)
    }

    fn holds(&mut self, rate: f64) -> anyhow::Result<bool> {
        self.levels.push(self.servers.level(self.trial, rate, 1, true)?);
        Ok(self.levels.last().is_some_and(Level::holds))
    }

    fn holds_again(&mut self, rate: f64) -> anyhow::Result<bool> {
        if self.trial.repeats < 2 {
            return Ok(true);
        }
        let again = self.servers.level(self.trial, rate, self.trial.repeats - 1, true)?;
        let holds = again.holds();
        if let Some(level) = self.levels.iter_mut().rev().find(|level| level.rate == rate) {
            level.run.merge(again.run);
            level.stopped |= again.stopped;
        }
        Ok(holds)
    }
}
