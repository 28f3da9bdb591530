//! The same rules over a list that is searched anew each time.

use super::super::dispatcher::LOOKED_AT;
use super::super::rules::{NEVER, Nanos, cost, nanos};
use super::super::workers::Workers;
use super::*;
use crate::query::schedule::bucket;
use proptest::prelude::*;

/// A query that waits, with nanoseconds on the CPU, on the GPU, and there beside others.
#[derive(Clone, Debug)]
struct Query {
    number: usize,
    arrival: Arrival,
    cpu: Nanos,
    gpu: Nanos,
    batched: Nanos,
    /// On the GPU beside those that waited for it when this one came.
    beside: Nanos,
    better: Processor,
    owner: Option<Processor>,
}

impl Query {
    fn arrived(&self) -> Nanos {
        nanos(self.arrival.arrived)
    }

    fn on(&self, processor: Processor) -> Nanos {
        if processor == Processor::Cpu { self.cpu } else { self.beside }
    }

    fn urgent_at(&self) -> Nanos {
        (self.arrived() + nanos(self.arrival.deadline)) / 2
    }
}

/// All that waits.
struct Plain {
    rules: Rules,
    all: Vec<Query>,
    workers: Workers,
    thresholds: [f64; 2],
}

impl Plain {
    fn own(&self, processor: Processor) -> Vec<&Query> {
        let mut own: Vec<&Query> = self.all.iter().filter(|query| query.owner == Some(processor)).collect();
        let order = |query: &&Query| {
            let deadline = nanos(query.arrival.deadline);
            let (own, other) = (query.on(processor), query.on(processor.other()));
            (self.rules.order(query.arrived(), deadline, own, other), query.number)
        };
        own.sort_by_key(order);
        own
    }

    /// The last ones of a queue, from its end.
    fn last(&self, processor: Processor) -> Vec<&Query> {
        self.own(processor).into_iter().rev().take(LOOKED_AT).collect()
    }

    fn sum(&self, processor: Processor) -> Nanos {
        self.own(processor).iter().map(|query| query.on(processor)).sum()
    }

    fn put(&mut self, now: Nanos, number: usize, arrival: Arrival) {
        let [done_cpu, done_gpu] = Processor::BOTH.map(|processor| {
            let count = self.workers.count(processor) as u64;
            self.workers.free_at(processor, now) - now + self.sum(processor) / count
        });
        self.thresholds[0] = self.rules.adapted(self.thresholds[0], done_cpu, done_gpu);
        self.thresholds[1] = self.rules.adapted(self.thresholds[1], done_gpu, done_cpu);
        let company = (self.own(Processor::Gpu).len() + 1).min(self.rules.batches.most) as u64;
        let [on_cpu, on_gpu] = Processor::BOTH.map(|processor| self.workers.scale(processor));
        let [cpu, gpu] = [cost(arrival.costs.cpu * on_cpu), cost(arrival.costs.gpu * on_gpu)];
        let batched = gpu.min(cost(arrival.costs.gpu_batched * on_gpu));
        let beside = batched + (gpu - batched) / company;
        let mut query = Query { number, arrival, cpu, gpu, batched, beside, better: Processor::Cpu, owner: None };
        if query.beside < query.cpu {
            query.better = Processor::Gpu;
        }
        let [own, other] = [query.on(query.better), query.on(query.better.other())];
        if other as f64 > own as f64 * (1.0 + self.thresholds[query.better as usize]) {
            query.owner = Some(query.better);
        }
        self.all.push(query);
    }

    /// Those who go first on a processor.
    fn due(&self, better: Processor, now: Nanos) -> Vec<&Query> {
        let due = |query: &&Query| query.better == better && query.urgent_at() <= now;
        let mut due: Vec<&Query> = self.all.iter().filter(due).collect();
        due.sort_by_key(|query| (query.urgent_at(), query.number));
        due
    }

    fn either(&self) -> Vec<&Query> {
        let mut either: Vec<&Query> = self.all.iter().filter(|query| query.owner.is_none()).collect();
        either.sort_by_key(|query| (query.arrived(), query.number));
        either
    }

    fn begins_on_idle_gpu(&self, query: &Query, now: Nanos) -> Nanos {
        let wait = nanos(self.rules.batches.wait);
        if self.rules.batches.most > 1 { now.max(query.arrived() + wait) } else { now }
    }

