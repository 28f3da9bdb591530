//! Batches answered by ranges of docIDs, the best first.
//!
//! The docIDs are cut into ranges of 2^n. Each list of some length has a table with a byte for each range: the greatest
//! impact of a posting there. If it is asked for often it is laid out by range, too, and shorter lists are at once: the
//! documents of a range and their frequencies are then read together, and no block of the list is decoded for it. A
//! batch of queries goes through a chain of passes:
//!
//! ```text
//! maxima     range maxima of lists that have come to the device and have no table yet
//! pack       turns these maxima into bytes
//! unpack     lays lists out by range
//! bounds     for each range of a query the sum of the terms' maxima: no document there scores more
//! rarest     the same where all terms are needed and one list is short, for the ranges of that list alone
//! cuts       deals the ranges out to waves, those with the highest bounds to the first
//! select     a wave's ranges whose bound reaches the query's threshold                  ┐ once a wave: after
//! choose     the same for queries whose ranges are those of a short list                │ each wave the threshold
//! evaluate   some ranges at a time: add up the postings there, keep the best            ┘ is higher
//! gather     sends the hits that reach the last threshold to the host, which sorts them
//! ```
//!
//! A pass takes longer than what it does for a few queries. So these have two waves and no `cuts`, and `bounds` picks
//! the ranges of the first wave itself: the best of each tile. A few conjunctions with few such ranges go through
//! `rarest`, `evaluate` and `gather` alone; and a single query has no `gather` if its k is small and ranges are
//! skipped, or if it has a batch to itself since its hits are too many: the host leaves hits out.
//!
//! For a conjunction, a range that lacks a term has no bound, and a document that lacks a term has no score. Scores are
//! sums of whole numbers, so it does not matter in which order threads add. A query's threshold is the lower edge
//! of the class that its k-th best score so far falls in. So none of the best k is ever left out: results are exact.
//! Range maxima: Dimopoulos, Nepomnyachiy and Suel, *Optimizing top-k document retrieval strategies for block-max
//! indexes*, WSDM 2013, doi:10.1145/2433396.2433412.
//!
//! | file | its one job |
//! |---|---|
//! | [`kernels`] | puts the shaders together |
//! | `passes` | takes a batch through its passes |
//! | `accumulators` | answers OR by an accumulator for each document |

pub(super) mod accumulators;
pub mod kernels;
mod passes;

use super::batches::{Added, Context, Lack, Turn, Way};
use super::found::{AllHits, BestRows, FirstHits, Found, GatheredHits, word, words};
use super::kernels::Parts;
use super::plan_rows::{add_steps, greatest_score, query_row};
use super::report::Work;
use super::residence::Request;
use super::rows::{self, BY_BLOCKS, BY_TILE, Head, NONE, QueryRow, TermRow};
use super::slot::Slot;
use super::topk::Chooser;
use crate::Result;
use crate::gpu::{AdapterKind, Gpu, GpuError, Memory, Pending};
use crate::query::Plan;
use crate::query::or::GpuOr as By;
use kernels::{Kernels, Ranges};
use passes::SOFTWARE_TERMS;

/// A batch has at most so many words of queue: one for each range of each query.
const BATCH_RANGES: u64 = 1 << 28;
/// A batch has room for at most so many ranges of short lists.
const BATCH_CANDIDATES: u64 = 1 << 26;
/// A batch has at most so many terms, which take 48 MiB.
const BATCH_TERMS: usize = 1 << 20;
/// A query has at most so many terms: a workgroup goes through all of them, and llvmpipe ends loops of more than 65,535
/// rounds.
pub(super) const QUERY_TERMS: usize = 1 << 15;
/// A batch sends so many hits more than its queries do on average.
const SPARE_HITS: u32 = 8192;
/// A query that is a batch of its own and wants so many hits at most
const FIRST_K: u32 = 128;
/// sends so many hits at once, without a pass to leave some out. Tests have queries with more.
const FIRST_HITS: u32 = if cfg!(test) { 32 } else { 4096 };
/// All queries of a batch together have room for at most so many hits.
const BATCH_HITS: u64 = 1 << 26;
/// A query in [`Turn::Alone`] has room for so many hits, or for this many times as many as in a batch of many. Tests
/// have queries with more.
const ALONE_HITS: u32 = if cfg!(test) { 1 << 15 } else { 1 << 22 };
const ALONE_TIMES: u32 = 4;

/// What answers by ranges, compiled for an index.
#[derive(Debug)]
pub(super) struct ByRanges {
    kernels: Kernels,
    pub(super) ranges: Ranges,
    /// A batch has at most so many queries: fewer once the device was out of memory.
    limit: usize,
}

