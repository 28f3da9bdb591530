//! The passes of a batch, from its rows to the hits of each query.

use super::kernels::{Ranges, TILE, WAVES};
use super::{Call, NewTable, Rows, Sent, accumulators};
use crate::Result;
use crate::gpu::{AdapterKind, Bound, Layout as _, Pending, Repeats, Step};
use crate::query::gpu::batches::Context;
use crate::query::gpu::found::FirstHits;
use crate::query::gpu::kernels::{TEAMS, THREADS};
use crate::query::gpu::rows::{
    BlocksJob, BoundsParams, ChooseParams, CutParams, EvaluateParams, GatherParams, Head, JobParams, ListParams, NONE,
    PlaceRow, QueryRow, RarestParams, SelectParams, State, TermRow,
};
use crate::query::gpu::slot::{Key, Slot};
use crate::query::gpu::topk::{Chooser, Counts, TopKCapacity};
use crate::query::or::GpuOr as By;
use bytemuck::cast_slice;

/// A workgroup looks through so many blocks of a list: for its table, or for accumulators.
pub(super) const JOB_BLOCKS: u32 = 64;
/// Tables that are made at once have so many words of memory.
const TABLE_WORDS: u32 = 1 << 24;
/// Workgroups that evaluate ranges: more than the device runs at a time. Each takes one range after the other.
pub(super) const GROUPS: u32 = 8192;
/// So many for a few queries that want few hits each, and so have few ranges: to begin and end more takes longer. With
/// so few, one query of a thousand at k = 100 took 1.4 ms in place of 0.4 on an H200.
const FEW_GROUPS: u32 = 2048;
/// So few hits.
const FEW_HITS: u32 = 32;
/// From so many wanted hits on, a batch has so many more ranges that twice as many workgroups share them.
const MANY_HITS: u32 = 100;
/// A batch of at most so many queries goes through two waves only.
const FEW: u32 = 16;
/// At least so many of a tile's ranges are for the first wave of a few queries.
const LEAST_PICKS: u32 = 2;
/// If the short lists of a few queries have so many ranges at most, all that may have a match are evaluated at once.
const DIRECT: u32 = 2048;
/// So many tiles a workgroup selects from, unless the batch has few queries.
const SELECT_TILES: u32 = 8;
/// A workgroup looks through so many blocks of a short list: one a team.
const RAREST_BLOCKS: u32 = TEAMS;
/// On a software adapter a workgroup evaluates about so many ranges of a query of few terms: llvmpipe ends every loop
/// of a thread that has gone through 65,535 rounds of loops, and a term in a range takes some 36.
const SOFTWARE_RANGES: u32 = 16;
/// So many terms a query may have there, and a workgroup in all of its ranges together.
pub(super) const SOFTWARE_TERMS: u32 = 1024;

/// Workgroups that evaluate the ranges of so many queries. Each goes through a share of the queue that is fixed from
/// the start, and shares are not alike: in a batch, further workgroups begin as others end, and even it out. Twice as
/// many again gained nothing on an H200.
fn groups(k: u32, queries: u32, prune: bool) -> u32 {
    match (queries, k) {
        _ if !prune => GROUPS,
        (..=FEW, ..=FEW_HITS) => FEW_GROUPS,
        (..=FEW, _) => GROUPS,
        (_, ..MANY_HITS) => 2 * GROUPS,
        _ => 4 * GROUPS,
    }
}

/// A run of a kernel: its number among the kernels that are bound together, its parameters, and its number of
/// workgroups.
pub(super) struct Run {
    pub(super) name: &'static str,
    pub(super) kernel: usize,
    pub(super) parameters: Vec<u8>,
    pub(super) groups: u32,
}

impl Run {
    pub(super) fn step<'a>(&'a self, bound: &'a [Bound]) -> Step<'a> {
        Step::Run { name: self.name, bound: &bound[self.kernel], immediates: &self.parameters, groups: self.groups }
    }
}

/// Tables that are made at once.
struct Round {
    lists: u32,
    runs: [Run; 2],
}

fn tables_at_once(ranges: Ranges) -> u32 {
    (TABLE_WORDS / ranges.padded()).max(1)
}

/// A run over lists, some blocks a workgroup. Appends to `jobs` which workgroup looks through which blocks.
fn over_blocks(name: &'static str, kernel: usize, tables: &[NewTable], jobs: &mut Vec<BlocksJob>) -> Run {
    let first = jobs.len() as u32;
    for (to, table) in (0..).zip(tables) {
        for block in (0..table.blocks).step_by(JOB_BLOCKS as usize) {
            let blocks = (table.blocks - block).min(JOB_BLOCKS);
            jobs.push(BlocksJob { term: table.row, block, blocks, to });
        }
    }
    let count = jobs.len() as u32 - first;
    Run { name, kernel, parameters: JobParams { first, jobs: count }.bytes(), groups: count }
}

