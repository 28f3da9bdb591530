//! One conjunction, a list at a time, so that the host may decide between two lists where it goes on.
//!
//! A step is a batch of one query with two lists, of which the first one is what earlier steps left. The kernels are
//! those of batches: they read candidates from one half of their buffer and write those that stay to the other half,
//! and with the next step the halves change places.

use super::kernels::CLASSES;
use super::layout::Layout;
use super::passes::{Passes, Runs, bring_all, window};
use super::results::{Which, head, lacks, read};
use super::{Candidates, slots_of};
use crate::gpu::{Bound, Gpu, GpuError, Step};
use crate::query::gpu::batches::{Context, Lack};
use crate::query::gpu::found::{Found, word, words};
use crate::query::gpu::kernels::THREADS;
use crate::query::gpu::report::Report;
use crate::query::gpu::rows::{CandidateHead, CandidateState, TermRow};
use crate::query::gpu::slot::Slot;
use crate::query::gpu::topk::Chooser;
use crate::query::{Hit, Plan, PlannedTerm};
use crate::{Error, Result};
use std::sync::Arc;

/// Words of `state` for one query, without those that count results by class.
const STATE: u32 = CandidateHead::WORDS + CandidateState::WORDS;

/// A conjunction on its way through a device.
pub(in crate::query) struct Steps<'d, 'a> {
    pub(in crate::query::gpu) context: &'d mut Context<'a>,
    pub(in crate::query::gpu) candidates: &'d mut Candidates,
    pub(in crate::query::gpu) slot: &'d mut Slot,
    pub(in crate::query::gpu) topk: &'d Chooser,
    pub(in crate::query::gpu) plan: &'d Plan,
    held: Held,
    found: Found,
    report: Report,
}

/// The candidates that are on the device.
#[derive(Default)]
struct Held {
    /// Slots of a half of their buffer.
    half: u32,
    /// The slot of the first one: 0, or that of the other half.
    start: u32,
    count: u32,
    /// The row of their list, if that was not decoded yet.
    list: Option<TermRow>,
    /// The step that they come from, and the distance of the halves as its kernels see it.
    step: Option<(Layout, u32)>,
}

impl<'d, 'a> Steps<'d, 'a> {
    pub(in crate::query::gpu) fn new(
        context: &'d mut Context<'a>,
        candidates: &'d mut Candidates,
        slot: &'d mut Slot,
        topk: &'d Chooser,
        plan: &'d Plan,
    ) -> Self {
        let (held, found, report) = (Held::default(), Found::default(), Report::default());
        Self { context, candidates, slot, topk, plan, held, found, report }
    }

    /// What the device did so far.
    pub(in crate::query) fn report(&self) -> &Report {
        &self.report
    }

    /// Makes room for so many candidates, in place of all that were there. False if the device has too little memory.
    ///
    /// # Errors
    /// The device was lost.
    pub(in crate::query) fn reserve(&mut self, count: u32) -> Result<bool> {
        let slots = slots_of(count);
        if slots > self.candidates.limits.slots {
            return Ok(false);
        }
        self.held = Held { half: slots as u32, ..Held::default() };
        let both = 2 * slots;
        // the first ones must not be replaced between two steps, and the others must be long enough for either half
        let buffers = [
            ("candidates", both),
            ("scores", both),
            ("flags", both),
            ("heads", both),
            ("sums", both / u64::from(THREADS) + 1),
            ("state", u64::from(STATE + CLASSES)),
            ("results", u64::from(CandidateHead::WORDS) + 1 + both),
            ("norms", 1),
            ("tables", 1),
        ];
        match self.slot.need(&buffers) {
            Err(GpuError::OutOfMemory { .. } | GpuError::Limit { .. }) => Ok(false),
            other => other.map(|()| true).map_err(Error::from),
        }
    }

