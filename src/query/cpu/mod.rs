//! Queries on the CPU: shared parts of all methods, and the choice of one.
//!
//! `scorer` alone computes a part of a score. Parts are whole numbers and so are their bounds, and single precision
//! holds their sums exactly, in any order ([`crate::score::whole`]). So every method gives the same documents with the
//! same scores.

mod feed;
mod lookup;
pub(super) mod pairwise;
mod probe;
pub(super) mod ranges;
mod reach;
mod scored;
mod scorer;
pub(super) mod simd;
mod steps;
pub(super) mod survivors;

pub(super) use pairwise::Filter;
pub(super) use ranges::Tables;
pub(super) use scored::Scored;
pub(super) use scorer::{Bm25Scorer, ImpactScorer, Scorer, Scoring, Weight};
pub(super) use steps::Steps;

use ranges::{Found, When};

use super::and::{self, AndMethod};
use super::method::{EngineKind, Method, Registry};
use super::or::{self, OrMethod};
use super::plan::{Plan, PlannedTerm};
use super::subset::Subset;
use super::topk::{self, Hit, TOPK, TopK, TopKMethod};
use crate::index::{CodecRef, Index, Place, TermInfo};
use crate::postings::{Cursor, END, Postings};
use crate::{Error, Result};

/// The methods of a query.
#[derive(Clone, Copy)]
pub struct CpuMethods {
    /// Documents that have any term.
    pub or: &'static OrMethod,
    /// Documents that have all terms.
    pub intersect: &'static AndMethod,
    /// Keeping the best.
    pub topk: &'static TopKMethod,
}

impl Default for CpuMethods {
    /// The fastest.
    fn default() -> Self {
        Self { or: &or::RANGES, intersect: &and::RANGES, topk: &topk::SELECTION }
    }
}

/// Pushes the documents that can be among the best. A method that does not go by docID must also push documents that
/// score as much as the threshold. There is at least one term; terms may be put in another order.
#[derive(Clone, Copy)]
pub struct Rank {
    pub(super) bm25: fn(&mut [Scored<'_>], &Bm25Scorer<'_>, &mut TopK<'_>) -> Result<()>,
    pub(super) impacts: fn(&mut [Scored<'_>], &ImpactScorer, &mut TopK<'_>) -> Result<()>,
    /// Whether it has use for the tables of long lists.
    pub(super) tables: bool,
    /// Whether it takes terms that take away from a score: not if it skips by what terms can add.
    pub(super) negative: bool,
}

impl Rank {
    /// Whether it skips by what terms can add, if no weight is negative.
    fn skips(&self) -> bool {
        self.tables || !self.negative
    }
}

/// Compiles a method for both ways to make up scores.
macro_rules! rank {
    ($run:ident) => {
        $crate::query::cpu::rank!($run, tables: false, negative: false)
    };
    ($run:ident, tables: $tables:literal, negative: $negative:literal) => {
        $crate::query::cpu::Rank {
            bm25: |terms, scorer, top| {
                $run(terms, scorer, top);
                Ok(())
            },
            impacts: |terms, scorer, top| {
                $run(terms, scorer, top);
                Ok(())
            },
            tables: $tables,
            negative: $negative,
        }
    };
}
pub(super) use rank;

/// Calls an inlined method, compiled once more for [`crate::base::avx512`] and for [`crate::base::avx2`]: there the
/// inner loops, which have these features, become part of it.
macro_rules! wide {
    ($run:ident($terms:ident, $scorer:ident, $top:ident)) => {{
        #[cfg(target_arch = "x86_64")]
        {
            #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,avx512vnni")]
            #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
            fn sixteen(
                terms: &mut [$crate::query::cpu::Scored<'_>],
                scorer: &impl $crate::query::cpu::Scorer,
                top: &mut $crate::query::topk::TopK<'_>,
            ) {
                $run(terms, scorer, top);
            }
            #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
            fn eight(
                terms: &mut [$crate::query::cpu::Scored<'_>],
                scorer: &impl $crate::query::cpu::Scorer,
                top: &mut $crate::query::topk::TopK<'_>,
            ) {
                $run(terms, scorer, top);
            }
            if $crate::base::avx512::available() {
                // SAFETY: the processor has the features that the function is compiled for.
                return unsafe { sixteen($terms, $scorer, $top) };
            } else if $crate::base::avx2::available() {
                // SAFETY: as above.
                return unsafe { eight($terms, $scorer, $top) };
            }
        }
        $run($terms, $scorer, $top);
    }};
}
pub(super) use wide;

/// How much work a query was.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Work {
    /// Per term, in the order of the plan.
    pub terms: Vec<TermWork>,
    /// Documents whose whole score was considered for the best k.
    pub pushed: u64,
}

/// How much work the list of one term was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct TermWork {
    /// Blocks of the list; those not decoded were skipped. A term with one document has one block, which is never
    /// decoded: the posting lies in the dictionary.
    pub blocks: u64,
    /// Blocks of docIDs decoded; with mode `and-or`, by either run. Reading a list once to make its table does not
    /// count.
    pub decoded: u64,
    /// Postings whose part of a score was computed.
    pub scored: u64,
    /// Where the table of its list was.
    pub table: TableOf,
}

/// Where the table of a list is that the fastest methods use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TableOf {
    /// None was used: the list is short, or the method needs none, or it was not made yet.
    #[default]
    None,
    /// In memory: a query had made it.
    Memory,
    /// In the index.
    Index,
}

impl Work {
    /// None, for so many terms.
    pub(super) fn new(terms: usize) -> Self {
        Self { terms: vec![TermWork::default(); terms], pushed: 0 }
    }

    /// Adds the work of another run of the same query.
    pub(super) fn add(&mut self, again: &Self) {
        for (term, again) in self.terms.iter_mut().zip(&again.terms) {
            term.blocks = term.blocks.max(again.blocks);
            term.decoded += again.decoded;
            term.scored += again.scored;
            term.table = if again.table == TableOf::None { term.table } else { again.table };
        }
        self.pushed += again.pushed;
    }
}

/// The terms of a plan on their first postings.
fn open<'a>(index: &'a Index, codec: CodecRef<'a>, plan: &Plan, scoring: &Scoring<'a>) -> Result<Vec<Scored<'a>>> {
    plan.terms.iter().enumerate().map(|(order, term)| open_one(index, codec, (order, term), scoring)).collect()
}

