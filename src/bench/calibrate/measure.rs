//! Times of queries on each processor, behind a warm-up.

use crate::bench::median;
use crate::gpu::Gpu;
use crate::query::cost::Features;
use crate::query::engine::{Answers, CpuEngine, Effort, Engine as _, GpuMethods, Queries};
use crate::query::gpu::{GpuEngine, Options, Report};
use crate::query::{CpuMethods, Mode, Plan, Searcher};
use anyhow::bail;
use std::collections::{BTreeMap, HashMap};
use std::hint::black_box;
use std::time::Instant;

/// How often a query stands in a batch of its own kind, 32 times at most.
const COPIES: [f64; 2] = [2.0, 32.0];
/// Seconds that such a batch would take of queries that take turns, about; slow devices have fewer copies.
const OF_COPIES: f64 = 0.02;
/// Queries of a batch, as `gamut query --topics` sends them.
const BATCH: usize = 1024;
/// Batches of all queries, so that some are on their way at once.
const BATCHES: usize = 4;

/// A query of the log, with what is asked of it.
pub(super) struct Query {
    pub(super) plan: Plan,
    pub(super) features: Features,
    pub(super) mode: Mode,
    pub(super) k: usize,
}

/// Seconds of a query on a GPU that has its lists.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Times {
    /// Alone.
    pub(super) alone: f64,
    /// What it adds to a batch.
    pub(super) batched: f64,
}

/// What a GPU takes.
pub(super) struct Device {
    /// Of each query; none if the CPU answered it, or if its lists do not stay.
    pub(super) times: Vec<Option<Times>>,
    /// Seconds to make room, on the device and for batches on their way, and to load kernels that were compiled before.
    pub(super) ready: f64,
    /// Seconds to bring a posting.
    pub(super) per_posting: f64,
}

/// Seconds of each query on one thread, by the default methods, the tables of its lists being there.
pub(super) fn cpu(searcher: &Searcher<'_>, queries: &[Query], rounds: u32) -> anyhow::Result<Vec<f64>> {
    let mut engine = CpuEngine { searcher, methods: CpuMethods::default() };
    let mut seconds = vec![Vec::new(); queries.len()];
    for Query { plan, mode, k, .. } in queries {
        searcher.prepare(plan, *mode, *k)?;
    }
    for round in 0..=rounds {
        for (Query { plan, mode, k, .. }, seconds) in queries.iter().zip(&mut seconds) {
            let start = Instant::now();
            black_box(engine.search_one(plan, *mode, *k)?);
            if round > 0 {
                seconds.push(start.elapsed().as_secs_f64());
            }
        }
    }
    Ok(seconds.iter().map(|seconds| above_0(median(seconds))).collect())
}

/// A clock may stand still for something short.
pub(super) fn above_0(seconds: f64) -> f64 {
    seconds.max(1e-9)
}

/// The same queries on a GPU, by its default methods.
pub(super) fn gpu(searcher: &Searcher<'_>, gpu: &Gpu, queries: &[Query], rounds: u32) -> anyhow::Result<Device> {
    let make = || GpuEngine::new(searcher, gpu, Options::default(), GpuMethods::default(), Mode::Or);
    // the first one compiles what the second one finds compiled
    drop(make()?);
    let start = Instant::now();
    let mut engine = make()?;
    let mut ready = start.elapsed().as_secs_f64();
    // queries of one mode and k, as they can be in a batch
    let mut turns: BTreeMap<(u8, usize), Vec<usize>> = BTreeMap::new();
    for (number, query) in queries.iter().enumerate() {
        turns.entry((query.mode as u8, query.k)).or_default().push(number);
    }
    let (mut brought, mut first, mut again) = (0.0, 0.0, 0.0);
    for turn in turns.values() {
        let (took, report) = run_turn(&mut engine, queries, turn, 1)?;
        let spent = report.lists.spent.as_secs_f64();
        (brought, first) = (brought + spent, first + took - spent);
    }
    for turn in turns.values() {
        again += run_turn(&mut engine, queries, turn, 1)?.0;
    }
    // the first batches make room for what is on its way, which takes longer than to open the device
    ready += (first - again).max(0.0);
    let lists: HashMap<u32, u32> =
        queries.iter().flat_map(|query| &query.plan.terms).map(|term| (term.id, term.info.df)).collect();
    let postings: f64 = lists.values().map(|&df| f64::from(df)).sum();
    let mut times = alone_and_copied(&mut engine, queries, rounds)?;
    // what copies of a query share, queries of a log do not: the sum is that of real batches
    for turn in turns.values() {
        let turn: Vec<usize> = turn.iter().copied().filter(|&number| times[number].is_some()).collect();
        if turn.is_empty() {
            continue;
        }
        let mut best = f64::INFINITY;
        for _ in 0..2 {
            best = best.min(run_turn(&mut engine, queries, &turn, BATCHES)?.0);
        }
        let sum: f64 = turn.iter().filter_map(|&number| times[number]).map(|times| times.batched).sum();
        let factor = best / (BATCHES as f64 * sum);
        if factor.is_finite() && factor > 0.0 {
            let of_turn = turn.iter();
            of_turn.for_each(|&number| times[number].iter_mut().for_each(|times| times.batched *= factor));
        }
    }
    Ok(Device { times, ready, per_posting: brought / postings.max(1.0) })
}

