//! The buffers of a batch, and its way through the passes.

use super::Method;
use super::kernels::{CLASSES, HEAD, Kernels, QUERY_WORDS, TALLY_SPAN};
use super::layout::{Capacity, Layout};
use super::results::{Best, Found, Want, Which, head};
use crate::Result;
use crate::gpu::{AdapterKind, Bound, Buffer, Gpu, GpuError, Pending, Pipeline, Step, Usage};
use crate::query::gpu::arena::Arena;
use crate::query::intersect::Unit;
use std::sync::Arc;

/// Results that come back with the first copy, at least.
const WINDOW: u32 = 1 << 16;

/// Candidates that a workgroup with a query of its own goes through in one pass on a software adapter: llvmpipe ends every loop of a thread
/// that has gone through 65,535 rounds of loops.
const SOFTWARE_SPAN: u32 = 2048;

/// Buffers for one batch.
#[derive(Debug)]
pub struct Slot {
    /// How much they hold.
    pub capacity: Capacity,
    terms: Buffer,
    queries: Buffer,
    jobs: Buffer,
    candidates: Buffer,
    scores: Buffer,
    flags: Buffer,
    heads: Buffer,
    sums: Buffer,
    state: Buffer,
    results: Buffer,
    download: Buffer,
    best: Option<Best>,
    /// In place of what a batch does without.
    nothing: Buffer,
    bound: Option<Arc<BoundKernels>>,
}

/// A batch on its way, in its slot.
#[derive(Debug)]
pub struct Flight {
    slot: Slot,
    layout: Layout,
    pending: Pending,
    comes: Comes,
}

/// What comes of a batch.
#[derive(Clone, Copy, Debug)]
enum Comes {
    /// The best of each query.
    Best,
    /// Results, as far as they are in the first bytes.
    Results { bytes: u64, ranked: bool },
}

/// The kernels of a method with their buffers, and what they are bound for.
#[derive(Debug)]
struct BoundKernels {
    what: (usize, u64, bool),
    expand: Bound,
    passes: Vec<Bound>,
    sum: Bound,
    offsets: Bound,
    compact: Bound,
    tally: Bound,
    choose: Bound,
    totals: Bound,
    gather: Bound,
}

/// What takes a batch through its passes.
#[derive(Clone, Copy)]
pub struct Engine<'a> {
    /// Where they run.
    pub gpu: &'a Gpu,
    /// What runs, whatever the method.
    pub kernels: &'a Kernels,
    /// And what for it.
    pub method: &'a Method,
    /// Of each method another one.
    pub number: usize,
    /// The memory for lists.
    pub arena: &'a Arena,
    /// Time each pass.
    pub timed: bool,
}

/// A pass on its way to a submission.
struct Run {
    name: &'static str,
    bound: Bound,
    immediates: Vec<u8>,
    groups: u32,
}

impl Slot {
    /// For batches of up to `needed`, and somewhat larger ones.
    ///
    /// # Errors
    /// The device has less memory, or was lost.
    pub fn new(gpu: &Gpu, needed: Capacity) -> Result<Self, GpuError> {
        let round = |n: u32| n.next_power_of_two().max(256);
        // buffers of twice the slots may not be there for the asking
        let slots = if needed.slots < 1 << 22 { round(needed.slots) } else { needed.slots };
        let capacity = Capacity {
            queries: round(needed.queries),
            terms: round(needed.terms),
            jobs: round(needed.jobs),
            slots,
            heads: round(needed.heads).max(slots),
        };
        let storage = |what: &str, words: u64| gpu.buffer(what, 4 * words, Usage::Storage);
        let (slots, queries) = (u64::from(capacity.slots), u64::from(capacity.queries));
        let window = u64::from(HEAD) + queries + 2 * slots.min(u64::from(WINDOW).max(slots / 8));
        Ok(Self {
            capacity,
            terms: storage("terms", 12 * u64::from(capacity.terms))?,
            queries: storage("queries", 4 * queries)?,
            jobs: storage("jobs", 2 * u64::from(capacity.jobs))?,
            candidates: storage("candidates", 2 * slots)?,
            scores: storage("scores", 2 * slots)?,
            flags: storage("flags", slots)?,
            heads: storage("heads", u64::from(capacity.heads))?,
            sums: storage("sums", slots / 128 + 1)?,
            state: storage("state", u64::from(HEAD) + u64::from(QUERY_WORDS + CLASSES) * queries)?,
            results: storage("results", u64::from(HEAD) + queries + 2 * slots)?,
            download: gpu.buffer("results", 4 * window, Usage::Download)?,
            best: None,
            nothing: storage("nothing", 4)?,
            bound: None,
        })
    }