/// A term on its first posting; the number is its place in the query.
fn open_one<'a>(
    index: &'a Index,
    codec: CodecRef<'a>,
    (order, term): (usize, &PlannedTerm),
    scoring: &Scoring<'a>,
) -> Result<Scored<'a>> {
    let weight = match scoring {
        Scoring::Bm25(_) => Weight::new(term.weight),
        Scoring::Impacts(impacts) => Weight::with_impacts(term.weight, *impacts, &term.info)?,
    };
    let bound = match scoring {
        Scoring::Bm25(scorer) => most(scorer, &weight, &term.info),
        Scoring::Impacts(_) => most(&by_impacts(index), &weight, &term.info),
    };
    let list = index.list(&term.info, codec)?;
    let reach = match scoring {
        Scoring::Bm25(scorer) => scorer.reach(&list, &weight),
        Scoring::Impacts(_) => None,
    };
    let scored = Scored::new(term.id, order, Cursor::new(list), weight, bound);
    Ok(Scored { negative: term.negative, reach, ..scored })
}

/// The most that each term of a plan adds to a score.
pub(super) fn bounds(index: &Index, codec: CodecRef<'_>, plan: &Plan, scoring: &Scoring<'_>) -> Result<Vec<f32>> {
    Ok(open(index, codec, plan, scoring)?.iter().map(|term| term.bound).collect())
}

/// The greatest possible part of a term's posting.
fn most(scorer: &impl Scorer, weight: &Weight<'_>, term: &TermInfo) -> f32 {
    match term.place {
        Place::Single { doc } => scorer.part(weight, doc, term.tf_max, 0),
        Place::List { bound, .. } => scorer.bound(weight, bound),
    }
}

/// The scorer by impacts.
fn by_impacts(index: &Index) -> ImpactScorer {
    ImpactScorer { documents: index.lens().len() }
}

/// Records the work of the terms; fails if one of their lists is damaged.
fn close(terms: Vec<Scored<'_>>, top: TopK<'_>, work: &mut Work) -> Result<Vec<Hit>> {
    work.pushed += top.pushed();
    for mut term in terms {
        if let Some(damage) = term.cursor.damage() {
            return Err(damage);
        }
        if let Some(work) = work.terms.get_mut(term.order) {
            work.blocks = term.cursor.list().blocks() as u64;
            work.decoded += term.decoded + u64::from(term.cursor.decoded());
            work.scored += term.scored + term.feed.scored;
            work.table = match term.table {
                None => work.table,
                Some(Found::Made(_)) => TableOf::Memory,
                Some(Found::Stored(..)) => TableOf::Index,
            };
        }
    }
    Ok(top.into_sorted())
}

/// A query and its sources.
pub(super) struct Request<'a> {
    pub(super) index: &'a Index,
    pub(super) codec: CodecRef<'a>,
    pub(super) plan: &'a Plan,
    pub(super) scoring: Scoring<'a>,
    pub(super) tables: &'a Tables<'a>,
    /// The only documents that may be found.
    pub(super) subset: Option<&'a Subset>,
}