    /// Brings the lists of terms to the device, and returns their rows. `None` if it has no room for them.
    ///
    /// # Errors
    /// [`Error::Damaged`], or the device was lost.
    pub(in crate::query) fn bring(&mut self, terms: &[&PlannedTerm]) -> Result<Option<Vec<TermRow>>> {
        let before = self.context.residence.counts();
        let mut rows = self.rows(terms)?;
        if matches!(rows, Err(Lack::Tables)) {
            // nothing is on its way that needs them
            self.candidates.clear_tables();
            rows = self.rows(terms)?;
        }
        self.report.lists.add(&self.context.residence.counts().since(&before));
        Ok(rows.ok())
    }

    fn rows(&mut self, terms: &[&PlannedTerm]) -> Result<std::result::Result<Vec<TermRow>, Lack>> {
        // no earlier step needs its lists any more
        self.context.residence.begin();
        self.context.residence.begin();
        let rows = terms.iter().map(|term| self.candidates.row(self.context, term)).collect::<Result<_>>();
        // those that were placed must come, even if others do not
        self.context.residence.flush().and(rows)
    }

    /// Begins with the postings of a list as candidates; call [`Self::reserve`] first.
    pub(in crate::query) fn start(&mut self, list: TermRow) {
        self.held = Held { half: self.held.half, count: list.df, list: Some(list), ..Held::default() };
    }

    /// Begins with candidates of the host, increasing, and with what some lists have added to their scores, in whole
    /// numbers; call [`Self::reserve`] first. Returns how many bytes cross to the device.
    ///
    /// # Errors
    /// The device was lost, or is out of memory.
    pub(in crate::query) fn put(&mut self, docs: &[u32], sums: &[f32]) -> Result<u64> {
        self.held = Held { half: self.held.half, count: docs.len() as u32, ..Held::default() };
        let bias = self.context.searcher.bias(self.plan) as f32;
        // sums of whole numbers below 2^24
        let words: Vec<u32> = sums.iter().map(|sum| (sum + bias) as u32).collect();
        self.slot.write("candidates", docs)?;
        self.slot.write("scores", &words)?;
        Ok((size_of_val(docs) + size_of_val(&*words)) as u64)
    }