    /// Sends a batch through all passes in one submission.
    ///
    /// # Errors
    /// [`crate::Error::Limit`] if the device cannot choose the best of so many; [`crate::Error::Gpu`]: it was lost, or is out of memory.
    ///
    /// # Panics
    /// If the batch is larger than the slot.
    pub fn submit(mut self, engine: Engine<'_>, layout: Layout, want: Want<'_>) -> Result<Flight> {
        let Engine { gpu, method, timed, .. } = engine;
        assert!(self.capacity.holds(layout.capacity()), "the batch is larger than its slot");
        gpu.write(&self.terms, 0, bytemuck::cast_slice(&layout.terms))?;
        gpu.write(&self.queries, 0, bytemuck::cast_slice(&layout.queries))?;
        gpu.write(&self.jobs, 0, bytemuck::cast_slice(&layout.jobs))?;
        let queries = layout.queries.len() as u32;
        let recipe = &method.recipe;
        let ranked = matches!(want, Want::Best { .. });
        let (which, k) = match want {
            Want::Docs => (Which::All, 0),
            Want::Best { k, topk: None, .. } => (Which::Chosen, k),
            Want::Best { k, topk: Some(topk), .. } => {
                topk.check(gpu, layout.queries.iter().map(|query| query[3]).max().unwrap_or(0), k)?;
                if !self.best.as_ref().is_some_and(|best| best.holds(queries, k)) {
                    let room = (queries.next_power_of_two(), self.capacity.slots, k);
                    self.best = Some(Best::new(gpu, topk, room, &self.results, &self.state)?);
                }
                (Which::InPlace, k)
            }
        };
        let bound = self.bind(engine, want)?;
        let software = gpu.report().kind == AdapterKind::Software;
        let span = if software { SOFTWARE_SPAN } else { u32::MAX };
        let immediates = |[first, jobs, _]: [u32; 3], round: u32, numbers: [u32; 2]| {
            let ranked = ranked.into();
            let words = [first, jobs, round, self.capacity.slots, ranked, queries, numbers[0], numbers[1], span];
            bytemuck::cast_slice(&words).to_vec()
        };
        let mut runs: Vec<Run> = Vec::new();
        let mut push = |name, bound: &Bound, jobs: [u32; 3], round, numbers| {
            if jobs[2] > 0 {
                let immediates = immediates(jobs, round, numbers);
                runs.push(Run { name, bound: bound.clone(), immediates, groups: jobs[2] });
            }
        };
        let expand = layout.expand.of(queries);
        push("expand", &bound.expand, [layout.expand.first, expand, expand], 0, [0; 2]);
        let rounds = if recipe.once { 1 } else { layout.rounds() };
        for round in 1..=rounds {
            let of_round = if recipe.once { queries } else { layout.queries_of(round) };
            if recipe.alone {
                // all rounds are one pass, but for software
                let most = layout.queries[..of_round as usize].iter().map(|query| query[3]).max().unwrap_or(0);
                let (steps, end) = match software {
                    true => (most.div_ceil(span), round + 1),
                    false => (u32::from(round == 1), u32::MAX),
                };
                for step in 0..steps {
                    for (pass, bound) in recipe.passes.iter().zip(&bound.passes) {
                        let jobs = layout.jobs_of(pass.unit, round, of_round);
                        push(pass.name, bound, jobs, round, [step.saturating_mul(span), end]);
                    }
                }
                continue;
            }
            for (pass, bound) in recipe.passes.iter().zip(&bound.passes) {
                push(pass.name, bound, layout.jobs_of(pass.unit, round, of_round), round, pass.numbers);
            }
            let tiles = layout.jobs_of(Unit::Slots(1), round, of_round);
            push("sum", &bound.sum, tiles, round, [0; 2]);
            push("offsets", &bound.offsets, layout.jobs_of(Unit::Queries, round, of_round), round, [0; 2]);
            push("compact", &bound.compact, tiles, round, [0; 2]);
        }
        let once = u32::from(recipe.once);
        let tiles = layout.jobs_of(Unit::Slots(1), 1, queries);
        if which == Which::Chosen {
            push("tally", &bound.tally, layout.jobs_of(Unit::Slots(TALLY_SPAN), 1, queries), 0, [once, 0]);
            push("choose", &bound.choose, layout.jobs_of(Unit::Queries, 1, queries), 0, [once, k]);
        }
        push("totals", &bound.totals, [0, 1, 1], 0, [once, which as u32]);
        push("gather", &bound.gather, tiles, 0, [once, which as u32]);
        let words = QUERY_WORDS + if which == Which::Chosen { CLASSES } else { 0 };
        let mut steps = vec![Step::Clear(&self.state, 4 * u64::from(HEAD + words * queries))];
        steps.extend(runs.iter().map(|run| Step::Run {
            name: run.name,
            bound: &run.bound,
            immediates: &run.immediates,
            groups: run.groups,
        }));
        let last = match (&self.best, which) {
            (Some(best), Which::InPlace) => Some((best, best.step(queries))),
            _ => None,
        };
        let comes = match &last {
            Some((best, (topk, parameters))) => {
                steps.push(topk.step(queries, parameters));
                steps.push(Step::Copy { from: &best.best, to: &best.download, bytes: best.bytes(queries) });
                Comes::Best
            }
            None => {
                let stride = if ranked { 2 } else { 1 };
                let slots = layout.capacity().slots;
                let window = head(&layout) as u64 + stride * u64::from(slots.min(WINDOW.max(slots / 8)));
                let bytes = (4 * window).min(self.download.bytes());
                steps.push(Step::Copy { from: &self.results, to: &self.download, bytes });
                Comes::Results { bytes, ranked }
            }
        };
        let pending = gpu.submit("intersection", &steps, timed)?;
        drop(steps);
        Ok(Flight { slot: self, layout, pending, comes })
    }

