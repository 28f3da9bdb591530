//! The buffers of a batch of queries on its way, the kernels bound to them, and the passes that they go through.

use super::accumulators::Accumulators;
use super::arena::Arena;
use super::kernels::{HEAD, HITS, Kernels, Ranges, STATE, THREADS, TILE, WAVES};
use crate::Result;
use crate::gpu::{AdapterKind, Bound, Buffer, Gpu, GpuError, Pending, Step, Usage};
use crate::query::topk::gpu::{BoundTopK, Counts, Hits, TopKCapacity};

/// How much a slot holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// Queries.
    pub queries: u32,
    /// Terms of all of them.
    pub terms: u32,
    /// Hits that a query may collect on the device.
    pub room: u32,
    /// Hits that a query may send to the host.
    pub results: u32,
    /// Whether each query has an accumulator for each document.
    pub accumulators: bool,
}

/// A term's list and weight, as `shaders/rank/list.wgsl` reads it.
pub type TermRow = [u32; 12];
/// A query, as `shaders/rank/state.wgsl` reads it.
pub type QueryRow = [u32; 8];

/// Blocks of a list that a workgroup looks through when its table is made.
pub(super) const JOB_BLOCKS: u32 = 64;
/// Words of memory for tables that are made at once.
const TABLE_WORDS: u32 = 1 << 24;
/// Workgroups that evaluate ranges, one after the other each; more than the device runs at a time.
pub(super) const GROUPS: u32 = 8192;
/// Queries of a batch that goes through two waves only.
const FEW: u32 = 16;
/// Ranges for each of them on a software adapter: llvmpipe ends every loop of a thread that has gone through 65,535 rounds of loops.
const SOFTWARE_RANGES: u32 = 16;

/// A table of range maxima to be made.
#[derive(Clone, Copy, Debug)]
pub struct NewTable {
    /// The row of the list's term.
    pub row: u32,
    /// Blocks of the list.
    pub blocks: u32,
    /// Its address.
    pub at: u32,
}

/// How a batch goes through its passes.
#[derive(Clone, Copy, Debug)]
pub struct How {
    /// Ranges of the first wave, about.
    pub first_wave: u32,
    /// False: ranges that cannot have one of the best documents are evaluated, too.
    pub prune: bool,
    /// Time each pass.
    pub timed: bool,
}

/// What a batch consists of.
#[derive(Debug, Default)]
pub struct Rows {
    /// Terms of all queries.
    pub terms: Vec<TermRow>,
    /// Queries.
    pub queries: Vec<QueryRow>,
    /// Tables that these need and that are not there.
    pub tables: Vec<NewTable>,
}

/// What the device found for a query.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// True if there were more hits than room: the best may be missing.
    pub overflow: bool,
    /// (docID, score in fixed point): the best k, and perhaps a few more, in no order.
    pub hits: Vec<(u32, u32)>,
}

/// What the device did for a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Ranges of docIDs that were queued in each wave.
    pub queued: [u32; WAVES as usize],
    /// Those that were evaluated; the threshold had passed the others when their turn came.
    pub evaluated: u32,
    /// Blocks decoded for these.
    pub blocks: u32,
}

impl Capacity {
    fn result_words(self) -> usize {
        2 + 2 * self.results as usize
    }

    /// Whether a slot of this capacity can take what needs `other`.
    pub fn holds(self, other: Self) -> bool {
        let same_k =
            self.room == other.room && self.results == other.results && self.accumulators == other.accumulators;
        same_k && self.queries >= other.queries && self.terms >= other.terms
    }
}

/// What batches have in common.
#[derive(Clone, Copy, Debug)]
pub struct Device<'a> {
    /// Where they run.
    pub gpu: &'a Gpu,
    /// What runs.
    pub kernels: &'a Kernels,
    /// The memory for lists, and that for tables.
    pub arenas: [&'a Arena; 2],
    /// BM25's K of each document.
    pub norms: &'a Buffer,
    /// The ranges of the index.
    pub ranges: Ranges,
}