/// The runs that make tables. Appends to `jobs` as [`over_blocks`].
fn table_rounds(ranges: Ranges, tables: &[NewTable], jobs: &mut Vec<BlocksJob>) -> Vec<Round> {
    let mut first_list = 0;
    let rounds = tables.chunks(tables_at_once(ranges) as usize).map(|tables| {
        let lists = tables.len() as u32;
        let maxima = over_blocks("maxima", 0, tables, jobs);
        let parameters = ListParams { first: first_list, lists }.bytes();
        let words = lists * ranges.table_words();
        let pack = Run { name: "pack", kernel: 1, parameters, groups: words.div_ceil(THREADS) };
        first_list += lists;
        Round { lists, runs: [maxima, pack] }
    });
    rounds.collect()
}

impl Rows {
    /// The places of the queries in the order of their rows: those first that any range can have a match of.
    pub(super) fn order(&self) -> Vec<usize> {
        let (whole, short): (Vec<_>, Vec<_>) =
            (0..self.queries.len()).partition(|&place| self.queries[place].rarest == NONE);
        [whole, short].concat()
    }

    /// Shares out what there is `of` the rarest terms, so much a workgroup. A single query gets jobs with nothing to do
    /// behind the others, up to a power of two, so that many queries have the same passes.
    fn share_out(&self, order: &[usize], each: u32, of: impl Fn(&TermRow) -> u32, jobs: &mut Vec<BlocksJob>) {
        let queries = order.iter().map(|&place| &self.queries[place]);
        let short = (0..).zip(queries).skip(self.whole);
        let before = jobs.len();
        for (to, &QueryRow { rarest: term, .. }) in short {
            let all = of(&self.terms[term as usize]);
            let parts = (0..all).step_by(each as usize);
            jobs.extend(parts.map(|block| BlocksJob { term, block, blocks: (all - block).min(each), to }));
            if self.queries.len() == 1 {
                let all = (jobs.len() - before).next_power_of_two();
                jobs.resize(before + all, BlocksJob { term, block: 0, blocks: 0, to });
            }
        }
    }
}