    /// When its owner would have answered a query: all that stand before it come first.
    fn answered_at(&self, owner: Processor, number: usize, now: Nanos) -> Nanos {
        let own = self.own(owner);
        let at = own.iter().position(|query| query.number == number).unwrap();
        let before: Nanos = own[..=at].iter().map(|query| query.on(owner)).sum();
        let done_at = self.workers.free_at(owner, now) + before / self.workers.count(owner) as u64;
        let collects = owner == Processor::Gpu && self.workers.idle(owner).is_some();
        if collects { done_at.max(self.begins_on_idle_gpu(own[at], now) + own[at].gpu) } else { done_at }
    }

    fn rescued(&self, processor: Processor, now: Nanos) -> Option<usize> {
        let takes = |query: &Query| if processor == Processor::Cpu { query.cpu } else { query.gpu };
        let in_time = |query: &&&Query| now + takes(query) <= nanos(query.arrival.deadline);
        let busy = self.workers.idle(processor.other()).is_none();
        self.due(processor.other(), now)
            .iter()
            .take(LOOKED_AT)
            .find(|query| busy && in_time(query))
            .map(|query| query.number)
    }

    fn for_cpu(&self, now: Nanos) -> Option<usize> {
        let leaves = |query: &Query| {
            query.better == Processor::Gpu
                && self.workers.idle(Processor::Gpu).is_some()
                && self.begins_on_idle_gpu(query, now) + query.gpu < now + query.cpu
        };
        let first = |queries: Vec<&Query>| queries.first().map(|query| query.number);
        let oldest = || self.either().into_iter().next().filter(|query| !leaves(query)).map(|query| query.number);
        let stolen = || {
            let mut own = self.last(Processor::Gpu);
            own.retain(|query| now + query.cpu < self.answered_at(Processor::Gpu, query.number, now));
            let ratio = |query: &Query| query.cpu as f64 / query.beside as f64;
            own.into_iter().min_by(|a, b| ratio(a).total_cmp(&ratio(b))).map(|query| query.number)
        };
        first(self.due(Processor::Cpu, now))
            .or_else(|| first(self.own(Processor::Cpu)))
            .or_else(oldest)
            .or_else(|| self.rescued(Processor::Cpu, now))
            .or_else(stolen)
    }

    fn for_gpu(&self, now: Nanos) -> Vec<usize> {
        let Batches { most, postings, wait } = self.rules.batches;
        let due = self.due(Processor::Gpu, now);
        let idle_cpu = self.workers.idle(Processor::Cpu).is_some();
        let mut wanted = due.clone();
        wanted.extend(self.own(Processor::Gpu));
        wanted.extend(self.either().iter().filter(|query| !(query.better == Processor::Cpu && idle_cpu)));
        let mut batch: Vec<&Query> = Vec::new();
        let full = |batch: &[&Query]| batch.len() == most;
        let enough =
            |batch: &[&Query]| batch.iter().map(|query| u64::from(query.arrival.shortest)).sum::<u64>() >= postings;
        for query in wanted {
            if !full(&batch) && batch.iter().all(|other| other.number != query.number) {
                batch.push(query);
            }
        }
        if let Some(oldest) = batch.iter().map(|query| query.arrived()).min() {
            let waits = most > 1 && due.is_empty() && !full(&batch) && !enough(&batch) && oldest + nanos(wait) > now;
            return if waits { Vec::new() } else { batch.iter().map(|query| query.number).collect() };
        }
        if let Some(number) = self.rescued(Processor::Gpu, now) {
            return vec![number];
        }
        let mut done = now;
        for query in self.last(Processor::Cpu) {
            let more = if batch.is_empty() { query.gpu } else { query.batched };
            if !full(&batch) && done + more < self.answered_at(Processor::Cpu, query.number, now) {
                done += more;
                batch.push(query);
            }
        }
        batch.iter().map(|query| query.number).collect()
    }

    /// Whether somebody who is idle would take something.
    fn work_for_idle(&self, now: Nanos) -> bool {
        let idle = |processor| self.workers.idle(processor).is_some();
        idle(Processor::Cpu) && self.for_cpu(now).is_some() || idle(Processor::Gpu) && !self.for_gpu(now).is_empty()
    }