/// Answers the queries of one call to an engine.
pub(super) struct Call<'d> {
    own: &'d mut ByRanges,
    topk: &'d Chooser,
    by: By,
    all: bool,
    k: u32,
    /// A batch has at most so many queries,
    most: usize,
    /// so many of which any range can have a match,
    most_whole: usize,
    /// and room for so many ranges of short lists.
    most_candidates: u32,
    /// A buffer holds so many hits.
    most_hits: u32,
    /// Bound and place of each term of the query that is added; the memory is kept for the next one.
    terms: Vec<(f32, u32)>,
}

/// A table of range maxima that a batch has to make, or a list that it has to lay out by range.
#[derive(Clone, Copy, Debug)]
struct NewTable {
    /// The row of the list's term.
    row: u32,
    /// Blocks of the list.
    blocks: u32,
    /// Address of the list's table, or of its postings by range.
    at: u32,
}

/// The rows of a batch.
#[derive(Debug, Default)]
pub(super) struct Rows {
    /// Terms of all queries.
    terms: Vec<TermRow>,
    queries: Vec<QueryRow>,
    /// How many of them any range can have a match of.
    whole: usize,
    /// It is a single query in [`Turn::Alone`].
    alone: bool,
    /// Slots for the ranges of the other ones.
    candidates: u32,
    /// Tables that the terms need and that are not there yet.
    tables: Vec<NewTable>,
    /// Lists whose postings by range are not there yet.
    unpacked: Vec<NewTable>,
}

impl ByRanges {
    /// Compiles the kernels, those of [`By::Accumulators`] if they are wanted. Tables of range maxima and postings by
    /// range are in `memories`.
    ///
    /// # Errors
    /// The adapter cannot do it, or was lost.
    pub(super) fn new(
        gpu: &Gpu,
        parts: &Parts<'_>,
        memories: [Memory; 2],
        ranges: Ranges,
        accumulators: bool,
    ) -> Result<Self, GpuError> {
        let kernels = Kernels::new(gpu, parts, memories, ranges, accumulators)?;
        Ok(Self { kernels, ranges, limit: usize::MAX })
    }

    /// Whether it has the kernels of [`By::Accumulators`].
    pub(super) fn accumulates(&self) -> bool {
        !self.kernels.accumulators.is_empty()
    }

    /// For queries that ask for the best `k` documents. Without `or` a document needs all terms, else any term, and it
    /// is found in that way.
    ///
    /// # Errors
    /// [`crate::Error::Limit`] if `topk` does not choose so many.
    pub(super) fn call<'d>(&'d mut self, gpu: &Gpu, topk: &'d Chooser, or: Option<By>, k: u32) -> Result<Call<'d>> {
        let (by, all) = (or.unwrap_or(By::Ranges { prune: true }), or.is_none());
        let (most, most_whole, most_candidates, most_hits, terms) = (0, 0, 0, 0, Vec::new());
        let mut call = Call { own: self, topk, by, all, k, most, most_whole, most_candidates, most_hits, terms };
        (call.most, call.most_whole) = call.most_queries(gpu);
        let pairs = gpu.report().max_binding_bytes / 8;
        call.most_candidates = BATCH_CANDIDATES.min(pairs) as u32;
        call.most_hits = u32::try_from(pairs).unwrap_or(u32::MAX);
        topk.check(call.room(), k)?;
        Ok(call)
    }
}

