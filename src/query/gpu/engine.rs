//! A GPU as an engine: what it keeps between calls, and which way queries go.

use super::batches::{self, Answer, Answered, Context, Way};
use super::candidates::{self, Candidates, Steps};
use super::found::Found;
use super::kernels::Parts;
use super::ranges::ByRanges;
use super::ranges::kernels::{BY_RANGE, Ranges, TABLES};
use super::report::{Report, Use};
use super::residence::Residence;
use super::slot::Slot;
use super::topk::Chooser;
use crate::gpu::{Arena, Gpu, Memory, Part, Upload, Usage};
use crate::query::engine::{Answers, Capabilities, Effort, Engine, EngineKind, GpuMethods, Queries};
use crate::query::living;
use crate::query::or::{GpuOr, OR, planned};
use crate::query::{Hit, Mode, Plan, Scores, Searcher};
use crate::{Error, Result};
use rayon::prelude::*;
use std::time::{Duration, Instant};

/// How a device is used.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Bytes for lists, for tables of range maxima, and for postings by range. `None`: as many as all lists and the
    /// tables of the longest lists need, and 8 bytes a posting, but at most 16 GiB for each of the three.
    pub memory: Option<u64>,
    /// Bring all lists at once, before the first query.
    pub preload: bool,
    /// Time each pass.
    pub timed: bool,
    /// A range has 2 to the power of this many docIDs, 6 to 10; tests have small collections. `None`: the size of the
    /// collection decides.
    pub range_bits: Option<u32>,
    /// When a list that has a table is asked for this many times, from 1 on, its postings are laid out by range. That
    /// takes time and memory, which few queries do not earn back. `None`: 32. With [`NEVER`](super::residence::NEVER)
    /// shorter lists are not laid out either, which are else at once.
    pub by_range_at: Option<u32>,
    /// Each pass of an intersector has at most so many workgroups, as if the device had fewer processors (Ao et al.,
    /// figure 9a). `None`: as many as there is work for.
    pub workgroups: Option<u32>,
}

/// From so many words on, lists lie in several buffers.
const LARGE: u64 = 1 << 28;
/// By default this use of a list lays it out by range.
const BY_RANGE_AT: u32 = 32;
/// By default there is room for the tables of at most so many lists.
const DEFAULT_TABLES: u64 = 1 << 16;
/// One thread chooses the best of so many hits in less time than it takes to wake others. While more threads search
/// than there are cores, it may have to wait for milliseconds for one that has begun, and the device with it.
pub(super) const ALONE: usize = 1 << 13;
/// Others are woken for at least so many queries each, and for about so many hits. To wake all of 32 cores for each
/// batch took more of their time than the queries did.
const EACH: [usize; 2] = [16, 1 << 12];

/// Of so many queries, in so many batches, another thread chooses the best hits while this one sends the next batch.
/// For fewer it is not worth a thread. Tests have few.
pub(super) const MANY: usize = if cfg!(test) { 16 } else { 1 << 12 };
pub(super) const MANY_BATCHES: usize = 4;
/// So many batches may wait for that thread. What was found for one can take hundreds of megabytes.
const UNCHOSEN: usize = 1;

/// What getting an engine ready took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ready {
    /// Compiling kernels and making room for lists.
    pub kernels: Duration,
    /// Bringing all lists, if that was asked for.
    pub preload: Duration,
}

/// Answers batches of queries on a GPU: conjunctions by ranges of docIDs or by an intersector, disjunctions by ranges
/// or accumulators. Each list is on the device once, whatever reads it.
pub struct GpuEngine<'a> {
    context: Context<'a>,
    /// Slots without a batch.
    slots: Vec<Slot>,
    options: Options,
    methods: GpuMethods,
    /// Chooses the best hits.
    topk: Chooser,
    /// Made when a query first goes this way.
    ranges: Option<ByRanges>,
    /// For tables of range maxima, and for postings by range.
    memories: Option<[Memory; 2]>,
    /// Made when a query first goes this way.
    candidates: Option<Candidates>,
    ready: Ready,
}

