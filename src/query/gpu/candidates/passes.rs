//! The passes of a batch, from its rows to the results of each query.

use super::Method;
use super::kernels::{CLASSES, Kernels, TALLY_SPAN};
use super::layout::Layout;
use super::results::{Want, Which, head, lacks, read};
use crate::Result;
use crate::gpu::{AdapterKind, Bound, Gpu, GpuError, Layout as _, Pending, Step};
use crate::query::gpu::found::{BestRows, Found, word, words};
use crate::query::gpu::recipe::Unit;
use crate::query::gpu::rows::{CandidateHead, CandidateParams, CandidateState};
use crate::query::gpu::slot::{Key, Outside, Slot};
use crate::query::gpu::topk::{Chooser, Counts, TopKCapacity};

/// The first copy has room for at least so many results.
const WINDOW: u32 = 1 << 16;

/// On a software adapter, a workgroup with a query of its own goes through so many candidates in one pass: llvmpipe
/// ends every loop of a thread that has gone through 65,535 rounds of loops.
const SOFTWARE_SPAN: u32 = 2048;

/// A batch on its way.
#[derive(Debug)]
pub struct Sent {
    layout: Layout,
    comes: Comes,
}

/// What comes back from a batch.
#[derive(Clone, Copy, Debug)]
enum Comes {
    /// The best of each query.
    Best(BestRows),
    /// As many results as the first `bytes` bytes have.
    Results { bytes: u64, ranked: bool },
}

/// Takes a batch through its passes.
#[derive(Clone, Copy)]
pub struct Passes<'a> {
    /// The device.
    pub gpu: &'a Gpu,
    /// The kernels that all methods share.
    pub kernels: &'a Kernels,
    /// The method, with its own kernels.
    pub method: &'a Method,
    /// Another one for each method.
    pub number: usize,
    /// Time each pass.
    pub timed: bool,
}

/// A pass on its way to a submission.
struct Run<'a> {
    name: &'static str,
    bound: &'a Bound,
    immediates: Vec<u8>,
    groups: u32,
}

/// Bytes of the copy that brings the first results.
pub(super) fn window(layout: &Layout, ranked: bool) -> u64 {
    let stride = if ranked { 2 } else { 1 };
    let slots = layout.slots();
    4 * (head(layout) as u64 + stride * u64::from(slots.min(WINDOW.max(slots / 8))))
}