impl Call<'_> {
    /// How many queries a batch has at most, and how many of these any range can have a match of, by the memory that
    /// each takes and by what one buffer holds. They are powers of two, because buffers grow to powers of two.
    fn most_queries(&self, gpu: &Gpu) -> (usize, usize) {
        let words = gpu.report().max_binding_bytes / 4;
        let ranges = self.own.ranges;
        let each = [
            // candidates name a range of a query by one word
            u64::from(u32::MAX) / u64::from(ranges.padded()),
            BATCH_HITS.min(words / 2) / u64::from(self.room()),
            words / u64::from(rows::State::WORDS + 2),
            words / (2 * u64::from(self.results()) + 4),
            match self.by {
                By::Accumulators => accumulators::queries_at_once(gpu, ranges.documents).into(),
                By::Ranges { .. } => u64::MAX,
            },
            self.own.limit as u64,
        ];
        let most = 1 << each.into_iter().fold(u64::MAX, u64::min).max(1).ilog2();
        let whole = 1 << (BATCH_RANGES.min(words) / u64::from(ranges.padded())).max(1).ilog2();
        (most, whole.min(most))
    }

    /// How many hits a query may send, on average. By a histogram they are more than k: the host also gets the others
    /// of the class that the k-th best score falls in. Hits that are all sent do not count.
    fn results(&self) -> u32 {
        match self.topk {
            Chooser::Histogram => self.k.saturating_add(self.k / 4).saturating_add(64),
            Chooser::Kernels(_) => self.k,
            Chooser::Host => 0,
        }
    }

    /// Whether all documents that match become hits. Where ranges are skipped, no document below the threshold does.
    fn takes_all(&self) -> bool {
        self.topk.takes_all() && self.by != (By::Ranges { prune: true })
    }

    /// The k of the queries' rows: without a threshold it is one that nothing reaches.
    fn k_of_rows(&self) -> u32 {
        if self.takes_all() { u32::MAX } else { self.k }
    }

    /// How many hits a query has room for. It collects most of them before the threshold is high: in the first wave, or
    /// in all ranges that are evaluated at a time. Some more come later.
    fn room(&self) -> u32 {
        let Ranges { shift, documents } = self.own.ranges;
        if self.takes_all() {
            return documents.max(1);
        }
        let ranges = if self.by == (By::Ranges { prune: false }) { passes::GROUPS } else { 64 };
        let first_wave = ranges.saturating_mul(self.k.min(1 << shift));
        first_wave.saturating_add(self.k.saturating_mul(8)).clamp(8192, documents.max(8192))
    }

    /// How many hits a query of a batch has room for.
    fn room_in(&self, rows: &Rows) -> u32 {
        if !rows.alone {
            return self.room();
        }
        let most = ALONE_HITS.max(self.room().saturating_mul(ALONE_TIMES)).min(self.most_hits);
        most.min(self.own.ranges.documents).max(self.room())
    }

    fn sent(&self, rows: &Rows) -> Sent {
        let (results, room, queries) = (self.results(), self.room_in(rows), rows.queries.len());
        match self.topk {
            Chooser::Host => Sent::All(AllHits { queries, room }),
            // as many as there are, not as many as there is room for
            _ if rows.alone => Sent::All(AllHits { queries, room }),
            Chooser::Kernels(_) => Sent::Best(BestRows { queries, most: results, room }),
            // without pruning there may be many more hits than that
            Chooser::Histogram if queries == 1 && self.k <= FIRST_K && self.by != (By::Ranges { prune: false }) => {
                Sent::First(FirstHits { most: FIRST_HITS.min(room), room })
            }
            Chooser::Histogram => {
                // a query alone may have many hits of one class
                let alone = results.saturating_add(SPARE_HITS);
                let most = results.saturating_mul(queries as u32).saturating_add(SPARE_HITS);
                Sent::Gathered(GatheredHits { queries, most, alone, room })
            }
        }
    }
}

/// How the hits of a batch come.
#[derive(Clone, Copy, Debug)]
pub(super) enum Sent {
    /// The device chooses the best.
    Best(BestRows),
    /// All that reach the last threshold, and the host chooses.
    Gathered(GatheredHits),
    /// The first ones of a single query.
    First(FirstHits),
    /// All, after the host has learnt how many there are.
    All(AllHits),
}

impl Sent {
    /// Where the first [`Head::WORDS`] words of the state come.
    fn head(self) -> usize {
        match self {
            Self::Best(rows) => rows.words(),
            Self::Gathered(hits) => hits.words_of_queries(),
            Self::First(_) | Self::All(_) => 0,
        }
    }

    /// All words.
    fn words(self) -> u64 {
        let words = match self {
            Self::Best(rows) => rows.words() + Head::WORDS as usize,
            Self::Gathered(hits) => hits.words(),
            Self::First(hits) => hits.words(),
            Self::All(all) => Head::WORDS as usize + all.queries * rows::State::WORDS as usize,
        };
        words as u64
    }
}