impl Call<'_> {
    /// Sends a batch on its way; `order` as of [`Rows::order`].
    ///
    /// # Errors
    /// [`crate::Error::Limit`] if the device cannot choose the best of so many. [`crate::Error::Gpu`].
    pub(super) fn submit(
        &self,
        context: &Context<'_>,
        slot: &mut Slot,
        rows: &Rows,
        order: &[usize],
        sent: Sent,
    ) -> Result<Pending> {
        let (gpu, kernels, ranges) = (&context.gpu, &self.own.kernels, self.own.ranges);
        let count = rows.queries.len() as u32;
        let room = self.room_in(rows);
        let mut jobs = Vec::new();
        let rounds = table_rounds(ranges, &rows.tables, &mut jobs);
        let unpack = over_blocks("unpack", 2, &rows.unpacked, &mut jobs);
        let places: Vec<_> = rows.tables.iter().map(|table| PlaceRow { at: table.at, term: table.row }).collect();
        let maxima = rounds.iter().map(|round| u64::from(round.lists)).max().unwrap_or(0) * u64::from(ranges.padded());
        let runs = match self.by {
            By::Accumulators => accumulators::runs(ranges, rows, &mut jobs, room, !self.takes_all()),
            By::Ranges { prune } => self.runs(context, (rows, order), &mut jobs, prune),
        };
        let each = |words: u64| u64::from(count) * words;
        let padded = u64::from(ranges.padded());
        // as many as the next batches may have: to make a large buffer anew takes longer than many queries
        let whole = rows.whole.next_power_of_two() as u64;
        let tiles = padded / u64::from(TILE);
        slot.need(&[
            ("state", u64::from(Head::WORDS) + each(State::WORDS.into())),
            ("hits", each(2 * u64::from(room))),
            ("best", sent.words()),
            ("maxima", maxima),
        ])?;
        match self.by {
            By::Accumulators => slot.need(&[("sums", each(ranges.documents.into()))])?,
            By::Ranges { prune } => slot.need(&[
                ("bounds", whole * padded / 2),
                ("tile_bounds", whole * tiles),
                ("queue", whole * padded),
                ("candidates", 2 * u64::from(rows.candidates)),
                ("chosen", 2 * (u64::from(rows.candidates) + whole * u64::from(self.picks(count, prune)) * tiles)),
            ])?,
        }
        let state = u64::from(Head::WORDS + count * State::WORDS);
        slot.need_download(4 * sent.words())?;
        if let Chooser::Kernels(topk) = self.topk {
            let capacity = TopKCapacity { queries: count, hits: count * room, k: self.k };
            slot.bind_topk(topk, capacity, "hits", Head::WORDS)?;
        }
        let queries: Vec<_> = order.iter().map(|&place| rows.queries[place]).collect();
        slot.put(&[
            ("terms", cast_slice(&rows.terms)),
            ("queries", cast_slice(&queries)),
            ("jobs", cast_slice(&jobs)),
            ("places", cast_slice(&places)),
        ])?;

        let outside = context.lists_and_tables();
        let mut bind = |what, kernels| slot.bound(Key { what, number: 0 }, &outside, kernels);
        let some = !rounds.is_empty() || unpack.groups > 0;
        let for_tables = if some { Some(bind("tables", &kernels.tables)?) } else { None };
        let for_hits = match self.by {
            By::Accumulators => bind("accumulators", &kernels.accumulators)?,
            By::Ranges { .. } => bind("ranges", &kernels.ranges)?,
        };
        let gather = slot.bound(Key { what: "gather", number: 0 }, &outside, [&kernels.gather])?;
        // a query that is a batch of its own finds its state cleared, and its passes recorded, if one like it came
        // before
        let alone = count == 1 && !some && !context.timed;
        let mut repeats = if alone { std::mem::take(&mut slot.repeats) } else { Repeats::default() };
        let clear = Step::Clear(slot.buffer("state"), 4 * state);
        let mut steps = if slot.is_cleared(4 * state) { Vec::new() } else { vec![clear] };
        if let Some(bound) = &for_tables {
            for Round { lists, runs } in &rounds {
                steps.push(Step::Clear(slot.buffer("maxima"), 4 * u64::from(*lists) * padded));
                steps.extend(runs.iter().map(|run| run.step(bound)));
            }
            steps.extend((unpack.groups > 0).then(|| unpack.step(bound)));
        }
        if self.by == By::Accumulators {
            steps.push(Step::Clear(slot.buffer("sums"), 4 * each(ranges.documents.into())));
        }
        steps.extend(runs.iter().map(|run| run.step(&for_hits)));
        let parameters = match sent {
            Sent::Gathered(hits) => GatherParams { queries: count, room, most: hits.most }.bytes(),
            Sent::Best(_) | Sent::First(_) | Sent::All(_) => Vec::new(),
        };
        let chosen;
        let (from, words) = match sent {
            Sent::Gathered(_) => {
                steps.push(Step::Run { name: "gather", bound: &gather[0], immediates: &parameters, groups: count });
                ("best", sent.words())
            }
            Sent::First(first) => {
                let (from, to) = ((slot.buffer("hits"), 0), (slot.download(), 4 * FirstHits::STATE as u64));
                steps.push(Step::CopyPart { from, to, bytes: 8 * u64::from(first.most) });
                ("state", FirstHits::STATE as u64)
            }
            Sent::Best(_) => {
                let counts = Counts { first: Head::WORDS + State::HITS, stride: State::WORDS, head: Head::WORDS };
                let rooms = (0..count).map(|query| (query * room, room));
                chosen = slot.topk("hits").runs(gpu, rooms, counts)?;
                steps.extend(slot.topk("hits").steps(&chosen));
                ("best", sent.words())
            }
            // how many there are; the hits follow
            Sent::All(_) => ("state", sent.words()),
        };
        steps.push(Step::Copy { from: slot.buffer(from), to: slot.download(), bytes: 4 * words });
        if !alone {
            return Ok(gpu.submit("queries", &steps, context.timed)?);
        }
        let pending = repeats.submit(gpu, "queries", &steps)?;
        // while the host waits for the query; if it cannot be, the next one does it
        let is_cleared = repeats.submit(gpu, "clear", &[clear]).is_ok();
        slot.repeats = repeats;
        slot.note_cleared(if is_cleared { 4 * state } else { 0 });
        Ok(pending)
    }

    /// How many counted bounds the first wave should have; without pruning all ranges are in it.
    fn first_wave(&self, prune: bool) -> u32 {
        if prune { self.k.saturating_mul(2).clamp(64, (self.k / 8).max(1024)) } else { u32::MAX }
    }

    /// How many ranges of each tile are for the first wave of a few queries; 0 if that is for `select` to say.
    fn picks(&self, queries: u32, prune: bool) -> u32 {
        if queries > FEW || !prune {
            return 0;
        }
        let tiles = self.own.ranges.padded() / TILE;
        self.first_wave(prune).saturating_mul(4).div_ceil(tiles).clamp(LEAST_PICKS, TILE)
    }

    /// The passes of ranges. Appends to `jobs` which workgroup looks through which blocks of a short list, and then
    /// through which of its ranges.
    fn runs(
        &self,
        context: &Context<'_>,
        (rows, order): (&Rows, &[usize]),
        jobs: &mut Vec<BlocksJob>,
        prune: bool,
    ) -> Vec<Run> {
        let (gpu, padded, room) = (&context.gpu, self.own.ranges.padded(), self.room_in(rows));
        let (queries, whole) = (rows.queries.len() as u32, rows.whole as u32);
        let first_job = jobs.len() as u32;
        rows.share_out(order, RAREST_BLOCKS, |term| term.blocks, jobs);
        let rarest = jobs.len() as u32 - first_job;
        rows.share_out(order, TILE, |term| term.df, jobs);
        let choose = jobs.len() as u32 - first_job - rarest;
        let candidates = if queries == 1 { rows.candidates.next_power_of_two() } else { rows.candidates };
        let software = gpu.report().kind == AdapterKind::Software;
        let most = whole.saturating_mul(padded).saturating_add(candidates);
        let groups = match software {
            true => {
                let longest = rows.queries.iter().map(|query| query.terms).max().unwrap_or(0).max(1);
                let ranges = (SOFTWARE_TERMS / longest).clamp(1, SOFTWARE_RANGES);
                (most / ranges).clamp(1, gpu.report().max_workgroups)
            }
            false => groups(self.k, queries, prune).min(most),
        };
        let run = |kernel, name, parameters, groups| Run { name, kernel, parameters, groups };
        let evaluate = |wave| EvaluateParams { wave, room, prune: prune.into() }.bytes();
        let of_lists = |direct| RarestParams { first: first_job, jobs: rarest, direct }.bytes();
        if queries <= FEW && whole == 0 && rows.candidates <= DIRECT {
            return vec![run(4, "rarest", of_lists(1), rarest), run(3, "evaluate", evaluate(0), groups)];
        }
        let picks = self.picks(queries, prune);
        let mut runs = vec![
            run(0, "bounds", BoundsParams { queries: whole, picks }.bytes(), whole * (padded / TILE)),
            run(4, "rarest", of_lists(0), rarest),
        ];
        // for a few queries, passes take longer than ranges: fewer and larger waves, and the first finds its cut itself
        let few = queries <= FEW;
        let (waves, tiles) = if few { (2, 1) } else { (WAVES, SELECT_TILES) };
        let first = self.first_wave(prune);
        if !few {
            runs.push(run(1, "cuts", CutParams { queries, first }.bytes(), queries));
        }
        for wave in 0..waves {
            let last = u32::from(wave + 1 == waves);
            let wanted = if few && wave == 0 { first.saturating_mul(4) } else { 0 };
            if wave > 0 || picks == 0 {
                let parameters = SelectParams { queries: whole, wave, last, tiles, wanted }.bytes();
                runs.push(run(2, "select", parameters, whole * (padded / TILE).div_ceil(tiles)));
            }
            let parameters = ChooseParams { first: first_job + rarest, jobs: choose, wave, last, wanted }.bytes();
            runs.push(run(5, "choose", parameters, choose));
            runs.push(run(3, "evaluate", evaluate(wave), groups));
        }
        // where all queries are of one kind, the passes of the other one have nothing to do
        runs.retain(|run| run.groups > 0);
        runs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Queries that are batches of their own have few different numbers of jobs, and each block one job.
    #[test]
    fn test_jobs_of_short_lists() {
        for blocks in [1, 7, 8, 9, 24, 25, 1000] {
            let terms = vec![TermRow::default(), TermRow { blocks, ..TermRow::default() }];
            let query = QueryRow { rarest: 1, ..QueryRow::default() };
            for queries in [1, 2] {
                let rows = Rows { terms: terms.clone(), queries: vec![query; queries], ..Rows::default() };
                let mut jobs = vec![BlocksJob { term: 9, block: 9, blocks: 9, to: 9 }];
                rows.share_out(&rows.order(), 8, |term| term.blocks, &mut jobs);
                let each = blocks.div_ceil(8) as usize;
                let expected = if queries == 1 { each.next_power_of_two() } else { 2 * each };
                assert_eq!(jobs.len() - 1, expected, "{blocks} blocks of {queries}");
                for to in 0..queries as u32 {
                    let own = jobs[1..].iter().filter(|job| job.to == to && job.term == 1);
                    let covered: Vec<u32> = own.flat_map(|job| job.block..job.block + job.blocks).collect();
                    assert!(covered.into_iter().eq(0..blocks), "{blocks} blocks of {queries}");
                }
            }
        }
    }
}
