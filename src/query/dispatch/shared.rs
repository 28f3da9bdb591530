//! The dispatcher between threads.

use super::{Arrival, Counts, Dispatcher, Next, Processor, Rules, Work};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Wakes a thread of the CPU that waits elsewhere. It is called while nothing is locked here.
pub type Awake<'a> = &'a (dyn Fn() + Sync);

struct State<T> {
    dispatcher: Dispatcher<T>,
    closed: bool,
    /// What comes is dropped: those who would take it may have gone.
    abandoned: bool,
}

/// A dispatcher that threads share.
pub struct Shared<'a, T> {
    start: Instant,
    state: Mutex<State<T>>,
    /// One for each processor.
    changed: [Condvar; 2],
    awake: Option<Awake<'a>>,
}

impl<'a, T> Shared<'a, T> {
    /// For threads of the CPU and GPUs, who are known by their places in `workers`. With `awake` threads of the CPU
    /// wait elsewhere, and ask by [`Self::try_take`].
    pub fn new(rules: Rules, workers: &[Processor], awake: Option<Awake<'a>>) -> Self {
        let state = State { dispatcher: Dispatcher::new(rules, workers), closed: false, abandoned: false };
        Self { start: Instant::now(), state: Mutex::new(state), changed: [Condvar::new(), Condvar::new()], awake }
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        // what is locked stays whole: a query is in all of its queues or in none
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The time since its start.
    pub fn now(&self) -> Duration {
        self.start.elapsed()
    }

    /// A time as one since its start; 0 if it was before.
    pub fn since_start(&self, at: Instant) -> Duration {
        at.saturating_duration_since(self.start)
    }

    /// Unlocks, and wakes somebody idle of each processor that is called.
    fn wake(&self, state: MutexGuard<'_, State<T>>, called: [bool; 2]) {
        drop(state);
        for processor in Processor::BOTH.into_iter().filter(|&processor| called[processor as usize]) {
            match self.awake.filter(|_| processor == Processor::Cpu) {
                Some(awake) => awake(),
                None => self.changed[processor as usize].notify_one(),
            }
        }
    }

    /// Queries come.
    pub fn put(&self, queries: impl IntoIterator<Item = (Arrival, T)>) {
        for (arrival, work) in queries {
            let mut state = self.lock();
            if state.abandoned {
                continue;
            }
            let now = self.now();
            state.dispatcher.put(now, arrival, work);
            let called = state.dispatcher.call(now);
            self.wake(state, called);
        }
    }

    /// What somebody who is free does next; waits until there is something. `None` once it is closed and empty.
    pub fn take(&self, worker: usize, processor: Processor) -> Option<Work<T>> {
        let mut state = self.lock();
        let mut has_called = false;
        loop {
            let now = self.now();
            match state.dispatcher.take(now, worker) {
                Next::Work(work) => {
                    if state.closed && state.dispatcher.is_empty() {
                        self.changed.iter().for_each(Condvar::notify_all);
                    }
                    let called = state.dispatcher.call(now);
                    self.wake(state, called);
                    return Some(work);
                }
                Next::Wait(_) if state.closed && state.dispatcher.is_empty() => return None,
                Next::Wait(until) => {
                    // what somebody was called for and has no use for any longer, another one may take
                    let called = if has_called { [false; 2] } else { state.dispatcher.call(now) };
                    has_called = called != [false; 2];
                    if has_called {
                        self.wake(state, called);
                        state = self.lock();
                        continue;
                    }
                    let changed = &self.changed[processor as usize];
                    state = match until {
                        Some(until) => {
                            let left = until.saturating_sub(now);
                            changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0
                        }
                        None => changed.wait(state).unwrap_or_else(PoisonError::into_inner),
                    };
                }
            }
        }
    }

    /// What somebody who is free does next, without waiting; and whether another thread of the CPU should ask, too.
    pub fn try_take(&self, worker: usize) -> (Next<T>, bool) {
        let mut state = self.lock();
        let now = self.now();
        let next = state.dispatcher.take(now, worker);
        // also if there is nothing for this one: it may have been called for what another one is to take by now
        let called = state.dispatcher.call(now);
        if state.closed && state.dispatcher.is_empty() {
            self.changed.iter().for_each(Condvar::notify_all);
        }
        drop(state);
        let [cpu, gpu] = called;
        if gpu {
            self.changed[Processor::Gpu as usize].notify_one();
        }
        (next, cpu)
    }

    /// Takes a whole batch for a GPU that still has one to do, if so many queries wait and none is `ahead`. Hand it to
    /// [`Self::next`].
    pub fn take_ahead(&self, worker: usize, ahead: &mut Option<Work<T>>) {
        if ahead.is_some() {
            return;
        }
        let mut state = self.lock();
        let now = self.now();
        *ahead = state.dispatcher.take_ahead(now, worker);
        if ahead.is_none() {
            return;
        }
        if state.closed && state.dispatcher.is_empty() {
            self.changed.iter().for_each(Condvar::notify_all);
        }
        let called = state.dispatcher.call(now);
        self.wake(state, called);
    }

    /// What somebody who is free does next: what it took ahead, or else as of [`Self::take`].
    pub fn next(&self, worker: usize, processor: Processor, ahead: Option<Work<T>>) -> Option<Work<T>> {
        if ahead.is_none() {
            return self.take(worker, processor);
        }
        let mut state = self.lock();
        let now = self.now();
        state.dispatcher.goes_on(now, worker);
        ahead
    }

    /// Somebody has done its work, and does not ask for more at once.
    pub fn done(&self, worker: usize) {
        let mut state = self.lock();
        let now = self.now();
        state.dispatcher.done(now, worker);
        let called = state.dispatcher.call(now);
        self.wake(state, called);
    }

    /// Somebody has given its work to others, which says nothing about how long it takes.
    pub fn gave_away(&self, worker: usize) {
        self.lock().dispatcher.gave_away(worker);
    }

    /// From now on no batch waits for more queries.
    pub fn hurry(&self) {
        self.lock().dispatcher.hurry();
        self.changed[Processor::Gpu as usize].notify_all();
    }

    /// No more queries come; those that are there are still taken.
    pub fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        state.dispatcher.hurry();
        drop(state);
        self.changed.iter().for_each(Condvar::notify_all);
        if let Some(awake) = self.awake {
            awake();
        }
    }