impl Way for Call<'_> {
    type Rows = Rows;
    /// What comes, and for each row of it the place of its query in the batch.
    type Sent = (Sent, Vec<usize>);

    fn has_answers(&self, plan: &Plan) -> bool {
        self.k > 0 && !plan.terms.is_empty() && !(self.all && plan.missing > 0)
    }

    fn add(&mut self, context: &mut Context<'_>, rows: &mut Rows, plan: &Plan, turn: Turn) -> Result<Added> {
        let count = plan.terms.len();
        // bounds count on what terms add, and a document's terms are counted modulo 256
        let software = context.gpu.report().kind == AdapterKind::Software && matches!(self.by, By::Ranges { .. });
        let most_terms = if software { SOFTWARE_TERMS as usize } else { QUERY_TERMS };
        if count > most_terms || plan.has_negative() || (self.all && count > 255) {
            return Ok(Added::Never);
        }
        let alone = matches!(turn, Turn::Alone(_));
        let full = rows.queries.len() >= self.most || rows.terms.len() + count > BATCH_TERMS;
        if full || rows.alone || (alone && !rows.queries.is_empty()) {
            return Ok(Added::Full);
        }
        let ranges = self.own.ranges;
        // one term is all terms
        let all = self.all || (count == 1 && self.by == By::Ranges { prune: true });
        let searcher = context.searcher;
        self.terms.clear();
        self.terms.extend(plan.terms.iter().map(|term| searcher.bound_of(term)).zip(0..));
        let most = greatest_score(plan, self.terms.iter().map(|&(bound, _)| bound));
        // the greatest bounds first: after them the other terms may not matter
        self.terms.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        let terms = self.terms.iter().map(|&(bound, number)| (bound, &plan.terms[number as usize]));
        let rarest = ranges.rarest(terms.clone().map(|(_, term)| term.info.df)).filter(|_| all);
        let full = match rarest {
            Some((_, df)) => df > self.most_candidates.saturating_sub(rows.candidates),
            None => rows.whole >= self.most_whole,
        };
        if full && !rows.queries.is_empty() {
            return Ok(Added::Full);
        }
        let first = rows.terms.len() as u32;
        let mut untabled = 0;
        let mut least = turn.least();
        for (bound, term) in terms {
            let Request::Placed(placed) = context.residence.request(&term.info, true)? else {
                // tables that were promised to earlier terms of this query are made with the batch
                return Ok(Added::Lacks(Lack::Lists));
            };
            let new = |at| NewTable { row: rows.terms.len() as u32, blocks: placed.blocks, at };
            rows.tables.extend(placed.table.filter(|_| placed.new_table).map(new));
            rows.unpacked.extend(placed.by_range.filter(|_| placed.new_by_range).map(new));
            untabled |= match (placed.table, placed.by_range) {
                (Some(_), _) => 0,
                // bounds of conjunctions ask which ranges have a term, not only what it adds there
                (None, Some(_)) if !all => BY_TILE,
                (None, _) => BY_BLOCKS,
            };
            rows.terms.push(searcher.row_of(term, bound, &placed));
            if self.by == (By::Ranges { prune: true }) && (!all || count == 1) {
                // one term alone gives so many documents as much
                least = least.max(searcher.least_of(term, &placed, self.k));
            }
        }
        let mut row = query_row((first, count as u32), all, self.k_of_rows(), most, least);
        row.untabled = untabled;
        add_steps(searcher.impacts().is_some(), &mut row, &mut rows.terms[first as usize..]);
        match rarest {
            Some((term, df)) => {
                (row.rarest, row.candidates) = (first + term as u32, rows.candidates);
                rows.candidates += df;
            }
            None => {
                row.rarest = NONE;
                rows.whole += 1;
            }
        }
        rows.queries.push(row);
        rows.alone = alone;
        Ok(Added::Yes(plan.unit))
    }

    fn send(&mut self, context: &Context<'_>, slot: &mut Slot, rows: &Rows) -> Result<(Pending, Self::Sent)> {
        let sent = self.sent(rows);
        let order = rows.order();
        Ok((self.submit(context, slot, rows, &order, sent)?, (sent, order)))
    }

    fn finish(
        &self,
        gpu: &Gpu,
        slot: &mut Slot,
        pending: Pending,
        (sent, order): Self::Sent,
    ) -> Result<Found, GpuError> {
        let (mut found, passes) = gpu.finish(pending, slot.download(), |bytes| {
            let words = words(bytes);
            let found = match sent {
                Sent::Best(rows) => rows.read(&words, 0..),
                Sent::Gathered(hits) => hits.read(&words),
                Sent::First(hits) => hits.read(&words),
                Sent::All(all) => all.read_counts(&words, Head::WORDS + rows::State::HITS, rows::State::WORDS),
            };
            let at = |i: u32| word(&words, sent.head() + i as usize);
            let queued = |wave: usize| at(Head::QUEUED + wave as u32) + at(Head::CHOSEN + wave as u32);
            let queued = std::array::from_fn(queued);
            let work = Work { queued, evaluated: at(Head::EVALUATED) };
            Found { ranges: Some(work), decoded: at(Head::BLOCKS).into(), ..found }
        })?;
        found.passes = passes;
        match sent {
            Sent::All(all) => all.bring(gpu, slot, "hits", &mut found)?,
            Sent::First(first) => first.bring(gpu, slot, "hits", &mut found)?,
            Sent::Best(_) | Sent::Gathered(_) => {}
        }
        found.reorder(&order);
        Ok(found)
    }

    fn abandon(&mut self, context: &mut Context<'_>, rows: &Rows) {
        let [tables, by_range] = [&rows.tables, &rows.unpacked].map(|new| new.iter().map(|new| new.at).collect());
        context.residence.abandon(&tables, &by_range);
    }

    fn halve(&mut self, queries: usize) {
        self.own.limit = (queries / 2).max(1);
        self.most = self.most.min(self.own.limit);
        self.most_whole = self.most_whole.min(self.own.limit);
    }

    fn clear_tables(&mut self) {}

    /// Kernels choose among as many as [`Self::room`] says.
    fn has_more_room_alone(&self) -> bool {
        !matches!(self.topk, Chooser::Kernels(_)) && !self.takes_all()
    }
}