impl Passes<'_> {
    /// Sends a batch through all passes in one submission.
    ///
    /// # Errors
    /// [`crate::Error::Limit`] if the device cannot choose the best of so many. [`crate::Error::Gpu`] if it was lost or
    /// is out of memory.
    pub fn submit(
        self,
        slot: &mut Slot,
        outside: &Outside<'_>,
        layout: Layout,
        want: Want<'_>,
    ) -> Result<(Pending, Sent)> {
        let gpu = self.gpu;
        let queries = layout.queries.len() as u32;
        slot.need(&layout.buffers())?;
        // stand in where `outside` or the method has no such buffer
        slot.need(&[("norms", 1), ("tables", 1)])?;
        let ranked = matches!(want, Want::Best { .. });
        let (which, k) = match want {
            Want::Docs => (Which::All, 0),
            Want::Best { k, topk: Chooser::Histogram } => (Which::Chosen, k),
            Want::Best { k, topk: Chooser::Host } => (Which::All, k),
            Want::Best { k, topk: Chooser::Kernels(_) } => (Which::InPlace, k),
        };
        let comes = match which {
            Which::InPlace => Comes::Best(BestRows { queries: queries as usize, most: k, room: u32::MAX }),
            _ => Comes::Results { bytes: window(&layout, ranked), ranked },
        };
        slot.need_download(match comes {
            Comes::Best(rows) => 4 * (rows.words() as u64 + u64::from(CandidateHead::WORDS)),
            Comes::Results { bytes, .. } => bytes,
        })?;
        if let Want::Best { topk: Chooser::Kernels(topk), .. } = want {
            topk.check(layout.queries.iter().map(|query| query.room).max().unwrap_or(0), k)?;
            let capacity = TopKCapacity { queries, hits: layout.slots(), k };
            slot.bind_topk(topk, capacity, "results", CandidateHead::WORDS)?;
        }
        slot.put(&layout.rows())?;
        let bound = self.bind(slot, outside)?;
        let mut runs = Runs::new(self, &bound, &layout, layout.slots(), ranked);
        runs.expand();
        runs.rounds();
        runs.results(which, k);
        let words = CandidateState::WORDS + if which == Which::Chosen { CLASSES } else { 0 };
        let state = 4 * u64::from(CandidateHead::WORDS + words * queries);
        let mut steps = vec![Step::Clear(slot.buffer("state"), state)];
        steps.extend(runs.steps());
        let chosen;
        match comes {
            Comes::Best(rows) => {
                let word = |i: u32| CandidateHead::WORDS + i * queries;
                let counts = Counts { first: word(CandidateState::WANTED), stride: 1, head: CandidateHead::WORDS };
                let topk = slot.topk("results");
                let rooms = layout.queries.iter().map(|query| (query.start, query.room));
                chosen = topk.runs(gpu, rooms, counts)?;
                steps.extend(topk.steps(&chosen));
                let bytes = 4 * (rows.words() as u64 + u64::from(CandidateHead::WORDS));
                steps.push(Step::Copy { from: slot.buffer("best"), to: slot.download(), bytes });
            }
            Comes::Results { bytes, .. } => {
                steps.push(Step::Copy { from: slot.buffer("results"), to: slot.download(), bytes });
            }
        }
        let pending = gpu.submit("intersection", &steps, self.timed)?;
        Ok((pending, Sent { layout, comes }))
    }

    /// Binds all kernels to their buffers: first those that methods share, then the method's own.
    pub(super) fn bind(self, slot: &mut Slot, outside: &Outside<'_>) -> Result<std::sync::Arc<[Bound]>, GpuError> {
        let Self { kernels, method, number, .. } = self;
        let tables = &method.tables;
        let mut outside = outside.clone();
        outside.buffers.extend(tables.buffer().map(|words| ("tables", words)));
        outside.stamp[2] = tables.number();
        let key = Key { what: "intersection", number };
        slot.bound(key, &outside, kernels.shared.iter().chain(&method.passes))
    }
}

/// The runs of a batch, in order. A kernel with nothing to do does not run.
pub(super) struct Runs<'b> {
    method: &'b Method,
    shared: &'b [Bound],
    own: &'b [Bound],
    layout: &'b Layout,
    /// How far apart the two halves of the candidates are.
    half: u32,
    ranked: bool,
    software: bool,
    /// A pass has at most so many workgroups.
    most: u32,
    runs: Vec<Run<'b>>,
}

impl<'b> Runs<'b> {
    /// None yet. `bound` are the kernels, those that methods share first.
    pub(super) fn new(passes: Passes<'b>, bound: &'b [Bound], layout: &'b Layout, half: u32, ranked: bool) -> Self {
        let Passes { gpu, kernels, method, .. } = passes;
        let (shared, own) = bound.split_at(kernels.shared.len().min(bound.len()));
        let software = gpu.report().kind == AdapterKind::Software;
        let most = kernels.workgroups;
        Self { method, shared, own, layout, half, ranked, software, most, runs: Vec::new() }
    }