impl<'a> GpuEngine<'a> {
    /// Takes index, codec and parameters from `searcher`, which also answers the queries that the device cannot. All
    /// kernels for queries of `mode` are compiled here. Those for other modes are compiled when such a query comes.
    ///
    /// # Errors
    /// - [`crate::Error::Gpu`].
    /// - [`crate::Error::Invalid`]: all lists should be brought but do not fit; a method does not read the codec or has
    ///   other parameters; or a method of the CPU alone should choose the best.
    /// - [`crate::Error::UnknownName`]: there is no intersector or parameter of that name.
    pub fn new(
        searcher: &'a Searcher<'a>,
        gpu: &Gpu,
        options: Options,
        methods: GpuMethods,
        mode: Mode,
    ) -> Result<Self> {
        let start = Instant::now();
        let needed = Residence::words_of_all(searcher);
        // the pieces of large files leave gaps
        let whole = needed + if needed > LARGE { 2 * LARGE } else { 0 };
        let lists = Arena::new(gpu, Memory::ONE, options.memory.map_or(whole, |bytes| needed.min(bytes / 6)))?;
        let documents = searcher.index().statistics().documents as u32;
        let topk = Chooser::new(gpu, methods.topk, documents, searcher.index().input_places())?;
        let norm = searcher.norm();
        let values: Vec<f32> = searcher.index().lens().par_iter().map(|&len| norm.k(len)).collect();
        let norms = gpu.buffer("norms", size_of_val(&*values) as u64, Usage::Storage)?;
        Upload::default().send(gpu, &[Part { from: &values, to: &norms, at: 0 }])?;
        let residence = Residence::new(searcher, lists);
        let context = Context { searcher, gpu: gpu.clone(), residence, norms, timed: options.timed };
        let (ranges, memories, candidates) = (None, None, None);
        let ready = Ready::default();
        let mut engine =
            Self { context, slots: Vec::new(), options, methods, topk, ranges, memories, candidates, ready };
        // before the lists are brought, so that a wrong method is refused at once
        if engine.methods.intersect.is_none() || mode != Mode::And {
            let named = engine.methods.or.map(|or| OR.gpu(or)).transpose()?;
            engine.need_ranges(named == Some(&GpuOr::Accumulators))?;
        }
        if engine.methods.intersect.is_some() && mode != Mode::Or {
            engine.need_candidates()?;
        }
        engine.ready.kernels = start.elapsed();
        if options.preload {
            engine.context.residence.preload()?;
            engine.ready.preload = start.elapsed() - engine.ready.kernels;
        }
        Ok(engine)
    }

    /// What getting it ready took.
    pub fn ready(&self) -> Ready {
        self.ready
    }

    /// The device.
    pub fn gpu(&self) -> &Gpu {
        &self.context.gpu
    }

    /// How the memory for lists has been used.
    pub fn residence(&self) -> Use {
        self.context.residence.counts()
    }

    /// Whether it has the kernels of accumulators.
    #[cfg(test)]
    pub(super) fn accumulates(&self) -> bool {
        self.ranges.as_ref().is_some_and(ByRanges::accumulates)
    }

    /// Makes room for so many tables, and for no more.
    #[cfg(test)]
    pub(super) fn keep_tables(&mut self, tables: u64) {
        let Context { gpu, residence, .. } = &mut self.context;
        residence.keep_tables(tables, |words| Arena::new(gpu, TABLES, words).unwrap());
    }