/// Buffers for one batch.
#[derive(Debug)]
pub struct Slot {
    /// How much it holds.
    pub capacity: Capacity,
    ranges: Ranges,
    terms: Buffer,
    queries: Buffer,
    state: Buffer,
    best: Buffer,
    download: Buffer,
    maxima: Buffer,
    bounds: Bound,
    cuts: Bound,
    select: Bound,
    evaluate: Bound,
    accumulators: Option<Accumulators>,
    last: Last,
    software: bool,
}

/// What brings the hits to where the host can read them.
#[derive(Debug)]
enum Last {
    /// Those that reach the threshold, in no order.
    Gather(Bound),
    /// The best k, in order.
    TopK(BoundTopK),
}

/// The arenas' buffers and then a kernel's own.
pub(super) fn behind_lists<'a>([lists, tables]: [&'a Arena; 2], own: &[&'a Buffer]) -> Vec<&'a Buffer> {
    lists.buffers().chain(tables.buffers()).chain(own.iter().copied()).collect()
}

/// The passes that make tables.
#[derive(Debug)]
struct TablePasses {
    maxima: Bound,
    pack: Bound,
    rounds: Vec<Round>,
}

/// Tables that are made at once.
#[derive(Debug)]
struct Round {
    lists: u32,
    jobs: u32,
    for_maxima: Vec<u8>,
    for_pack: Vec<u8>,
}

/// Parameters as the kernels read them.
pub(super) fn bytes<const N: usize>(words: [u32; N]) -> Vec<u8> {
    bytemuck::cast_slice(&words).to_vec()
}

impl Slot {
    /// For batches of up to `capacity`.
    ///
    /// # Errors
    /// The device has less memory, or was lost.
    pub fn new(device: Device<'_>, capacity: Capacity) -> Result<Self> {
        let Device { gpu, kernels, arenas, norms, ranges } = device;
        let storage = |what: &str, words: u64| gpu.buffer(what, 4 * words, Usage::Storage);
        let count = u64::from(capacity.queries);
        let padded = u64::from(ranges.padded());
        let result_words = count * capacity.result_words() as u64;
        let terms = storage("terms", 12 * u64::from(capacity.terms))?;
        let queries = storage("queries", 8 * count)?;
        let state = storage("state", u64::from(HEAD) + count * u64::from(STATE))?;
        let range_bounds = storage("range bounds", count * padded / 2)?;
        let tile_bounds = storage("tile bounds", count * padded / u64::from(TILE))?;
        let queue = storage("queue", count * padded)?;
        let hits = storage("hits", 2 * count * u64::from(capacity.room))?;
        let best = storage("results", result_words + u64::from(HEAD))?;
        let download = gpu.buffer("results", 4 * (result_words + u64::from(HEAD)), Usage::Download)?;
        let maxima = storage("range maxima", padded * u64::from(Self::tables_at_once(ranges)))?;
        let own = [&terms, &queries, norms, &range_bounds, &state, &tile_bounds];
        let bounds = gpu.bind("bounds", &kernels.bounds, &behind_lists(arenas, &own))?;
        let own = [&terms, &queries, norms, &range_bounds, &queue, &state, &hits];
        let evaluate = gpu.bind("evaluate", &kernels.evaluate, &behind_lists(arenas, &own))?;
        let cuts = gpu.bind("cuts", &kernels.cuts, &[&queries, &state])?;
        let select = gpu.bind("select", &kernels.select, &[&queries, &range_bounds, &state, &queue, &tile_bounds])?;
        let accumulators = match &kernels.accumulators {
            Some(kernels) if capacity.accumulators => {
                Some(Accumulators::new(gpu, kernels, ranges, capacity.queries, [&queries, &state, &hits])?)
            }
            _ => None,
        };
        let last = match &kernels.topk {
            None => Last::Gather(gpu.bind("gather", &kernels.gather, &[&queries, &state, &best, &hits])?),
            Some(topk) => {
                let Capacity { queries, room, results, .. } = capacity;
                let capacity = TopKCapacity { queries, room, k: results, hits: Hits::SameRoom };
                Last::TopK(topk.bind(gpu, capacity, &hits, &state, (&best, HEAD))?)
            }
        };
        let software = gpu.report().kind == AdapterKind::Software;
        let slot = Self {
            capacity,
            ranges,
            terms,
            queries,
            state,
            best,
            download,
            maxima,
            bounds,
            cuts,
            select,
            evaluate,
            accumulators,
            last,
            software,
        };
        Ok(slot)
    }

    fn tables_at_once(ranges: Ranges) -> u32 {
        (TABLE_WORDS / ranges.padded()).max(1)
    }

    /// Sends a batch on its way.
    ///
    /// # Errors
    /// The device was lost, or is out of memory.
    ///
    /// # Panics
    /// If the batch is larger than the slot.
    pub fn submit(&self, device: Device<'_>, rows: &Rows, how: How) -> Result<Pending, GpuError> {
        let gpu = device.gpu;
        let Capacity { queries: room_for, terms, room, results, .. } = self.capacity;
        let How { first_wave, prune, timed } = how;
        let count = rows.queries.len() as u32;
        assert!(count <= room_for && rows.terms.len() <= terms as usize, "the batch is larger than its slot");
        gpu.write(&self.terms, 0, bytemuck::cast_slice(&rows.terms))?;
        gpu.write(&self.queries, 0, bytemuck::cast_slice(&rows.queries))?;
        let tables = self.tables(device, &rows.tables)?;
        let tiles = count * (self.ranges.padded() / TILE);
        let only_count = bytes([count]);
        // a few queries wait for passes more than for ranges
        let (number, first_wave) = if count <= FEW { (2, first_wave.saturating_mul(4)) } else { (WAVES, first_wave) };
        let wave = |wave| (bytes([count, wave, u32::from(wave + 1 == number)]), bytes([wave, room, u32::from(prune)]));
        let waves: Vec<_> = (0..number).map(wave).collect();
        let cut = bytes([count, first_wave]);
        let last = match &self.last {
            Last::Gather(_) => bytes([count, room, results]),
            Last::TopK(topk) => {
                topk.parameters(count, Counts { first: HEAD + HITS, stride: STATE, head: HEAD, starts: None })
            }
        };
        let mut steps = vec![Step::Clear(&self.state, 4 * u64::from(HEAD + count * STATE))];
        let run = |name, bound, immediates, groups| Step::Run { name, bound, immediates, groups };
        if let Some(passes) = &tables {
            for round in &passes.rounds {
                steps.push(Step::Clear(&self.maxima, 4 * u64::from(round.lists) * u64::from(self.ranges.padded())));
                steps.push(run("maxima", &passes.maxima, &round.for_maxima, round.jobs));
                let groups = (round.lists * self.ranges.table_words()).div_ceil(THREADS);
                steps.push(run("pack", &passes.pack, &round.for_pack, groups));
            }
        }
        let passes = match (&self.accumulators, &device.kernels.accumulators) {
            (Some(own), Some(kernels)) => {
                let buffers = [&self.terms, device.norms, &self.state];
                Some((own, own.passes(gpu, kernels, device.arenas, buffers, rows, room)?))
            }
            _ => None,
        };
        let most = count.saturating_mul(self.ranges.padded());
        let groups = match self.software {
            true => (most / SOFTWARE_RANGES).clamp(1, gpu.report().max_workgroups),
            false => GROUPS.min(most),
        };
        if let Some((own, passes)) = &passes {
            steps.extend(own.steps(passes));
        } else {
            steps.push(run("bounds", &self.bounds, &only_count, tiles));
            steps.push(run("cuts", &self.cuts, &cut, count));
            for (select, evaluate) in &waves {
                steps.push(run("select", &self.select, select, tiles));
                steps.push(run("evaluate", &self.evaluate, evaluate, groups));
            }
        }
        steps.push(match &self.last {
            Last::Gather(gather) => run("gather", gather, &last, count),
            Last::TopK(topk) => topk.step(count, &last),
        });
        let words = count as usize * self.capacity.result_words() + HEAD as usize;
        steps.push(Step::Copy { from: &self.best, to: &self.download, bytes: 4 * words as u64 });
        gpu.submit("queries", &steps, timed)
    }

    /// What makes the tables that a batch lacks; nothing if it lacks none.
    fn tables(&self, device: Device<'_>, tables: &[NewTable]) -> Result<Option<TablePasses>, GpuError> {
        let Device { gpu, kernels, arenas, norms, .. } = device;
        if tables.is_empty() {
            return Ok(None);
        }
        let (mut jobs, mut rounds) = (Vec::<[u32; 4]>::new(), Vec::new());
        for (number, round) in tables.chunks(Self::tables_at_once(self.ranges) as usize).enumerate() {
            let (first_table, first_job) =
                ((number * Self::tables_at_once(self.ranges) as usize) as u32, jobs.len() as u32);
            for (slot, table) in (0..).zip(round) {
                for block in (0..table.blocks).step_by(JOB_BLOCKS as usize) {
                    jobs.push([table.row, block, (table.blocks - block).min(JOB_BLOCKS), slot]);
                }
            }
            let (lists, count) = (round.len() as u32, jobs.len() as u32 - first_job);
            let (for_maxima, for_pack) = (bytes([first_job, count]), bytes([first_table, lists]));
            rounds.push(Round { lists, jobs: count, for_maxima, for_pack });
        }
        let places: Vec<[u32; 2]> = tables.iter().map(|table| [table.at, table.row]).collect();
        let job_rows = gpu.buffer("table jobs", size_of_val(&*jobs) as u64, Usage::Storage)?;
        let table_places = gpu.buffer("table places", size_of_val(&*places) as u64, Usage::Storage)?;
        gpu.write(&job_rows, 0, bytemuck::cast_slice(&jobs))?;
        gpu.write(&table_places, 0, bytemuck::cast_slice(&places))?;
        let own = [&job_rows, &self.terms, norms, &self.maxima];
        let maxima = gpu.bind("maxima", &kernels.maxima, &behind_lists(arenas, &own))?;
        let own = [&self.maxima, &table_places, &self.terms, norms];
        let pack = gpu.bind("pack", &kernels.pack, &behind_lists(arenas, &own))?;
        Ok(Some(TablePasses { maxima, pack, rounds }))
    }

    /// Waits for a batch of `queries` queries: what was found for each, what was done, and the seconds of each pass if they were
    /// timed.
    ///
    /// # Errors
    /// The device was lost.
    #[allow(clippy::type_complexity, reason = "three results, taken apart at once")]
    pub fn finish(
        &self,
        gpu: &Gpu,
        pending: Pending,
        queries: usize,
    ) -> Result<(Vec<Found>, Work, Vec<(&'static str, f64)>), GpuError> {
        let each = self.capacity.result_words();
        let Capacity { room, results, .. } = self.capacity;
        let ((found, work), times) = gpu.finish(pending, &self.download, |bytes| {
            let word = |i: usize| bytes.get(4 * i..4 * i + 4).map_or(0, bytemuck::pod_read_unaligned::<u32>);
            let one = |q: usize| {
                let (all, count) = (word(q * each), word(q * each + 1));
                let pair = |i: u32| (word(q * each + 2 + 2 * i as usize), word(q * each + 3 + 2 * i as usize));
                Found { overflow: all > room || count > results, hits: (0..count.min(results)).map(pair).collect() }
            };
            let head = queries * each;
            let queued = std::array::from_fn(|wave| word(head + wave));
            let work = Work { queued, evaluated: word(head + 8), blocks: word(head + 9) };
            ((0..queries).map(one).collect(), work)
        })?;
        Ok((found, work, times))
    }
}