    /// Queries that wait are dropped, and those that still come.
    pub fn abandon(&self) {
        let mut state = self.lock();
        state.abandoned = true;
        state.dispatcher.clear();
        drop(state);
        self.close();
    }

    /// Queries that wait.
    pub fn waiting(&self) -> usize {
        self.lock().dispatcher.len()
    }

    /// What has happened.
    pub fn counts(&self) -> Counts {
        self.lock().dispatcher.counts()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::cost::Costs;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// A query comes from a thread that does not search, and all others sleep: the GPU, for which it is not, without
    /// end. Who is to take it hears of it, not the GPU, which would only learn when its deadline is near.
    #[test]
    fn test_who_sleeps_is_called_by_those_who_do_not_search() {
        for (cpu, gpu, calls) in [(1e-3, 9.0, 1), (9.0, 1e-3, 0)] {
            let called = AtomicUsize::new(0);
            let awake = || _ = called.fetch_add(1, Ordering::SeqCst);
            let shared = Shared::new(Rules::default(), &Processor::BOTH, Some(&awake));
            for worker in [0, 1] {
                assert_eq!(shared.try_take(worker), (Next::Wait(None), false));
            }
            let now = shared.now();
            let costs = Costs { cpu, gpu, gpu_batched: gpu };
            let arrival = Arrival { arrived: now, deadline: now + Duration::from_secs(1000), costs, shortest: 1 };
            shared.put([(arrival, 7)]);
            assert_eq!(called.load(Ordering::SeqCst), calls);
        }
    }
}
