//! Queries on a GPU: ranges of docIDs, the best first.
//!
//! The docIDs are cut into ranges of 2^n. For each range and each list of some length a byte says how great an impact is there
//! ([`residence`]: made when a list comes to the device). A batch of queries goes through a chain of passes:
//!
//! ```text
//! bounds     for each range of each query the sum of the terms' maxima: no document there scores more
//! cuts       which bounds are the highest: the first wave, the second, the rest
//! select     a wave's ranges whose bound reaches the query's threshold                  ┐ three times: after each
//! evaluate   a workgroup a range: decode the blocks there, add up scores, keep the best ┘ wave the threshold is higher
//! gather     the hits that reach the last threshold, to the host, which sorts them
//! ```
//!
//! A conjunction is the same, but a range that lacks a term has no bound, and a document that lacks one no score. Scores are
//! sums of fixed point numbers, so it does not matter in which order threads add; a query's threshold is the lower edge of
//! the class that its k-th best score so far falls in, so nothing that belongs to the best k is ever left out: the results are
//! exact. Range maxima: Dimopoulos, Nepomnyachiy and Suel, *Optimizing top-k document retrieval strategies for block-max
//! indexes*, WSDM 2013, doi:10.1145/2433396.2433412.
//!
//! | file | its one job |
//! |---|---|
//! | [`arena`] | device memory for lists, given out in pieces |
//! | [`residence`] | which lists are in it: all, or those asked for last |
//! | [`kernels`] | the shaders, put together |
//! | `report` | what was done |
//! | `slot` | a batch's buffers and passes |
//! | `or` | the choice of another way for OR |
//! | `accumulators` | OR by an accumulator for each document |
//! | [`candidates`] | intersections by the methods of [`super::intersect`] |
//! | [`intersector`] | these for queries to an index |
//! | `list_intersector` | these for lists that are in no index |

mod accumulators;
pub mod arena;
pub mod candidates;
pub mod intersector;
pub mod kernels;
mod list_intersector;
mod or;
mod report;
pub mod residence;
mod slot;

#[cfg(test)]
mod tests;

use super::topk::{PARTIAL_SORT, TopKMethod};
use super::{Hit, Mode, Plan, PlannedTerm, Scores, Searcher};
use crate::Result;
use crate::codec::Memory;
use crate::gpu::{Buffer, Gpu, Pending, Upload, Usage};
use crate::index::{Index, Place};
use arena::Arena;
use kernels::{Kernels, Ranges, TABLES};
use or::By;
use residence::{Placed, Request, Residence};
use slot::{Capacity, Device, Found, How, NewTable, QueryRow, Rows, Slot, TermRow};
use std::collections::VecDeque;

pub use intersector::{GpuIntersector, IntersectReport};
pub use list_intersector::ListIntersector;
pub use or::{GPU_OR_METHODS, GpuOrMethod, gpu_or_method};
pub use report::Report;
pub use residence::Use;
pub use slot::Work;

/// How a device is used.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Bytes for lists, and tables of them; `None`: what all lists and the tables of the longest need, 16 GiB each at most.
    pub memory: Option<u64>,
    /// Bring all lists at once, before the first query.
    pub preload: bool,
    /// Time each pass.
    pub timed: bool,
    /// What chooses the best of the hits found: a method of the GPU, or [`PARTIAL_SORT`] for the host.
    pub topk: &'static TopKMethod,
    /// What ranks the documents that have any term.
    pub or: &'static GpuOrMethod,
    /// A range has 2 to the power of this many docIDs, 5 to 10; `None`: by the size of the collection.
    pub range_bits: Option<u32>,
}

impl Default for Options {
    fn default() -> Self {
        Self { memory: None, preload: false, timed: false, topk: &PARTIAL_SORT, or: &or::RANGES, range_bits: None }
    }
}