    fn take(&mut self, now: Nanos, worker: usize) -> Vec<usize> {
        self.workers.done(worker, now);
        let numbers = match self.workers.processor(worker) {
            Processor::Cpu => self.for_cpu(now).into_iter().collect(),
            Processor::Gpu => self.for_gpu(now),
        };
        if numbers.is_empty() {
            self.workers.rests(worker, NEVER);
            return numbers;
        }
        let found = |number: &usize| self.all.iter().find(|query| query.number == *number).unwrap().clone();
        let mut taken: Vec<Query> = numbers.iter().map(found).collect();
        self.all.retain(|query| !numbers.contains(&query.number));
        let model = match self.workers.processor(worker) {
            Processor::Cpu => taken[0].arrival.costs.cpu,
            Processor::Gpu => {
                let more = |query: &Query| query.arrival.costs.gpu - query.arrival.costs.gpu_batched;
                let batched: f64 = taken.iter().map(|query| query.arrival.costs.gpu_batched).sum();
                batched + taken.iter().map(more).fold(0.0, f64::max)
            }
        };
        self.workers.begins(worker, now, 1e9 * model);
        taken.sort_by_key(|query| bucket(query.arrival.shortest));
        taken.into_iter().map(|query| query.number).collect()
    }
}

/// What happens next, after so many microseconds.
#[derive(Clone, Debug)]
enum Event {
    /// A query that came so many microseconds ago, with microseconds on the CPU, on the GPU and beside others, to its
    /// deadline, and the length of its shortest list.
    Query(u64, [u64; 4], u32),
    Ask(usize),
}

fn events() -> impl Strategy<Value = Vec<(u64, Event)>> {
    let costs = (1u64..30_000, 1u64..30_000, 1u64..100, 1_000u64..90_000)
        .prop_map(|(cpu, gpu, share, left)| [cpu, gpu, (gpu * share / 100).max(1), left]);
    let query = (0u64..3000, costs, prop_oneof![0u32..3000, 0u32..200_000])
        .prop_map(|(ago, costs, shortest)| Event::Query(ago, costs, shortest));
    let event = prop_oneof![3 => query, 2 => (0usize..4).prop_map(Event::Ask)];
    prop::collection::vec((prop_oneof![Just(0), 0u64..200, 0u64..20_000], event), 0..150)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn test_it_takes_what_a_plain_list_gives(
        events in events(),
        most in prop_oneof![Just(1usize), 2usize..6, Just(100)],
        postings in prop_oneof![Just(u64::MAX), 1u64..100_000],
        wait in 0u64..3000,
    ) {
        let workers = [Processor::Cpu, Processor::Gpu, Processor::Cpu, Processor::Cpu];
        let rules = Rules { batches: Batches { most, postings, wait: Duration::from_micros(wait) }, ..Rules::default() };
        let mut dispatcher = Dispatcher::new(rules, &workers);
        let thresholds = [rules.threshold; 2];
        let mut plain = Plain { rules, all: Vec::new(), workers: Workers::new(&workers), thresholds };
        let mut now = Duration::from_millis(10);
        let mut seen = Vec::new();
        for (number, (later, event)) in events.into_iter().enumerate() {
            now += Duration::from_micros(later);
            match event {
                Event::Query(ago, [cpu, gpu, batched, left], shortest) => {
                    let [cpu, gpu, gpu_batched] = [cpu, gpu, batched].map(|micros| 1e-6 * micros as f64);
                    let arrived = now - Duration::from_micros(ago);
                    let deadline = arrived + Duration::from_micros(left);
                    let arrival = Arrival { arrived, deadline, costs: Costs { cpu, gpu, gpu_batched }, shortest };
                    dispatcher.put(now, arrival, number);
                    plain.put(nanos(now), number, arrival);
                }
                Event::Ask(worker) => {
                    if dispatcher.call(now) == [false; 2] {
                        prop_assert!(!plain.work_for_idle(nanos(now)), "somebody sleeps");
                    }
                    let taken = match dispatcher.take(now, worker) {
                        Next::Work(work) => work.queries.iter().map(|query| query.work).collect(),
                        Next::Wait(until) => {
                            prop_assert!(until.is_none_or(|until| until > now));
                            Vec::new()
                        }
                    };
                    prop_assert_eq!(&taken, &plain.take(nanos(now), worker));
                    seen.extend(taken);
                }
            }
            prop_assert_eq!(dispatcher.len(), plain.all.len());
            prop_assert_eq!(dispatcher.counts().thresholds, plain.thresholds);
        }
        let all = seen.len();
        seen.sort_unstable();
        seen.dedup();
        prop_assert_eq!(all, seen.len(), "twice");
        prop_assert_eq!(all, dispatcher.counts().taken.iter().sum::<usize>());
    }
}
