//! Queries in, work out. Time is passed in, and there are no threads.

use super::queues::{Queues, Waiting};
use super::rules::{NEVER, Nanos, Rules, cost, nanos};
use super::workers::Workers;
use super::{Arrival, Counts, Processor};
use crate::query::schedule::bucket;
use std::time::Duration;

/// Who steals looks at so many of a queue at most, from its end.
pub(super) const LOOKED_AT: usize = 32;
/// A batch of so many queries is cut in two.
const CUT: usize = 64;

/// A query that somebody took.
#[derive(Clone, Debug, PartialEq)]
pub struct Taken<T> {
    /// The query itself.
    pub work: T,
    /// As it arrived.
    pub arrival: Arrival,
}

/// What somebody is to do next.
#[derive(Clone, Debug, PartialEq)]
pub struct Work<T> {
    /// For the CPU one query; for a GPU a batch, in the order of Wu's buckets.
    pub queries: Vec<Taken<T>>,
    /// How many of the batch go to the device at once: it packs the next ones meanwhile.
    pub sizes: Vec<usize>,
}

/// An answer to somebody who is free.
#[derive(Clone, Debug, PartialEq)]
pub enum Next<T> {
    /// Do this.
    Work(Work<T>),
    /// Nothing now. Ask again when told, and at this time at the latest.
    Wait(Option<Duration>),
}

/// Why a query was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Why {
    Urgent,
    Own,
    Either,
    Stolen,
}

/// What somebody who is free would take; if nothing, when to ask again.
struct Choice {
    queries: Vec<(u64, Why)>,
    ask_at: Nanos,
}

impl Choice {
    fn one(number: u64, why: Why) -> Self {
        Self { queries: vec![(number, why)], ask_at: NEVER }
    }

    fn none(ask_at: Nanos) -> Self {
        Self { queries: Vec::new(), ask_at }
    }
}

/// Queries that wait for a processor, and who takes them.
#[derive(Debug)]
pub struct Dispatcher<T> {
    rules: Rules,
    queues: Queues<T>,
    workers: Workers,
    counts: Counts,
    /// No batch waits for more queries any longer.
    hurried: bool,
}

impl<T> Dispatcher<T> {
    /// For threads of the CPU and GPUs, who are known by their places in `workers`.
    pub fn new(rules: Rules, workers: &[Processor]) -> Self {
        let counts = Counts { thresholds: [rules.threshold; 2], highest: [rules.threshold; 2], ..Counts::default() };
        Self { rules, queues: Queues::new(), workers: Workers::new(workers), counts, hurried: false }
    }