/// Ranges times queries of a batch: the words of its queue.
const BATCH_RANGES: u32 = 1 << 27;
/// Words from which on lists lie in several buffers.
const LARGE: u64 = 1 << 28;
/// Lists whose tables have room by default.
const DEFAULT_TABLES: u64 = 1 << 16;
/// Queries of a batch at most.
const BATCH_QUERIES: u32 = 1024;
/// Terms of a batch at most.
const BATCH_TERMS: u32 = 1 << 15;
/// Hits that all queries of a batch have room for.
const BATCH_HITS: u64 = 1 << 26;
/// The sum of a query's bounds in fixed point: 30 bits less what rounding may add.
const FULL_SCORE: f64 = (1u64 << 30) as f64 * 0.999;

/// For what single precision rounds off a bound.
const ROOM: f64 = 1.000_001;

/// Answers batches of queries on a GPU.
pub struct GpuSearcher<'a> {
    searcher: &'a Searcher<'a>,
    gpu: Gpu,
    residence: Residence<'a>,
    kernels: Kernels,
    norms: Buffer,
    ranges: Ranges,
    slots: Vec<Slot>,
    timed: bool,
    or: By,
    /// What evaluates the queries of the call.
    by: By,
}

/// A query for the device.
#[derive(Clone, Copy)]
struct Asked<'p> {
    plan: &'p Plan,
    all: bool,
    /// Queries of different batches are not sent together.
    batch: u32,
}

/// A batch on its way.
struct Flight {
    pending: Pending,
    slot: Slot,
    first: usize,
    /// What a score has to be multiplied with, for each query.
    units: Vec<f64>,
}

impl<'a> GpuSearcher<'a> {
    /// For the index, codec and parameters of `searcher`, which answers what the device cannot.
    ///
    /// # Errors
    /// [`crate::Error::Gpu`], or [`crate::Error::Invalid`] if all lists should be brought and do not fit, or if another method of the CPU
    /// than [`PARTIAL_SORT`] is to choose the best.
    pub fn new(searcher: &'a Searcher<'a>, gpu: &Gpu, options: Options) -> Result<Self> {
        let index: &'a Index = searcher.index();
        let codec = searcher.codec();
        let documents = index.statistics().documents as u32;
        let ranges = Ranges::of(documents, options.range_bits);
        let needed = Residence::words_of_all(searcher);
        // lists that have one are some fifty times as long on average
        let tabled = (index.statistics().postings / (48 * u64::from(ranges.table_df()))).clamp(16, DEFAULT_TABLES);
        let (for_lists, for_tables) = match options.memory {
            Some(bytes) => (needed.min(bytes / 6), bytes / 4 - needed.min(bytes / 6)),
            None => (room_for(needed), tabled * u64::from(ranges.table_words())),
        };
        let lists = Arena::new(gpu, Memory::ONE, for_lists)?;
        let tables = Arena::new(gpu, TABLES, for_tables)?;
        let scores = if searcher.impacts().is_some() { Scores::Impacts } else { Scores::Bm25 };
        let how = (options.topk, options.or.by);
        let kernels = Kernels::new(gpu, codec.codec(), [&lists, &tables], ranges, scores, how)?;
        let norm = searcher.norm();
        let values: Vec<f32> = index.lens().iter().map(|&len| norm.k(len)).collect();
        let norms = gpu.buffer("norms", size_of_val(&*values) as u64, Usage::Storage)?;
        Upload::default().run(gpu, &values, &norms, &|_| ())?;
        let mut residence = Residence::new(searcher, lists, tables, ranges.table_words(), ranges.table_df());
        if options.preload {
            residence.preload()?;
        }
        let gpu = gpu.clone();
        let (timed, or) = (options.timed, options.or.by);
        Ok(Self { searcher, gpu, residence, kernels, norms, ranges, slots: Vec::new(), timed, or, by: or })
    }

    /// The device.
    pub fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    /// How the memory for lists has been used.
    pub fn residence(&self) -> Use {
        self.residence.counts()
    }

    /// The best `k` documents of each query, best first.
    ///
    /// # Errors
    /// [`crate::Error::Damaged`]; [`crate::Error::Limit`] for a k that the method of the GPU does not take; [`crate::Error::Gpu`] if the device fails.
    pub fn search(&mut self, plans: &[Plan], mode: Mode, k: usize) -> Result<(Vec<Vec<Hit>>, Report)> {
        self.search_batches(plans, &[plans.len()], mode, k)
    }

