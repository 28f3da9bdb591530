//! Who is free when, and how far expected costs are off.

use super::Processor;
use super::rules::{NEVER, Nanos};

/// Of a longer and longer past, each call counts for so much less than the next one.
const FADING: f64 = 0.98;
/// And for so much less with each call of the other processor: a GPU whose first call was slow, since its kernels were
/// compiled then, gets another chance after some ten thousand queries of the CPU.
const FORGETTING: f64 = 0.998;
/// Nanoseconds that count as having been as expected, always: nothing beside a call that was, and all that is left
/// where no call was for long.
const PRIOR: f64 = 1.0;
/// Costs are corrected by no more than this factor.
const MOST: f64 = 1e4;

/// What somebody does.
#[derive(Clone, Copy, Debug)]
enum State {
    /// Nothing; asks again at that time.
    Idle(Nanos),
    /// Queries, from then on; they are expected to take so many nanoseconds by the model alone, those that it has taken
    /// ahead so many, and all to end then.
    Busy { begun: Nanos, model: f64, ahead: f64, until: Nanos },
}

#[derive(Clone, Copy, Debug)]
struct Worker {
    processor: Processor,
    state: State,
}

/// How far expected costs are off: nanoseconds of the past, by the clock and by the model.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Scale {
    real: f64,
    model: f64,
}

impl Scale {
    /// A call of `processor` took `real` nanoseconds, and should have taken `model`; `scales` are in the order of
    /// [`Processor::BOTH`].
    pub fn add(scales: &mut [Self; 2], processor: Processor, real: f64, model: f64) {
        let of = &mut scales[processor as usize];
        of.real = FADING * of.real + real;
        of.model = FADING * of.model + model;
        let other = &mut scales[processor.other() as usize];
        other.real *= FORGETTING;
        other.model *= FORGETTING;
    }

    /// By what costs of the model are multiplied; 1 before any call.
    pub fn factor(self) -> f64 {
        ((self.real + PRIOR) / (self.model + PRIOR)).clamp(1.0 / MOST, MOST)
    }
}

/// All who take queries.
#[derive(Debug)]
pub(super) struct Workers {
    all: Vec<Worker>,
    scales: [Scale; 2],
}

impl Workers {
    pub(super) fn new(processors: &[Processor]) -> Self {
        let worker = |&processor: &Processor| Worker { processor, state: State::Idle(0) };
        Self { all: processors.iter().map(worker).collect(), scales: [Scale::default(); 2] }
    }

    pub(super) fn processor(&self, worker: usize) -> Processor {
        self.all[worker].processor
    }

    fn of(&self, processor: Processor) -> impl Iterator<Item = &Worker> {
        self.all.iter().filter(move |worker| worker.processor == processor)
    }

    /// How many a processor has.
    pub(super) fn count(&self, processor: Processor) -> usize {
        self.of(processor).count()
    }

    /// When one of them is free, as far as is known.
    pub(super) fn free_at(&self, processor: Processor, now: Nanos) -> Nanos {
        let free = |worker: &Worker| match worker.state {
            State::Idle(_) => now,
            State::Busy { until, .. } => until.max(now),
        };
        self.of(processor).map(free).min().unwrap_or(NEVER)
    }

    /// Whether one of them does nothing, and when the first of these asks again.
    pub(super) fn idle(&self, processor: Processor) -> Option<Nanos> {
        let asks = |worker: &Worker| match worker.state {
            State::Idle(at) => Some(at),
            State::Busy { .. } => None,
        };
        self.of(processor).filter_map(asks).min()
    }

    pub(super) fn rests(&mut self, worker: usize, until: Nanos) {
        self.all[worker].state = State::Idle(until);
    }

    pub(super) fn begins(&mut self, worker: usize, now: Nanos, model: f64) {
        let until = self.after(worker, now, model);
        self.all[worker].state = State::Busy { begun: now, model, ahead: 0.0, until };
    }

    /// Takes more ahead of its time, which begins once it has done what it does.
    pub(super) fn takes_ahead(&mut self, worker: usize, more: f64) {
        if let State::Busy { begun, model, until, .. } = self.all[worker].state {
            let until = self.after(worker, until, more);
            self.all[worker].state = State::Busy { begun, model, ahead: more, until };
        }
    }

    /// What it did is done, and what it has taken ahead begins.
    pub(super) fn goes_on(&mut self, worker: usize, now: Nanos) {
        if let State::Busy { ahead, .. } = self.all[worker].state {
            self.done(worker, now);
            self.begins(worker, now, ahead);
        }
    }

    /// When somebody has done what it begins then.
    fn after(&self, worker: usize, begun: Nanos, model: f64) -> Nanos {
        begun.saturating_add((model * self.scale(self.processor(worker))) as u64).min(NEVER)
    }

    /// What it did, if anything, is done.
    pub(super) fn done(&mut self, worker: usize, now: Nanos) {
        let Worker { processor, state } = &mut self.all[worker];
        if let State::Busy { begun, model, .. } = *state {
            Scale::add(&mut self.scales, *processor, now.saturating_sub(begun) as f64, model);
            *state = State::Idle(0);
        }
    }

    /// By what costs of the model are multiplied.
    pub(super) fn scale(&self, processor: Processor) -> f64 {
        self.scales[processor as usize].factor()
    }
}