/// Gives the terms the tables of their lists, if queries have use for them; true if the terms' reading is to be
/// settled.
fn furnish<'a>(
    index: &Index,
    terms: &mut [Scored<'a>],
    required: bool,
    tables: &Tables<'a>,
    scoring: &Scoring<'_>,
    k: usize,
    when: When,
) -> bool {
    match scoring {
        Scoring::Bm25(scorer) => ranges::furnish(terms, required, tables, scorer, k, when),
        Scoring::Impacts(_) => ranges::furnish(terms, required, tables, &by_impacts(index), k, when),
    }
}

/// Makes the tables that the plan's terms lack, if queries for the best `k` have use for them, even if that does not
/// pay.
pub(super) fn prepare(request: &Request<'_>, required: bool, k: usize) -> Result<()> {
    let Request { index, codec, plan, scoring, tables, .. } = request;
    furnish(index, &mut open(index, *codec, plan, scoring)?, required, tables, scoring, k, When::Now);
    Ok(())
}

/// The best `k` documents that have any term of the plan.
pub(super) fn or(request: &Request<'_>, k: usize, methods: &CpuMethods, work: &mut Work) -> Result<Vec<Hit>> {
    let rank = or::OR.cpu(methods.or)?;
    check_weights(request.plan, rank, &or::OR, methods.or, |rank| rank.negative)?;
    best(request, rank, false, k, methods.topk, work)
}

/// The best `k` documents that have all terms of the plan, which lacks none.
pub(super) fn and(request: &Request<'_>, k: usize, methods: &CpuMethods, work: &mut Work) -> Result<Vec<Hit>> {
    let rank = &and::AND.cpu(methods.intersect)?.rank;
    check_weights(request.plan, rank, &and::AND, methods.intersect, |and| and.rank.negative)?;
    best(request, rank, true, k, methods.topk, work)
}

/// The scores of given documents, ascending: 0 for one without any term of the plan.
pub(super) fn score(request: &Request<'_>, docs: &[u32]) -> Result<Vec<f32>> {
    let Request { index, codec, plan, scoring, .. } = request;
    let mut terms = open(index, *codec, plan, scoring)?;
    let sums = match scoring {
        Scoring::Bm25(scorer) => lookup::sums(&mut terms, docs, scorer),
        Scoring::Impacts(_) => lookup::sums(&mut terms, docs, &by_impacts(index)),
    };
    terms.iter_mut().find_map(|term| term.cursor.damage()).map_or(Ok(()), Err)?;
    Ok(sums.into_iter().map(|(sum, _)| sum).collect())
}

/// Fails if the plan has negative weights and the method takes none; names those that do.
fn check_weights<C, G>(
    plan: &Plan,
    rank: &Rank,
    registry: &Registry<C, G>,
    method: &Method<C, G>,
    takes: fn(&C) -> bool,
) -> Result<()> {
    if rank.negative || !plan.has_negative() {
        return Ok(());
    }
    let others = registry.on(EngineKind::Cpu).filter(|row| row.cpu.as_ref().is_some_and(takes)).map(|row| row.name);
    let others: Vec<_> = others.collect();
    Err(Error::Invalid {
        what: format!("--{} {}", registry.option, method.name),
        why: format!("skips by bounds and takes no negative weights; choose one of {}", others.join(", ")),
    })
}

fn best(
    request: &Request<'_>,
    rank: &Rank,
    required: bool,
    k: usize,
    topk: &TopKMethod,
    work: &mut Work,
) -> Result<Vec<Hit>> {
    let Request { index, codec, plan, scoring, tables, subset } = request;
    let mut terms = open(index, *codec, plan, scoring)?;
    let mut top = TOPK.cpu(topk)?(k, index.input_places()).only(*subset).without(index.deleted());
    // one term is enough for a score, unless others take away from it or are needed as well
    let one_suffices = !plan.has_negative() && (!required || terms.len() == 1);
    if let Scoring::Bm25(scorer) = scoring
        && one_suffices
        && rank.skips()
    {
        top = top.known(terms.iter().map(|term| scorer.least(term, k)).fold(0.0, f32::max));
    }
    if let Some(subset) = subset.filter(|subset| lookup::pays(plan, subset.docs().len())) {
        match scoring {
            Scoring::Bm25(scorer) => lookup::run(&mut terms, subset.docs(), required, scorer, &mut top),
            Scoring::Impacts(_) => lookup::run(&mut terms, subset.docs(), required, &by_impacts(index), &mut top),
        }
        return close(terms, top, work);
    }
    let lacking =
        rank.tables && !plan.has_negative() && furnish(index, &mut terms, required, tables, scoring, k, When::ItPays);
    match scoring {
        Scoring::Bm25(scorer) => (rank.bm25)(&mut terms, scorer, &mut top)?,
        Scoring::Impacts(_) => (rank.impacts)(&mut terms, &by_impacts(index), &mut top)?,
    }
    if lacking {
        tables.settle(&terms);
    }
    close(terms, top, work)
}