    /// As [`Self::search`], in batches of so many queries each, in their order; a batch that is too large for the device is split.
    ///
    /// # Errors
    /// As of [`Self::search`].
    pub fn search_batches(
        &mut self,
        plans: &[Plan],
        sizes: &[usize],
        mode: Mode,
        k: usize,
    ) -> Result<(Vec<Vec<Hit>>, Report)> {
        let mut report = Report::default();
        let batches = (0..).zip(sizes).flat_map(|(batch, &size)| std::iter::repeat_n(batch, size));
        let ask = |(plan, batch)| Asked { plan, all: mode != Mode::Or, batch };
        let asked: Vec<Asked<'_>> = plans.iter().zip(batches.chain(std::iter::repeat(u32::MAX))).map(ask).collect();
        let mut hits = self.run(&asked, k, &mut report)?;
        if mode == Mode::AndOr {
            let few: Vec<usize> = (0..plans.len()).filter(|&i| hits[i].len() < k).collect();
            let again: Vec<Asked<'_>> = few.iter().map(|&i| Asked { plan: &plans[i], all: false, batch: 0 }).collect();
            for (i, better) in few.into_iter().zip(self.run(&again, k, &mut report)?) {
                hits[i] = better;
            }
        }
        Ok((hits, report))
    }

    fn run(&mut self, asked: &[Asked<'_>], k: usize, report: &mut Report) -> Result<Vec<Vec<Hit>>> {
        let mut results: Vec<Option<Vec<Hit>>> = vec![None; asked.len()];
        let documents = self.ranges.documents;
        self.by = match asked.first() {
            Some(query) if !query.all => self.or,
            _ => By::Ranges { prune: true },
        };
        let kept = k.min(documents as usize) as u32;
        if let Some(topk) = &self.kernels.topk {
            topk.check(&self.gpu, self.room(kept), kept)?;
        }
        for (result, query) in results.iter_mut().zip(asked) {
            if k == 0 || query.plan.terms.is_empty() || (query.all && query.plan.missing > 0) {
                *result = Some(Vec::new());
            }
        }
        let mut flights: VecDeque<Flight> = VecDeque::new();
        let mut next = 0;
        while next < asked.len() || !flights.is_empty() {
            if next < asked.len() && flights.len() < 2 {
                let (flight, end) = self.launch(asked, &mut results, next, kept, report)?;
                let stuck = flight.is_none() && end == next;
                flights.extend(flight);
                next = end;
                if !stuck {
                    continue;
                }
            }
            let Some(flight) = flights.pop_front() else {
                // nothing is on its way and still there is no room for its lists
                report.by_cpu += 1;
                results[next] = Some(self.on_cpu(&asked[next], k)?);
                next += 1;
                continue;
            };
            let count = flight.units.len();
            let (found, work, times) = flight.slot.finish(&self.gpu, flight.pending, count)?;
            self.slots.push(flight.slot);
            report.add(work, &times);
            for (i, (found, unit)) in found.into_iter().zip(flight.units).enumerate() {
                let result = &mut results[flight.first + i];
                if result.is_none() && !found.overflow {
                    *result = Some(sorted(found, unit, k));
                } else if result.is_none() {
                    report.by_cpu += 1;
                    *result = Some(self.on_cpu(&asked[flight.first + i], k)?);
                }
            }
        }
        Ok(results.into_iter().map(Option::unwrap_or_default).collect())
    }

    fn on_cpu(&self, query: &Asked<'_>, k: usize) -> Result<Vec<Hit>> {
        self.searcher.search(query.plan, if query.all { Mode::And } else { Mode::Or }, k)
    }

    /// Sends the queries from `first` on, as many as one batch takes, and says where the next batch starts. Those with a result
    /// are passed over.
    fn launch(
        &mut self,
        asked: &[Asked<'_>],
        results: &mut [Option<Vec<Hit>>],
        first: usize,
        k: u32,
        report: &mut Report,
    ) -> Result<(Option<Flight>, usize)> {
        let mut rows = Rows::default();
        let collected = self.collect(asked, results, first, k, report, &mut rows);
        let sent = self.residence.flush().and_then(|()| match collected? {
            units if units.is_empty() => Ok((None, first)),
            units => {
                let end = first + units.len();
                Ok((Some(self.send(&rows, units, first, k)?), end))
            }
        });
        if !matches!(sent, Ok((Some(_), _))) {
            let tables: Vec<u32> = rows.tables.iter().map(|table| table.at).collect();
            self.residence.abandon(&tables);
        }
        sent
    }

    /// The rows of as many queries as one batch takes, and what their scores are to be multiplied with.
    fn collect(
        &mut self,
        asked: &[Asked<'_>],
        results: &mut [Option<Vec<Hit>>],
        first: usize,
        k: u32,
        report: &mut Report,
        rows: &mut Rows,
    ) -> Result<Vec<f64>> {
        let most = (BATCH_RANGES / self.ranges.padded()).clamp(1, BATCH_QUERIES);
        let most = match self.by {
            By::Accumulators => most.min(accumulators::queries_at_once(&self.gpu, self.ranges.documents)),
            By::Ranges { .. } => most,
        };
        let most = most.min((BATCH_HITS / u64::from(self.room(k))).max(1) as u32) as usize;
        self.residence.begin();
        let mut units = Vec::new();
        let together = asked[first..].iter().take_while(|query| query.batch == asked[first].batch).take(most);
        for (query, result) in together.zip(&mut results[first..]) {
            let terms = query.plan.terms.len();
            if result.is_none() && terms > BATCH_TERMS as usize {
                report.by_cpu += 1;
                *result = Some(self.on_cpu(query, k as usize)?);
            }
            if result.is_some() {
                // its place in the batch stays, with no terms
                rows.queries.push([0; 8]);
                units.push(0.0);
                continue;
            }
            if rows.terms.len() + terms > BATCH_TERMS as usize {
                break;
            }
            match self.add(query, k, rows)? {
                Some(unit) => units.push(unit),
                None => break,
            }
        }
        Ok(units)
    }

    fn send(&mut self, rows: &Rows, units: Vec<f64>, first: usize, k: u32) -> Result<Flight> {
        let needed = Capacity {
            queries: (units.len() as u32).next_power_of_two(),
            terms: (rows.terms.len() as u32).next_power_of_two().max(16),
            room: self.room(k),
            accumulators: self.by == By::Accumulators,
            // the host takes a few more, for those with scores of the class that the k-th best falls in
            results: if self.kernels.topk.is_some() { k } else { 8 * k + 256 },
        };
        let device = Device {
            gpu: &self.gpu,
            kernels: &self.kernels,
            arenas: self.residence.arenas(),
            norms: &self.norms,
            ranges: self.ranges,
        };
        let slot = match self.slots.iter().position(|slot| slot.capacity.holds(needed)) {
            Some(i) => self.slots.swap_remove(i),
            None => {
                self.slots.clear();
                Slot::new(device, needed)?
            }
        };
        let how = match self.by {
            // all in the first wave
            By::Ranges { prune: false } => How { first_wave: u32::MAX, prune: false, timed: self.timed },
            _ => How { first_wave: (k / 8).clamp(64, 4096), prune: true, timed: self.timed },
        };
        let pending = slot.submit(device, rows, how)?;
        Ok(Flight { pending, slot, first, units })
    }

    /// Hits that a query may collect before the threshold is high: those of the first wave, or of all ranges that are evaluated
    /// at a time, and as many again.
    fn room(&self, k: u32) -> u32 {
        let width = 1 << self.ranges.shift;
        let ranges = if self.by == (By::Ranges { prune: false }) { slot::GROUPS } else { 64 };
        let first_wave = ranges.saturating_mul(k.min(width));
        first_wave.saturating_add(k.saturating_mul(8)).clamp(8192, self.ranges.documents.max(8192))
    }

    /// Adds the rows of a query; returns what its scores are to be multiplied with, or `None` if its lists found no room.
    fn add(&mut self, query: &Asked<'_>, k: u32, rows: &mut Rows) -> Result<Option<f64>> {
        let first = rows.terms.len();
        // the greatest first: the others may then not matter any more
        let mut terms: Vec<_> = query.plan.terms.iter().collect();
        terms.sort_by(|a, b| self.searcher.bound_of(b).total_cmp(&self.searcher.bound_of(a)));
        let scale = self.searcher.scale_of(query.plan);
        let mut full = false;
        for term in terms {
            let placed = match self.residence.request(&term.info)? {
                Request::Placed(placed) => placed,
                Request::Full | Request::TooLarge => {
                    full = true;
                    break;
                }
            };
            if let Some(at) = placed.table.filter(|_| placed.new_table) {
                rows.tables.push(NewTable { row: rows.terms.len() as u32, blocks: placed.blocks, at });
            }
            rows.terms.push(self.searcher.row_of(term, &placed, scale));
        }
        if full {
            return Ok(None);
        }
        let count = (rows.terms.len() - first) as u32;
        rows.queries.push(query_row(first as u32, count, query.all, k));
        Ok(Some(1.0 / scale))
    }
}

/// Words of an arena for so many words: the pieces of large files leave gaps.
fn room_for(words: u64) -> u64 {
    words + if words > LARGE { 2 * LARGE } else { 0 }
}

/// The `k` best hits, best first.
fn sorted(found: Found, unit: f64, k: usize) -> Vec<Hit> {
    let mut hits = found.hits;
    // the fixed point scores decide: floats made of them may be equal where these are not
    hits.sort_unstable_by_key(|&(doc, score)| (std::cmp::Reverse(score), doc));
    hits.truncate(k);
    hits.into_iter().map(|(doc, score)| Hit { doc, score: (f64::from(score) * unit) as f32 }).collect()
}

fn term_row(placed: &Placed, weight: u32, most: u32) -> TermRow {
    let table = placed.table.unwrap_or(u32::MAX);
    let kind = placed.kind as u32;
    let Placed { list, skips, blocks, df, first, tf, .. } = *placed;
    [list, skips, blocks, df, first, tf, kind, table, weight, most, 0, 0]
}

fn query_row(first: u32, terms: u32, all: bool, k: u32) -> QueryRow {
    // a score has 30 bits
    let (bound_shift, bucket_shift) = (30 - kernels::BOUND_BITS, 30 - kernels::BUCKETS.ilog2());
    [first, terms, u32::from(all), k, bound_shift, bucket_shift, 0, 0]
}

impl Searcher<'_> {
    /// What the scores of a query are multiplied with to fill their bits.
    fn scale_of(&self, plan: &Plan) -> f64 {
        let bounds: f64 = plan.terms.iter().map(|term| f64::from(self.bound_of(term))).sum();
        match self.impacts() {
            // a power of two: sums of whole numbers stay exact
            Some(_) => (FULL_SCORE / bounds.max(1.0)).log2().floor().exp2(),
            None => FULL_SCORE / bounds.max(f64::MIN_POSITIVE),
        }
    }

    /// A term's row.
    fn row_of(&self, term: &PlannedTerm, placed: &Placed, scale: f64) -> TermRow {
        let most = (f64::from(self.bound_of(term)) * scale * ROOM) as f32;
        let weight = (f64::from(term.weight) * scale) as f32;
        let weight = if self.impacts().is_some() { weight as u32 } else { weight.to_bits() };
        term_row(placed, weight, most.to_bits())
    }

    /// No document gets more from a term: for lists the stored bound, for a single posting its own score.
    fn bound_of(&self, term: &PlannedTerm) -> f32 {
        if let Some(impacts) = self.impacts() {
            return term.weight * f32::from(impacts.bound(&term.info));
        }
        match term.info.place {
            Place::Single { doc } => {
                let len = self.index().lens().get(doc as usize).copied().unwrap_or(0);
                term.weight * self.norm().impact(term.info.tf_max, len)
            }
            Place::List { bound, .. } => term.weight * self.bounds().impact(bound),
        }
    }
}