    /// Puts kernels and buffers together, unless they are.
    fn bind(&mut self, engine: Engine<'_>, want: Want<'_>) -> Result<Arc<BoundKernels>, GpuError> {
        let Engine { gpu, kernels, method, number, arena, .. } = engine;
        let tables = &method.tables;
        let norms = match want {
            Want::Docs => None,
            Want::Best { norms, .. } => Some(norms),
        };
        let what = (number, tables.number(), norms.is_some());
        if let Some(bound) = self.bound.as_ref().filter(|bound| bound.what == what) {
            return Ok(Arc::clone(bound));
        }
        let bind = |pipeline: &Pipeline| {
            let (norms, words) = (norms.unwrap_or(&self.nothing), tables.buffer().unwrap_or(&self.nothing));
            let own = [&self.terms, &self.queries, norms, &self.jobs, words, &self.candidates, &self.scores];
            let rest = [&self.flags, &self.heads, &self.sums, &self.state, &self.results];
            let buffers: Vec<&Buffer> = arena.buffers().chain(own).chain(rest).collect();
            gpu.bind("intersection", pipeline, &buffers)
        };
        let bound = Arc::new(BoundKernels {
            what,
            expand: bind(&kernels.expand)?,
            passes: method.passes.iter().map(bind).collect::<Result<_, _>>()?,
            sum: bind(&kernels.sum)?,
            offsets: bind(&kernels.offsets)?,
            compact: bind(&kernels.compact)?,
            tally: bind(&kernels.tally)?,
            choose: bind(&kernels.choose)?,
            totals: bind(&kernels.totals)?,
            gather: bind(&kernels.gather)?,
        });
        self.bound = Some(Arc::clone(&bound));
        Ok(bound)
    }
}

impl Flight {
    /// Waits for the batch: what was found, and the slot, for another one.
    ///
    /// # Errors
    /// The device was lost.
    pub fn finish(self, gpu: &Gpu) -> Result<(Found, Slot), GpuError> {
        let Self { slot, layout, pending, comes } = self;
        let (mut found, times) = match (&slot.best, comes) {
            (Some(best), Comes::Best) => gpu.finish(pending, &best.download, |bytes| best.read(bytes, &layout))?,
            (_, Comes::Results { bytes, ranked }) => {
                let read = |there: &[u8]| Found::read(there, bytes, &layout, ranked);
                let (mut found, times) = gpu.finish(pending, &slot.download, read)?;
                if let Some(wanted) = found.lacks() {
                    let bytes = 4 * (head(&layout) + wanted) as u64;
                    let download = gpu.buffer("results", bytes, Usage::Download)?;
                    let copy = [Step::Copy { from: &slot.results, to: &download, bytes }];
                    let pending = gpu.submit("results", &copy, false)?;
                    let (all, _) = gpu.finish(pending, &download, |all| Found::read(all, bytes, &layout, ranked))?;
                    found.complete(all);
                }
                (found, times)
            }
            (None, Comes::Best) => (Found::default(), Vec::new()),
        };
        for (name, seconds) in times {
            match found.passes.iter_mut().find(|(known, _)| *known == name) {
                Some((_, sum)) => *sum += seconds,
                None => found.passes.push((name, seconds)),
            }
        }
        Ok((found, slot))
    }
}
