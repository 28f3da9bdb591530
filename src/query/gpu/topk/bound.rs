//! A method with the buffers of a batch, and its runs.

use super::kernels::{TopKParams, TopKRow, Unit};
use super::{Chooser, Counts, GpuTopK, THREADS, TILE, TopKCapacity};
use crate::Result;
use crate::gpu::{Bound, Buffer, Gpu, GpuError, Layout as _, Step, Usage};
use crate::query::gpu::rows::PartJob;

/// A method with the buffers of a batch; made once, run often.
#[derive(Debug)]
pub struct BoundTopK {
    name: &'static str,
    /// The kernels, and what a workgroup of each takes.
    kernels: Vec<(Bound, Unit)>,
    /// Which kernel runs when, and its number.
    passes: Vec<(usize, u32)>,
    capacity: TopKCapacity,
    rows: Buffer,
    jobs: Buffer,
    tallies: Buffer,
    /// For the number of queries: words to clear.
    cleared_each: u64,
}

/// The runs of a batch.
#[derive(Debug)]
pub struct TopKRuns {
    /// The kernel, its parameters, and its number of workgroups.
    runs: Vec<(usize, Vec<u8>, u32)>,
    cleared: u64,
}

impl GpuTopK {
    /// Binds the method to the buffers of a batch:
    ///
    /// - `hits` has pairs (docID, score), which the method uses up. No document stands twice among those of a query.
    /// - `counts` says how many hits each query has.
    /// - `best` takes [`TopKCapacity::result_words`] words, and then [`Counts::head`] words, which are at most `head`.
    ///
    /// # Errors
    /// [`crate::Error::Gpu`]. The caller [checks](GpuTopK::check) batch by batch how many hits a query has room for.
    ///
    /// # Panics
    /// If `hits` or `best` is too small.
    pub fn bind(
        &self,
        gpu: &Gpu,
        capacity: TopKCapacity,
        hits: &Buffer,
        counts: &Buffer,
        (best, head): (&Buffer, u32),
    ) -> Result<BoundTopK> {
        self.check(1, capacity.k)?;
        assert!(hits.bytes() >= 8 * u64::from(capacity.hits), "the hits do not fit");
        assert!(best.bytes() >= 4 * (capacity.result_words() + u64::from(head)), "the results do not fit");
        let memory = (self.kernels.memory)(capacity.size());
        let storage = |what: &str, bytes: u64| gpu.buffer(what, bytes.max(4), Usage::Storage);
        let scratch = storage("scratch memory of the top k", 8 * memory.scratch)?;
        let tallies = storage("tallies of the top k", 4 * memory.tallies)?;
        let rows = storage("queries of the top k", size_of::<TopKRow>() as u64 * u64::from(capacity.queries))?;
        let jobs = storage("tiles of the top k", size_of::<PartJob>() as u64 * capacity.tiles())?;
        let mut buffers = vec![
            ("counts", counts),
            ("hits", hits),
            ("scratch", &scratch),
            ("tallies", &tallies),
            ("best", best),
            ("queries", &rows),
            ("jobs", &jobs),
        ];
        buffers.extend(self.places.iter().map(|places| ("input_places", places)));
        let bind = |pipeline| gpu.bind(self.method.name, pipeline, &buffers);
        let bound = self.pipelines.iter().map(bind).collect::<std::result::Result<Vec<_>, _>>()?;
        let units = self.kernels.kernels.iter().map(|kernel| kernel.unit);
        let kernels = bound.into_iter().zip(units).collect();
        let cleared_each = memory.cleared / u64::from(capacity.queries.max(1));
        let (name, passes) = (self.method.name, self.passes.clone());
        Ok(BoundTopK { name, kernels, passes, capacity, rows, jobs, tallies, cleared_each })
    }
}

impl BoundTopK {
    /// How large a batch may be.
    pub fn capacity(&self) -> TopKCapacity {
        self.capacity
    }

