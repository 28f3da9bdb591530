//! The three queues, and who is due.

use super::rules::Nanos;
use super::{Arrival, Processor};
use std::collections::{BTreeSet, VecDeque};

/// A query that waits, with its expected costs in nanoseconds.
#[derive(Clone, Debug)]
pub(super) struct Waiting<T> {
    pub(super) arrival: Arrival,
    pub(super) work: T,
    pub(super) arrived: Nanos,
    pub(super) deadline: Nanos,
    pub(super) urgent_at: Nanos,
    /// On a thread of the CPU.
    pub(super) cpu: Nanos,
    /// On the GPU, alone.
    pub(super) gpu: Nanos,
    /// On the GPU, beside others.
    pub(super) batched: Nanos,
    /// On the GPU, beside those that waited for it when this one came.
    pub(super) beside: Nanos,
    /// Where it would be answered sooner.
    pub(super) better: Processor,
    /// Whose queue it is in; none: the third.
    pub(super) owner: Option<Processor>,
    /// Its place there.
    pub(super) order: Nanos,
}

impl<T> Waiting<T> {
    /// What it takes on a processor, as queues count it.
    pub(super) fn on(&self, processor: Processor) -> Nanos {
        match processor {
            Processor::Cpu => self.cpu,
            Processor::Gpu => self.beside,
        }
    }
}

/// A place in a queue, and the query's number.
type Entry = (Nanos, u64);

/// The queues. Queries have numbers in the order of their coming.
#[derive(Debug)]
pub(super) struct Queues<T> {
    /// Query `first + i` at place `i`, the first one of which is there. Most of those that wait came one after the
    /// other, and who takes a batch has a device waiting for it.
    queries: VecDeque<Option<Waiting<T>>>,
    first: u64,
    /// How many are there.
    count: usize,
    own: [BTreeSet<Entry>; 2],
    /// By the time of arrival.
    either: BTreeSet<Entry>,
    /// Of all queries that are better on a processor, by the time from which they go first.
    due: [BTreeSet<Entry>; 2],
    /// Nanoseconds of all in a processor's own queue.
    sums: [Nanos; 2],
}

impl<T> Queues<T> {
    pub(super) fn new() -> Self {
        let two = || [BTreeSet::new(), BTreeSet::new()];
        Self {
            queries: VecDeque::new(),
            first: 0,
            count: 0,
            own: two(),
            either: BTreeSet::new(),
            due: two(),
            sums: [0; 2],
        }
    }

    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// The query of an entry, which is there as long as its entries are.
    fn get(&self, (_, number): Entry) -> Option<(u64, &Waiting<T>)> {
        Some((number, self.queries.get((number - self.first) as usize)?.as_ref()?))
    }

    fn queue(&mut self, owner: Option<Processor>) -> &mut BTreeSet<Entry> {
        match owner {
            Some(processor) => &mut self.own[processor as usize],
            None => &mut self.either,
        }
    }

    pub(super) fn put(&mut self, query: Waiting<T>) {
        let number = self.first + self.queries.len() as u64;
        self.count += 1;
        self.queue(query.owner).insert((query.order, number));
        self.due[query.better as usize].insert((query.urgent_at, number));
        if let Some(owner) = query.owner {
            self.sums[owner as usize] += query.on(owner);
        }
        self.queries.push_back(Some(query));
    }

    pub(super) fn remove(&mut self, number: u64) -> Option<Waiting<T>> {
        let query = self.queries.get_mut(number.checked_sub(self.first)? as usize)?.take()?;
        self.count -= 1;
        while let Some(None) = self.queries.front() {
            self.queries.pop_front();
            self.first += 1;
        }
        self.queue(query.owner).remove(&(query.order, number));
        self.due[query.better as usize].remove(&(query.urgent_at, number));
        if let Some(owner) = query.owner {
            self.sums[owner as usize] -= query.on(owner);
        }
        Some(query)
    }

    /// A processor's own, the first one first.
    pub(super) fn own(&self, processor: Processor) -> impl DoubleEndedIterator<Item = (u64, &Waiting<T>)> {
        self.own[processor as usize].iter().filter_map(|&entry| self.get(entry))
    }

    /// How many a processor has of its own.
    pub(super) fn own_len(&self, processor: Processor) -> usize {
        self.own[processor as usize].len()
    }

    /// Nanoseconds of a processor's own.
    pub(super) fn sum(&self, processor: Processor) -> Nanos {
        self.sums[processor as usize]
    }

    /// The third queue, the oldest one first.
    pub(super) fn either(&self) -> impl Iterator<Item = (u64, &Waiting<T>)> {
        self.either.iter().filter_map(|&entry| self.get(entry))
    }

    /// Those that are better on a processor and go first, the one that does so for longest first.
    pub(super) fn due(&self, better: Processor, now: Nanos) -> impl Iterator<Item = (u64, &Waiting<T>)> {
        self.due[better as usize].range(..=(now, u64::MAX)).filter_map(|&entry| self.get(entry))
    }

    /// When the next one that is better on a processor goes first.
    pub(super) fn next_due(&self, better: Processor, now: Nanos) -> Option<Nanos> {
        self.due[better as usize].range((now + 1, 0)..).next().map(|&(at, _)| at)
    }
}