    /// The lists that are there.
    #[cfg(test)]
    pub(super) fn lists(&self) -> &Residence<'a> {
        &self.context.residence
    }

    /// Turns text into plans, and answers the queries that the device cannot.
    pub fn searcher(&self) -> &'a Searcher<'a> {
        self.context.searcher
    }

    /// Finds conjunctions by another intersector, with its parameters, as in `pmf:levels=3`.
    ///
    /// # Errors
    /// [`crate::Error::UnknownName`] or [`crate::Error::Invalid`] for an unknown method, for a wrong parameter, or for
    /// a codec that the method cannot read. After an error the old method stays.
    pub fn set_intersector(&mut self, spec: &str) -> Result<()> {
        if let Some(candidates) = &mut self.candidates {
            candidates.change(spec)?;
        }
        self.methods.intersect = Some(spec.to_owned());
        Ok(())
    }

    fn documents(&self) -> u32 {
        self.context.searcher.index().statistics().documents as u32
    }

    fn scores(&self) -> Scores {
        self.context.searcher.scores()
    }

    /// Compiles the kernels of ranges, and of accumulators if they are wanted, unless it has been done.
    fn need_ranges(&mut self, accumulators: bool) -> Result<()> {
        if self.ranges.as_ref().is_some_and(|ranges| ranges.accumulates() || !accumulators) {
            return Ok(());
        }
        let statistics = self.context.searcher.index().statistics();
        let ranges = Ranges::of(statistics.documents as u32, self.options.range_bits);
        let memories = self.need_tables(ranges)?;
        let Context { searcher, gpu, residence, .. } = &self.context;
        let lists = residence.lists().memory();
        let parts = Parts::new(gpu, searcher.device_codec().codec(), lists, self.documents(), self.scores());
        self.ranges = Some(ByRanges::new(gpu, &parts, memories, ranges, accumulators)?);
        Ok(())
    }

    /// Makes room for tables of range maxima and for postings by range, unless it has been done.
    fn need_tables(&mut self, ranges: Ranges) -> Result<[Memory; 2]> {
        if let Some(memories) = self.memories {
            return Ok(memories);
        }
        let Context { searcher, gpu, residence, .. } = &mut self.context;
        let statistics = searcher.index().statistics();
        // lists with a table are on average twelve times as long as the shortest of them, or more
        let tabled = (statistics.postings / (12 * u64::from(ranges.table_df()))).clamp(16, DEFAULT_TABLES);
        let whole = tabled * u64::from(ranges.table_words());
        // half a word a posting, and where ranges begin in each list; no more is made than is taken
        let by_range = 2 * statistics.postings;
        let (tables, by_range) = match self.options.memory {
            Some(bytes) => {
                let words = bytes / 4 - Residence::words_of_all(searcher).min(bytes / 6);
                let by_range = by_range.min(words.saturating_sub(whole) / 2);
                (words - by_range, by_range)
            }
            None => (whole, by_range),
        };
        let tables = Arena::new(gpu, TABLES, tables)?;
        let by_range = Arena::new(gpu, BY_RANGE, by_range)?;
        let memories = [tables.memory(), by_range.memory()];
        residence.add_tables(tables, by_range, self.options.by_range_at.unwrap_or(BY_RANGE_AT), ranges);
        self.memories = Some(memories);
        Ok(memories)
    }

    /// Compiles the intersector, unless it has been done. False if no intersector is asked for.
    fn need_candidates(&mut self) -> Result<bool> {
        let Some(spec) = &self.methods.intersect else { return Ok(false) };
        if self.candidates.is_none() {
            let Context { searcher, gpu, residence, .. } = &self.context;
            let (codec, lists) = (searcher.device_codec().shared(), residence.lists().memory());
            let collection = (self.documents(), self.scores());
            self.candidates = Some(Candidates::new(gpu, codec, lists, collection, self.options.workgroups, spec)?);
        }
        Ok(true)
    }

    /// How many submissions of queries alone were ready when they came, if the last one also left its counters clear.
    #[cfg(test)]
    pub(super) fn were_ready(&self) -> Option<u64> {
        let ready = self.slots.iter().map(|slot| slot.repeats.hits).sum();
        self.slots.last().is_some_and(Slot::clears).then_some(ready)
    }

    /// Takes one conjunction through the device, list after list, by the intersector.
    ///
    /// # Errors
    /// As of [`Self::new`]; [`Error::Invalid`] without an intersector.
    pub(in crate::query) fn steps<'d>(&'d mut self, plan: &'d Plan) -> Result<Steps<'d, 'a>> {
        self.need_candidates()?;
        let Self { context, slots, topk, candidates, .. } = self;
        if slots.is_empty() {
            slots.push(Slot::new(&context.gpu));
        }
        match (candidates, slots.last_mut()) {
            (Some(candidates), Some(slot)) => Ok(Steps::new(context, candidates, slot, topk, plan)),
            _ => Err(Error::Invalid {
                what: "a query list after list on a GPU".to_owned(),
                why: "needs an intersector, as merge-path; ranges looks at all lists at once".to_owned(),
            }),
        }
    }

    fn by_ranges(&mut self, queries: &Queries<'_>, mode: Mode, meanwhile: &mut dyn FnMut()) -> Result<Answers> {
        let or = match (mode, self.methods.or) {
            (Mode::And, _) => None,
            (_, Some(or)) => Some(*OR.gpu(or)?),
            (_, None) => Some(*OR.gpu(planned(queries.k, queries.plans.len()))?),
        };
        self.need_ranges(or == Some(GpuOr::Accumulators))?;
        let k = queries.k.min(self.documents() as usize) as u32;
        let Self { context, slots, topk, ranges, .. } = self;
        let Some(ranges) = ranges else { return Ok(nothing(queries)) };
        let mut call = ranges.call(&context.gpu, topk, or, k)?;
        answer(context, slots, &mut call, queries, mode, meanwhile)
    }
}

/// No hits for any query.
fn nothing(queries: &Queries<'_>) -> Answers {
    Answers { hits: vec![Vec::new(); queries.plans.len()], effort: Effort::Gpu(Report::default()) }
}

/// Hits to choose from. A query that the CPU has to answer takes as long as many.
fn hits_of(found: &Found, answer: Answer) -> usize {
    match answer {
        Answer::Found(place, _) => found.count(place),
        Answer::OnCpu => ALONE,
    }
}