    /// The runs of a batch. `rooms` has for each query where its hits begin, and how many it has room for; `counts`
    /// says where their numbers are.
    ///
    /// # Errors
    /// The device was lost, or is out of memory.
    ///
    /// # Panics
    /// If the batch is larger than the capacity.
    pub fn runs(
        &self,
        gpu: &Gpu,
        rooms: impl Iterator<Item = (u32, u32)>,
        counts: Counts,
    ) -> Result<TopKRuns, GpuError> {
        let (mut rows, mut jobs) = (Vec::new(), Vec::new());
        for (query, (start, room)) in (0..).zip(rooms) {
            rows.push(TopKRow { start, room, first: jobs.len() as u32, ..TopKRow::default() });
            jobs.extend((0..room.div_ceil(TILE)).map(|part| PartJob { query, part }));
        }
        assert!(rows.len() <= self.capacity.queries as usize, "more queries than expected");
        gpu.write(&self.rows, 0, bytemuck::cast_slice(&rows))?;
        gpu.write(&self.jobs, 0, bytemuck::cast_slice(&jobs))?;
        let (queries, tiles, k) = (rows.len() as u32, jobs.len() as u32, self.capacity.k);
        let Counts { first, stride, head } = counts;
        let runs = self.passes.iter().map(|&(kernel, number)| {
            let jobs = match self.kernels[kernel].1 {
                Unit::Tiles => tiles,
                Unit::Best => queries * k.div_ceil(THREADS),
                Unit::Queries => queries,
            };
            (kernel, TopKParams { queries, jobs, k, first, stride, head, number }.bytes(), jobs)
        });
        Ok(TopKRuns { runs: runs.filter(|run| run.2 > 0).collect(), cleared: self.cleared_each * u64::from(queries) })
    }

    /// The steps of a batch.
    pub fn steps<'a>(&'a self, runs: &'a TopKRuns) -> impl Iterator<Item = Step<'a>> {
        let clear = (runs.cleared > 0).then(|| Step::Clear(&self.tallies, 4 * runs.cleared));
        let run = |(kernel, immediates, groups): &'a (usize, Vec<u8>, u32)| {
            let bound = &self.kernels[*kernel].0;
            Step::Run { name: self.name, bound, immediates, groups: *groups }
        };
        clear.into_iter().chain(runs.runs.iter().map(run))
    }
}

/// Uploads the hits of each query, chooses among them once, and returns the best hits of each query. A query has room
/// for `room` hits. For tests and measurements.
///
/// # Errors
/// As [`GpuTopK::bind`]; [`crate::Error::Limit`] as [`GpuTopK::check`].
pub fn best_of(
    gpu: &Gpu,
    chooser: &Chooser,
    queries: &[Vec<(u32, u32)>],
    room: u32,
    k: u32,
) -> Result<Vec<Vec<(u32, u32)>>> {
    let Some(topk) = chooser.kernels() else { return Ok(Vec::new()) };
    topk.check(room, k)?;
    let count = queries.len() as u32;
    let capacity = TopKCapacity { queries: count, hits: count * room, k };
    let storage = |what: &str, words: u64| gpu.buffer(what, 4 * words, Usage::Storage);
    let hits = storage("hits", 2 * u64::from(count) * u64::from(room))?;
    let counts = storage("counts", u64::from(count))?;
    let best = storage("results", capacity.result_words())?;
    let download = gpu.buffer("results", best.bytes(), Usage::Download)?;
    for (q, query) in (0u64..).zip(queries) {
        let words: Vec<[u32; 2]> = query.iter().take(room as usize).map(|&(doc, score)| [doc, score]).collect();
        gpu.write(&hits, 8 * q * u64::from(room), bytemuck::cast_slice(&words))?;
        gpu.write(&counts, 4 * q, bytemuck::bytes_of(&(query.len() as u32)))?;
    }
    let bound = topk.bind(gpu, capacity, &hits, &counts, (&best, 0))?;
    let rooms = (0..count).map(|query| (query * room, room));
    let runs = bound.runs(gpu, rooms, Counts { stride: 1, ..Counts::default() })?;
    let copy = Step::Copy { from: &best, to: &download, bytes: best.bytes() };
    let steps: Vec<_> = bound.steps(&runs).chain([copy]).collect();
    let pending = gpu.submit("top k", &steps, false)?;
    let (words, _) = gpu.finish(pending, &download, bytemuck::pod_collect_to_vec::<u8, u32>)?;
    let each = 2 + 2 * k as usize;
    Ok(words
        .chunks_exact(each)
        .take(queries.len())
        .map(|one| one[2..].chunks_exact(2).take(one[1] as usize).map(|pair| (pair[0], pair[1])).collect())
        .collect())
}