    /// All of them as steps of a submission.
    pub(super) fn steps(&self) -> impl Iterator<Item = Step<'_>> {
        self.runs.iter().map(|run| Step::Run {
            name: run.name,
            bound: run.bound,
            immediates: &run.immediates,
            groups: run.groups,
        })
    }

    fn queries(&self) -> u32 {
        self.layout.queries.len() as u32
    }

    fn push(
        &mut self,
        name: &'static str,
        bound: &'b Bound,
        [first, jobs, groups]: [u32; 3],
        round: u32,
        numbers: [u32; 2],
    ) {
        if groups == 0 {
            return;
        }
        let span = if self.software { SOFTWARE_SPAN } else { u32::MAX };
        let (half, ranked, queries, [number, other]) = (self.half, self.ranked.into(), self.queries(), numbers);
        let groups = groups.min(self.most);
        let params = CandidateParams { first, jobs, round, half, ranked, queries, number, other, span };
        self.runs.push(Run { name, bound, immediates: params.bytes(), groups });
    }

    /// The shortest lists become candidates.
    pub(super) fn expand(&mut self) {
        let [expand, ..] = self.shared else { return };
        let jobs = self.layout.expand.of(self.queries());
        self.push("expand", expand, [self.layout.expand.first, jobs, jobs], 0, [0; 2]);
    }

    /// The method's passes, and the moves of the candidates that stay, for all lists but the first.
    pub(super) fn rounds(&mut self) {
        let [_, sum, offsets, compact, ..] = self.shared else { return };
        let (recipe, layout, queries) = (&self.method.recipe, self.layout, self.queries());
        for round in 1..=self.method.rounds(layout) {
            let of_round = if recipe.once { queries } else { layout.queries_of(round) };
            if recipe.alone {
                // all rounds are one pass, except on a software adapter
                let most = layout.queries[..of_round as usize].iter().map(|query| query.room).max().unwrap_or(0);
                let (steps, end) = match self.software {
                    true => (most.div_ceil(SOFTWARE_SPAN), round + 1),
                    false => (u32::from(round == 1), u32::MAX),
                };
                let span = if self.software { SOFTWARE_SPAN } else { u32::MAX };
                for step in 0..steps {
                    for (pass, bound) in recipe.passes.iter().zip(self.own) {
                        let jobs = layout.jobs_of(pass.unit, round, of_round);
                        self.push(pass.name, bound, jobs, round, [step.saturating_mul(span), end]);
                    }
                }
                continue;
            }
            for (pass, bound) in recipe.passes.iter().zip(self.own) {
                self.push(pass.name, bound, layout.jobs_of(pass.unit, round, of_round), round, pass.numbers);
            }
            let tiles = layout.jobs_of(Unit::Slots(1), round, of_round);
            self.push("sum", sum, tiles, round, [0; 2]);
            self.push("offsets", offsets, layout.jobs_of(Unit::Queries, round, of_round), round, [0; 2]);
            self.push("compact", compact, tiles, round, [0; 2]);
        }
    }

    /// The results come together for the host: of the best `k` as [`Which::Chosen`].
    pub(super) fn results(&mut self, which: Which, k: u32) {
        let [_, _, _, _, tally, choose, totals, gather] = self.shared else { return };
        let (layout, queries) = (self.layout, self.queries());
        let once = u32::from(self.method.recipe.once);
        let tiles = layout.jobs_of(Unit::Slots(1), 1, queries);
        if which == Which::Chosen {
            self.push("tally", tally, layout.jobs_of(Unit::Slots(TALLY_SPAN), 1, queries), 0, [once, 0]);
            self.push("choose", choose, layout.jobs_of(Unit::Queries, 1, queries), 0, [once, k]);
        }
        self.push("totals", totals, [0, 1, 1], 0, [once, which as u32]);
        self.push("gather", gather, tiles, 0, [once, which as u32]);
    }
}

/// Waits for a batch, and reads its results.
///
/// # Errors
/// The device was lost, or is out of memory.
pub fn finish(gpu: &Gpu, slot: &mut Slot, pending: Pending, sent: Sent) -> Result<Found, GpuError> {
    let Sent { layout, comes } = sent;
    let (mut found, passes) = match comes {
        Comes::Best(rows) => gpu.finish(pending, slot.download(), |bytes| {
            let words = words(bytes);
            let decoded = word(&words, rows.words() + CandidateHead::BLOCKS as usize).into();
            Found { decoded, ..rows.read(&words, layout.order.iter().copied()) }
        })?,
        Comes::Results { bytes, ranked } => {
            let (mut found, passes) =
                gpu.finish(pending, slot.download(), |there| read(&words(there), bytes, &layout, ranked))?;
            if let Some(wanted) = lacks(&found) {
                found = bring_all(gpu, slot, &layout, wanted, ranked)?;
            }
            (found, passes)
        }
    };
    found.passes = passes;
    Ok(found)
}

/// Brings all results, so many words, which are still on the device.
pub(super) fn bring_all(
    gpu: &Gpu,
    slot: &mut Slot,
    layout: &Layout,
    wanted: usize,
    ranked: bool,
) -> Result<Found, GpuError> {
    let bytes = 4 * (head(layout) + wanted) as u64;
    slot.need_download(bytes)?;
    let copy = [Step::Copy { from: slot.buffer("results"), to: slot.download(), bytes }];
    let pending = gpu.submit("results", &copy, false)?;
    Ok(gpu.finish(pending, slot.download(), |all| read(&words(all), bytes, layout, ranked))?.0)
}