/// The best hits of the queries of a batch.
fn choose(
    searcher: &Searcher<'_>,
    queries: &Queries<'_>,
    mode: Mode,
    batch: Answered,
) -> Result<Vec<(usize, Vec<Hit>)>> {
    let Queries { plans, k, .. } = *queries;
    let Answered { found, answers } = batch;
    let best = |(query, answer): (usize, Answer)| -> Result<(usize, Vec<Hit>)> {
        let best = match answer {
            Answer::Found(place, unit) => {
                let bias = searcher.bias(&plans[query]);
                found.best(place, unit, bias, k, searcher.index().input_places())
            }
            Answer::OnCpu => None,
        };
        Ok((query, best.map_or_else(|| searcher.search(&plans[query], mode, k), Ok)?))
    };
    let work: usize = answers.iter().map(|&(_, answer)| hits_of(&found, answer)).sum();
    let [queries, hits] = EACH;
    let each = (answers.len() * hits / work.max(1)).max(queries);
    match work {
        0..=ALONE => answers.into_iter().map(best).collect(),
        _ => answers.into_par_iter().with_min_len(each).map(best).collect(),
    }
}

fn answer(
    context: &mut Context<'_>,
    slots: &mut Vec<Slot>,
    way: &mut impl Way,
    queries: &Queries<'_>,
    mode: Mode,
    meanwhile: &mut dyn FnMut(),
) -> Result<Answers> {
    let Queries { plans, sizes, .. } = *queries;
    let mut answers = nothing(queries);
    let searcher = context.searcher;
    let before = context.residence.counts();
    let mut put = |batch: Answered| -> Result<()> {
        let chosen = choose(searcher, queries, mode, batch)?;
        chosen.into_iter().for_each(|(query, hits)| answers.hits[query] = hits);
        Ok(())
    };
    // the caller's own pool chooses if there is one: the other thread would use that of the process
    let in_pool = rayon::current_thread_index().is_some();
    let mut report = if plans.len() < MANY || sizes.len() < MANY_BATCHES || in_pool {
        batches::run(context, slots, way, (plans, sizes), meanwhile, put)?
    } else {
        std::thread::scope(|scope| {
            // the device waits if the other thread falls behind
            let (to, batches) = std::sync::mpsc::sync_channel(UNCHOSEN);
            let chooser = scope.spawn(move || batches.into_iter().try_for_each(&mut put));
            // nobody takes batches any more: the other thread says why
            let hand_out = |batch| to.send(batch).map_err(|_| Error::Interrupted);
            let report = batches::run(context, slots, way, (plans, sizes), meanwhile, hand_out);
            drop(to);
            chooser.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
            report
        })?
    };
    report.lists = context.residence.counts().since(&before);
    Ok(Answers { effort: Effort::Gpu(report), ..answers })
}

impl GpuEngine<'_> {
    /// The best of all documents with all terms, deleted ones included.
    fn conjunctions(&mut self, queries: &Queries<'_>, meanwhile: &mut dyn FnMut()) -> Result<Answers> {
        if !self.need_candidates()? {
            return self.by_ranges(queries, Mode::And, meanwhile);
        }
        let k = queries.k.min(self.documents() as usize) as u32;
        let Self { context, slots, topk, candidates, .. } = self;
        let Some(candidates) = candidates else { return Ok(nothing(queries)) };
        let mut call = candidates::Call { candidates, topk, k };
        answer(context, slots, &mut call, queries, Mode::And, meanwhile)
    }
}

impl Engine for GpuEngine<'_> {
    fn capabilities(&self) -> Capabilities {
        Capabilities { kind: EngineKind::Gpu, batches: true }
    }

    fn and(&mut self, queries: &Queries<'_>) -> Result<Answers> {
        self.search_meanwhile(queries, Mode::And, &mut || ())
    }

    fn or(&mut self, queries: &Queries<'_>) -> Result<Answers> {
        self.search_meanwhile(queries, Mode::Or, &mut || ())
    }

    fn search_meanwhile(&mut self, queries: &Queries<'_>, mode: Mode, meanwhile: &mut dyn FnMut()) -> Result<Answers> {
        let searcher = self.context.searcher;
        match mode {
            Mode::And => living::of_all(searcher, queries, mode, |queries| self.conjunctions(queries, meanwhile)),
            Mode::Or => living::of_all(searcher, queries, mode, |queries| self.by_ranges(queries, mode, meanwhile)),
            Mode::AndOr => self.search(queries, mode),
        }
    }
}