    /// Queries that wait.
    pub fn len(&self) -> usize {
        self.queues.len()
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What has happened.
    pub fn counts(&self) -> Counts {
        Counts { scale: Processor::BOTH.map(|processor| self.workers.scale(processor)), ..self.counts }
    }

    /// From now on no batch waits for more queries.
    pub fn hurry(&mut self) {
        self.hurried = true;
    }

    /// Drops all that wait.
    pub fn clear(&mut self) {
        self.queues = Queues::new();
    }

    /// A query comes.
    pub fn put(&mut self, now: Duration, arrival: Arrival, work: T) {
        let now = nanos(now);
        let (arrived, deadline) = (nanos(arrival.arrived), nanos(arrival.deadline));
        let [on_cpu, on_gpu] = Processor::BOTH.map(|processor| self.workers.scale(processor));
        let cpu = cost(arrival.costs.cpu * on_cpu);
        let gpu = cost(arrival.costs.gpu * on_gpu);
        let batched = cost(arrival.costs.gpu_batched * on_gpu).min(gpu);
        let company = (self.queues.own_len(Processor::Gpu) + 1).min(self.rules.batches.most);
        let beside = batched + (gpu - batched) / company.max(1) as u64;
        let better = match Processor::BOTH.map(|processor| self.workers.count(processor)) {
            [_, 0] => Processor::Cpu,
            [0, _] => Processor::Gpu,
            _ if cpu <= beside => Processor::Cpu,
            _ => Processor::Gpu,
        };
        let [own, other] = if better == Processor::Cpu { [cpu, beside] } else { [beside, cpu] };
        self.adapt(now);
        let belongs = self.workers.count(better.other()) == 0
            || other as f64 > (1.0 + self.counts.thresholds[better as usize]) * own as f64;
        let owner = belongs.then_some(better);
        let order = if belongs { self.rules.order(arrived, deadline, own, other) } else { arrived };
        let urgent_at = self.rules.urgent_at(arrived, deadline);
        let query = Waiting {
            arrival,
            work,
            arrived,
            deadline,
            urgent_at,
            cpu,
            gpu,
            batched,
            beside,
            better,
            owner,
            order: order.min(NEVER),
        };
        self.queues.put(query);
    }

    /// Moves the thresholds towards what the queues ask for.
    fn adapt(&mut self, now: Nanos) {
        let [cpu, gpu] = Processor::BOTH.map(|processor| self.all_done_at(processor, now).saturating_sub(now));
        for (processor, own, other) in [(Processor::Cpu, cpu, gpu), (Processor::Gpu, gpu, cpu)] {
            let at = processor as usize;
            let adapted = self.rules.adapted(self.counts.thresholds[at], own, other);
            self.counts.thresholds[at] = adapted;
            self.counts.highest[at] = self.counts.highest[at].max(adapted);
        }
    }

    /// When a processor would have answered all of its own queue.
    fn all_done_at(&self, processor: Processor, now: Nanos) -> Nanos {
        let workers = self.workers.count(processor).max(1) as u64;
        self.workers.free_at(processor, now).saturating_add(self.queues.sum(processor) / workers)
    }

    /// What somebody who is free does next. What it did before is done.
    pub fn take(&mut self, now: Duration, worker: usize) -> Next<T> {
        let now = nanos(now);
        self.workers.done(worker, now);
        let processor = self.workers.processor(worker);
        let Choice { queries, ask_at } = self.choose(processor, now);
        if queries.is_empty() {
            self.workers.rests(worker, ask_at);
            return Next::Wait((ask_at < NEVER).then(|| Duration::from_nanos(ask_at)));
        }
        let (work, expected) = self.hand_over(processor, queries);
        self.workers.begins(worker, now, expected);
        Next::Work(work)
    }

    /// A whole batch for a GPU that still has one to do, if so many queries wait. It is for the time after that one,
    /// see [`Self::goes_on`]: with a batch at hand the device does not wait for one.
    pub fn take_ahead(&mut self, now: Duration, worker: usize) -> Option<Work<T>> {
        let most = self.rules.batches.most;
        if most < 2 || self.queues.len() < most || self.workers.processor(worker) == Processor::Cpu {
            return None;
        }
        let Choice { queries, .. } = self.for_gpu(nanos(now));
        if queries.len() < most {
            return None;
        }
        let (work, expected) = self.hand_over(Processor::Gpu, queries);
        self.workers.takes_ahead(worker, expected);
        Some(work)
    }

    /// Somebody has done its work, and begins with what it took ahead.
    pub fn goes_on(&mut self, now: Duration, worker: usize) {
        self.workers.goes_on(worker, nanos(now));
    }

    /// Takes queries out of the queues. Also returns the nanoseconds that they should take by the model alone.
    fn hand_over(&mut self, processor: Processor, queries: Vec<(u64, Why)>) -> (Work<T>, f64) {
        if processor == Processor::Gpu {
            self.counts.batches += 1;
        }
        let mut taken = Vec::with_capacity(queries.len());
        for (number, why) in queries {
            let Some(Waiting { arrival, work, owner, .. }) = self.queues.remove(number) else { continue };
            let at = processor as usize;
            self.counts.taken[at] += 1;
            self.counts.urgent += usize::from(why == Why::Urgent);
            self.counts.either[at] += usize::from(owner.is_none());
            self.counts.stolen[at] += usize::from(owner == Some(processor.other()));
            taken.push(Taken { work, arrival });
        }
        let expected = expected(processor, &taken);
        let sizes = match taken.len() {
            0..CUT => vec![taken.len()],
            all => vec![all.div_ceil(2), all / 2],
        };
        // stable, so that those of a bucket keep their order
        taken.sort_by_key(|query| bucket(query.arrival.shortest));
        (Work { queries: taken, sizes }, expected)
    }

    /// Somebody has done its work, and does not ask for more at once.
    pub fn done(&mut self, now: Duration, worker: usize) {
        self.workers.done(worker, nanos(now));
    }

    /// Somebody has given its work to others, and asks for more at once.
    pub fn gave_away(&mut self, worker: usize) {
        self.workers.rests(worker, 0);
    }

    /// Of which processors somebody idle is to ask, in the order of [`Processor::BOTH`]: of the GPU, if it would take
    /// something; otherwise of each that would, or that has to ask sooner than it was told to. Ask again once they have
    /// asked: there may be another one.
    pub fn call(&self, now: Duration) -> [bool; 2] {
        let mut called = [false; 2];
        if self.is_empty() {
            return called;
        }
        let now = nanos(now);
        for processor in [Processor::Gpu, Processor::Cpu] {
            let Some(asks_at) = self.workers.idle(processor) else { continue };
            let choice = self.choose(processor, now);
            let takes = !choice.queries.is_empty();
            called[processor as usize] = takes || choice.ask_at < asks_at;
            if takes && processor == Processor::Gpu {
                break;
            }
        }
        called
    }

    fn choose(&self, processor: Processor, now: Nanos) -> Choice {
        match processor {
            Processor::Cpu => self.for_cpu(now),
            Processor::Gpu => self.for_gpu(now),
        }
    }

    fn for_cpu(&self, now: Nanos) -> Choice {
        if let Some((number, _)) = self.queues.due(Processor::Cpu, now).next() {
            return Choice::one(number, Why::Urgent);
        }
        if let Some((number, _)) = self.queues.own(Processor::Cpu).next() {
            return Choice::one(number, Why::Own);
        }
        if let Some((number, _)) = self.queues.either().next().filter(|(_, query)| !self.leaves(query, now)) {
            return Choice::one(number, Why::Either);
        }
        if let Some(number) = self.rescued(Processor::Cpu, now) {
            return Choice::one(number, Why::Stolen);
        }
        // the one that suits the CPU best, of those that the CPU answers sooner than the GPU comes to them
        let mut best: Option<(f64, u64)> = None;
        for (number, query, done_at) in self.last_ones(Processor::Gpu, now) {
            let ratio = query.cpu as f64 / query.beside as f64;
            if now + query.cpu < done_at && best.is_none_or(|(least, _)| ratio < least) {
                best = Some((ratio, number));
            }
        }
        match best {
            Some((_, number)) => Choice::one(number, Why::Stolen),
            None => Choice::none(self.queues.next_due(Processor::Gpu, now).unwrap_or(NEVER)),
        }
    }

    fn for_gpu(&self, now: Nanos) -> Choice {
        let gpu = Processor::Gpu;
        let mut batch = Batch { rules: &self.rules, queries: Vec::new(), postings: 0, oldest: NEVER };
        for (number, query) in self.queues.due(gpu, now) {
            if batch.is_full() {
                break;
            }
            batch.add(number, query, Why::Urgent);
        }
        let hurried = self.hurried || !batch.queries.is_empty();
        let is_due = |query: &Waiting<T>| query.better == gpu && query.urgent_at <= now;
        let own = self.queues.own(gpu).map(|(number, query)| (number, query, Why::Own));
        let rest = self.queues.either().filter(|(_, query)| !self.leaves_to_cpu(query));
        for (number, query, why) in own.chain(rest.map(|(number, query)| (number, query, Why::Either))) {
            if batch.is_full() {
                break;
            }
            if !is_due(query) {
                batch.add(number, query, why);
            }
        }
        if !batch.queries.is_empty() {
            let wait = if self.rules.batches.most > 1 { nanos(self.rules.batches.wait) } else { 0 };
            let until = batch.oldest.saturating_add(wait);
            if hurried || batch.is_enough() || until <= now {
                return Choice { queries: batch.queries, ask_at: NEVER };
            }
            return Choice::none(until.min(self.queues.next_due(gpu, now).unwrap_or(NEVER)));
        }
        if let Some(number) = self.rescued(gpu, now) {
            return Choice::one(number, Why::Stolen);
        }
        let mut done = now;
        for (number, query, done_at) in self.last_ones(Processor::Cpu, now) {
            let more = if batch.queries.is_empty() { query.gpu } else { query.batched };
            if done + more < done_at {
                done += more;
                batch.add(number, query, Why::Stolen);
            }
            if batch.is_full() {
                break;
            }
        }
        Choice { queries: batch.queries, ask_at: self.queues.next_due(Processor::Cpu, now).unwrap_or(NEVER) }
    }

    /// A query of the other processor whose deadline is near, and which this one can still answer in time.
    fn rescued(&self, processor: Processor, now: Nanos) -> Option<u64> {
        let in_time = |query: &Waiting<T>| {
            let takes = if processor == Processor::Cpu { query.cpu } else { query.gpu };
            // an idle one takes it at once
            now + takes <= query.deadline && self.workers.idle(processor.other()).is_none()
        };
        self.queues.due(processor.other(), now).take(LOOKED_AT).find(|(_, query)| in_time(query)).map(|found| found.0)
    }

    /// Whether a thread of the CPU leaves a query to a GPU that is idle and would answer it sooner.
    fn leaves(&self, query: &Waiting<T>, now: Nanos) -> bool {
        query.better == Processor::Gpu
            && self.workers.idle(Processor::Gpu).is_some()
            && self.collected_at(query, now) + query.gpu < now + query.cpu
    }

    /// Whether the GPU leaves a query to a thread of the CPU that is idle and would answer it sooner.
    fn leaves_to_cpu(&self, query: &Waiting<T>) -> bool {
        query.better == Processor::Cpu && self.workers.idle(Processor::Cpu).is_some()
    }

    /// When an idle GPU would begin with a query: once it has waited for others.
    fn collected_at(&self, query: &Waiting<T>, now: Nanos) -> Nanos {
        match self.rules.batches.most > 1 && !self.hurried {
            true => now.max(query.arrived.saturating_add(nanos(self.rules.batches.wait))),
            false => now,
        }
    }

    /// A processor's own queue from its end, and when it would have answered each.
    fn last_ones(&self, owner: Processor, now: Nanos) -> impl Iterator<Item = (u64, &Waiting<T>, Nanos)> {
        let workers = self.workers.count(owner).max(1) as u64;
        let collects = owner == Processor::Gpu && self.workers.idle(owner).is_some();
        let free_at = self.workers.free_at(owner, now);
        let mut before = self.queues.sum(owner);
        self.queues.own(owner).rev().take(LOOKED_AT).map(move |(number, query)| {
            let done_at = free_at.saturating_add(before / workers);
            before -= query.on(owner);
            let alone = if collects { self.collected_at(query, now) + query.gpu } else { 0 };
            (number, query, done_at.max(alone))
        })
    }
}

/// Nanoseconds that queries should take by the model alone.
fn expected<T>(processor: Processor, queries: &[Taken<T>]) -> f64 {
    let costs = queries.iter().map(|query| query.arrival.costs);
    let seconds: f64 = match processor {
        Processor::Cpu => costs.map(|costs| costs.cpu).sum(),
        Processor::Gpu => {
            let alone = costs.clone().map(|costs| costs.gpu - costs.gpu_batched).fold(0.0, f64::max);
            alone + costs.map(|costs| costs.gpu_batched).sum::<f64>()
        }
    };
    (1e9 * seconds).clamp(1.0, NEVER as f64)
}

/// A batch that is being collected.
struct Batch<'r> {
    rules: &'r Rules,
    queries: Vec<(u64, Why)>,
    /// Of the shortest lists.
    postings: u64,
    /// When the first of them came.
    oldest: Nanos,
}

impl Batch<'_> {
    /// Whether no more queries go in.
    fn is_full(&self) -> bool {
        self.queries.len() >= self.rules.batches.most
    }

    /// Whether it is worth running without waiting for more. Those that are there go in all the same: they cost less
    /// together than in the next batch.
    fn is_enough(&self) -> bool {
        self.is_full() || self.postings >= self.rules.batches.postings
    }

    fn add<T>(&mut self, number: u64, query: &Waiting<T>, why: Why) {
        self.queries.push((number, why));
        self.postings += u64::from(query.arrival.shortest);
        self.oldest = self.oldest.min(query.arrived);
    }
}