/// Seconds, and the work, of a turn's queries in batches, so many times over.
fn run_turn(
    engine: &mut GpuEngine<'_>,
    queries: &[Query],
    turn: &[usize],
    times: usize,
) -> anyhow::Result<(f64, Report)> {
    let Some(&Query { mode, k, .. }) = turn.first().map(|&number| &queries[number]) else { bail!("no query") };
    let plans: Vec<Plan> = turn.iter().map(|&number| queries[number].plan.clone()).collect();
    let plans: Vec<Plan> = plans.iter().cycle().take(times * plans.len()).cloned().collect();
    let sizes: Vec<usize> = plans.chunks(BATCH).map(<[Plan]>::len).collect();
    ask(engine, &Queries { plans: &plans, sizes: &sizes, k }, mode)
}

fn ask(engine: &mut GpuEngine<'_>, queries: &Queries<'_>, mode: Mode) -> anyhow::Result<(f64, Report)> {
    let start = Instant::now();
    match black_box(engine.search(queries, mode)?) {
        Answers { effort: Effort::Gpu(report), .. } => Ok((start.elapsed().as_secs_f64(), report)),
        Answers { .. } => bail!("the CPU answered for the GPU"),
    }
}

/// Of each query the middle time alone, and what one more of it adds to a batch of its copies.
fn alone_and_copied(engine: &mut GpuEngine<'_>, queries: &[Query], rounds: u32) -> anyhow::Result<Vec<Option<Times>>> {
    let mut copies = |query: &Query, count: usize| -> anyhow::Result<(f64, bool)> {
        let plans = vec![query.plan.clone(); count];
        let (took, report) = ask(engine, &Queries { plans: &plans, sizes: &[count], k: query.k }, query.mode)?;
        Ok((took, report.by_cpu == 0 && report.lists.misses == 0))
    };
    // does not count: it may bring lists
    let mut counts = Vec::with_capacity(queries.len());
    for query in queries {
        let [fewest, most] = COPIES;
        counts.push((OF_COPIES / copies(query, 1)?.0).clamp(fewest, most) as usize);
    }
    let mut seconds = vec![([Vec::new(), Vec::new()], true); queries.len()];
    for _ in 0..rounds {
        for ((query, &count), (seconds, stays)) in queries.iter().zip(&counts).zip(&mut seconds) {
            for (count, seconds) in [1, count].into_iter().zip(seconds) {
                let (took, is_there) = copies(query, count)?;
                seconds.push(took);
                *stays &= is_there;
            }
        }
    }
    let of = |(&count, (seconds, stays)): (&usize, &([Vec<f64>; 2], bool))| {
        let [alone, copied] = [&seconds[0], &seconds[1]].map(|seconds| median(seconds));
        // at least a tenth of its share
        let batched = ((copied - alone) / (count - 1) as f64).max(0.1 * copied / count as f64);
        stays.then_some(Times { alone: above_0(alone), batched: above_0(batched) })
    };
    Ok(counts.iter().zip(&seconds).map(of).collect())
}