    /// Keeps the candidates that a list has, and returns how many these are. Without a list all stay. `last` is the
    /// number of wanted documents if no list comes after this one.
    ///
    /// # Errors
    /// The device was lost, or is out of memory.
    pub(in crate::query) fn intersect(&mut self, list: Option<TermRow>, last: Option<u32>) -> Result<u32> {
        let Held { half, start, count, .. } = self.held;
        let first = self.held.list.take();
        let expand = first.is_some();
        // without blocks nothing is decoded
        let first = first.unwrap_or(TermRow { df: count, ..TermRow::default() });
        let searcher = self.context.searcher;
        let scores = [searcher.greatest_score(self.plan), searcher.bias(self.plan)];
        let rows = [(std::iter::once(first).chain(list).collect(), scores)];
        let method = &mut self.candidates.methods[self.candidates.at];
        method.tables.flush(&self.context.gpu)?;
        let mut layout = Layout::new(&rows, &method.recipe);
        layout.queries[0].start = start;
        let moves = method.rounds(&layout) > 0;
        // from the half where they are to the other one
        let distance = if start == 0 { half } else { 0u32.wrapping_sub(half) };
        self.slot.need(&layout.buffers())?;
        self.slot.put(&layout.rows())?;
        let mut state = vec![0; (STATE + CLASSES) as usize];
        state[(CandidateHead::WORDS + CandidateState::COUNTS) as usize] = count;
        self.slot.write("state", &state)?;
        let which = if matches!(self.topk, Chooser::Histogram) { Which::Chosen } else { Which::All };
        let run = |runs: &mut Runs<'_>| {
            if expand {
                runs.expand();
            }
            runs.rounds();
            if let Some(k) = last {
                runs.results(which, k);
            }
        };
        let bytes = if last.is_some() { window(&layout, true) } else { 0 };
        let (found, state) = self.submit(&layout, distance, bytes, run)?;
        let counts = CandidateHead::WORDS + CandidateState::COUNTS + u32::from(moves);
        let left = word(&state, counts as usize).min(count);
        self.report.batches += 1;
        self.report.decoded += u64::from(word(&state, CandidateHead::BLOCKS as usize));
        self.found = found;
        let start = if moves { start.wrapping_add(distance) } else { start };
        self.held = Held { half, start, count: left, list: None, step: Some((layout, distance)) };
        Ok(left)
    }

    /// Runs some kernels, and brings the first `bytes` bytes of the results, more if there are more, and the counters.
    fn submit(
        &mut self,
        layout: &Layout,
        distance: u32,
        bytes: u64,
        run: impl FnOnce(&mut Runs<'_>),
    ) -> Result<(Found, Vec<u32>)> {
        let Self { context, candidates, slot, .. } = self;
        let Context { gpu, timed, .. } = &**context;
        let outside = context.lists();
        let passes = candidates.passes(gpu, *timed);
        slot.need_download(bytes + 4 * u64::from(STATE))?;
        let bound: Arc<[Bound]> = passes.bind(slot, &outside)?;
        let mut runs = Runs::new(passes, &bound, layout, distance, true);
        run(&mut runs);
        let mut steps: Vec<_> = runs.steps().collect();
        if bytes > 0 {
            steps.push(Step::Copy { from: slot.buffer("results"), to: slot.download(), bytes });
        }
        let to = (slot.download(), bytes);
        steps.push(Step::CopyPart { from: (slot.buffer("state"), 0), to, bytes: 4 * u64::from(STATE) });
        let pending = gpu.submit("step", &steps, *timed)?;
        let both = |there: &[u8]| {
            let there = words(there);
            let state = there.get(bytes as usize / 4..).unwrap_or_default();
            let found = if bytes > 0 { read(&there, bytes, layout, true) } else { Found::default() };
            (found, state.get(..STATE as usize).unwrap_or_default().to_vec())
        };
        let ((mut found, state), times) = gpu.finish(pending, slot.download(), both)?;
        if let Some(lacking) = lacks(&found) {
            found = bring_all(gpu, slot, layout, lacking, true)?;
        }
        self.report.add_passes(&times);
        Ok((found, state))
    }

    /// Hands over the candidates, and what all lists so far have added to their scores.
    ///
    /// # Errors
    /// The device was lost, or is out of memory.
    pub(in crate::query) fn take(&mut self) -> Result<(Vec<u32>, Vec<f32>)> {
        let Some((layout, distance)) = self.held.step.take() else { return Ok(Default::default()) };
        let bytes = 4 * (head(&layout) as u64 + 2 * u64::from(self.held.count));
        let (found, _) = self.submit(&layout, distance, bytes, |runs| runs.results(Which::All, 0))?;
        let bias = self.context.searcher.bias(self.plan) as f32;
        let pairs = found.pairs(0).into_iter().flatten();
        Ok(pairs.map(|(doc, sum)| (doc, sum as f32 - bias)).unzip())
    }

    /// Bytes that came to the host with the last list.
    pub(in crate::query) fn bytes_of_results(&self) -> u64 {
        4 * self.found.words.len() as u64
    }

    /// The best `k` documents behind the last list. `None` if the device lost count of them.
    pub(in crate::query) fn best(&self, k: usize) -> Option<Vec<Hit>> {
        let searcher = self.context.searcher;
        self.found.best(0, self.plan.unit, searcher.bias(self.plan), k, searcher.index().input_places())
    }
}

impl Candidates {
    fn passes<'p>(&'p self, gpu: &'p Gpu, timed: bool) -> Passes<'p> {
        let method = &self.methods[self.at];
        Passes { gpu, kernels: &self.kernels, method, number: self.at, timed }
    }
}
