//! Queries on the CPU: what all methods have in common, and the choice of one.
//!
//! A part of a score is computed in one place, `scorer`, and parts are added in the order of the query's terms, in
//! `Sum`; bounds are compared with room for the rounding of sums in another order. That is why every method gives the
//! same documents with the same scores, to the last bit.

mod and;
mod feed;
mod or;
mod probe;
mod ranges;
mod scorer;
mod simd;
mod survivors;

pub use or::{OR_METHODS, OrMethod, or_method};
pub(super) use ranges::Tables;
pub(super) use scorer::{Bm25Scorer, Scoring};

use feed::Feed;
use probe::Probe;
use ranges::{Table, When};
use scorer::{ImpactScorer, Scorer, Weight};

use super::intersect::{self, Intersector, On, Ranking};
use super::plan::Plan;
use super::topk::{self, Hit, TopK, TopKMethod};
use crate::Result;
use crate::index::{Bound, CodecRef, Cursor, Index, Place, TermInfo};
use std::sync::Arc;

/// Which method does what.
#[derive(Clone, Copy)]
pub struct CpuMethods {
    /// Documents that have any term.
    pub or: &'static OrMethod,
    /// Documents that have all terms.
    pub intersect: &'static Intersector,
    /// Keeping the best.
    pub topk: &'static TopKMethod,
}

impl Default for CpuMethods {
    /// The fastest.
    fn default() -> Self {
        Self { or: &or::RANGES, intersect: &intersect::RANGES, topk: &topk::HEAP }
    }
}

/// How much work a query was.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Work {
    /// Per term, in the order of the plan.
    pub terms: Vec<TermWork>,
    /// Documents that were considered for the best k with their whole score.
    pub pushed: u64,
}

/// How much work the list of one term was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct TermWork {
    /// Blocks of the list; the others than those decoded were skipped. A term with one document has one, which is never
    /// decoded: the posting lies in the dictionary.
    pub blocks: u64,
    /// Blocks of docIDs decoded; with mode `and-or`, by either run. Reading a list once to make its table does not count.
    pub decoded: u64,
    /// Postings whose part of a score was computed.
    pub scored: u64,
}

impl Work {
    /// None, for so many terms.
    pub(super) fn new(terms: usize) -> Self {
        Self { terms: vec![TermWork::default(); terms], pushed: 0 }
    }
}

/// A term while its query is evaluated.
struct Scored<'a> {
    /// For a document at a time.
    cursor: Cursor<'a>,
    /// For a window of documents at a time, to read all of them or to look some up.
    feed: Feed<'a>,
    probe: Probe<'a>,
    /// Of a long list, once it is made, for the methods that use it.
    table: Option<Arc<Table>>,
    /// TermID.
    id: u32,
    weight: Weight<'a>,
    /// No posting adds more than this.
    bound: f32,
    /// Its place in the query.
    order: usize,
    /// Where the last look at a block's bound ended.
    hint: usize,
    /// What it adds to the current document.
    part: f32,
    /// Postings scored.
    scored: u64,
}

impl Scored<'_> {
    /// What the posting that the cursor stands on adds.
    #[inline]
    fn score<S: Scorer>(&mut self, scorer: &S) -> f32 {
        self.scored += 1;
        let tf = if S::BY_POSITION { 0 } else { self.cursor.tf() };
        self.part = scorer.part(&self.weight, self.cursor.doc(), tf, self.cursor.position());
        self.part
    }

    /// What the posting at a position adds; its docID is `doc`.
    fn score_at<S: Scorer>(&mut self, doc: u32, position: usize, scorer: &S) -> f32 {
        self.scored += 1;
        let tf = if S::BY_POSITION { 0 } else { self.cursor.tf_at(position) };
        scorer.part(&self.weight, doc, tf, position)
    }

    /// What a posting at `doc` can add at most, and the first docID for which that may change.
    #[inline]
    fn bound_at(&mut self, doc: u32, scorer: &impl Scorer) -> (f32, u32) {
        let (bound, end): (Bound, u32) = self.cursor.bound_at(doc, &mut self.hint);
        (scorer.bound(&self.weight, bound).min(self.bound), end)
    }
}

/// Adds parts in the order of the query, whatever order they come in.
struct Sum {
    by_order: Vec<f32>,
}

impl Sum {
    fn new(terms: usize) -> Self {
        Self { by_order: vec![0.0; terms] }
    }

    /// The sum of the parts of all terms.
    fn of(&mut self, terms: &[Scored<'_>]) -> f32 {
        for term in terms {
            self.by_order[term.order] = term.part;
        }
        self.by_order.iter().sum()
    }

    /// Forgets what was put.
    fn clear(&mut self) {
        self.by_order.fill(0.0);
    }

    /// One part for [`Self::take`].
    fn put(&mut self, order: usize, part: f32) {
        self.by_order[order] = part;
    }

    /// The sum of the parts put since the last time; one that was not put is 0, which changes no sum.
    fn take(&mut self) -> f32 {
        let sum = self.by_order.iter().sum();
        self.by_order.fill(0.0);
        sum
    }
}

/// The terms of a plan on their first postings.
fn open<'a>(index: &'a Index, codec: CodecRef<'a>, plan: &Plan, scoring: &Scoring<'a>) -> Result<Vec<Scored<'a>>> {
    let scored = plan.terms.iter().enumerate().map(|(order, term)| {
        let weight = match scoring {
            Scoring::Bm25(_) => Weight::new(term.weight),
            Scoring::Impacts(impacts) => Weight::with_impacts(term.weight, *impacts, &term.info)?,
        };
        let bound = match scoring {
            Scoring::Bm25(scorer) => most(scorer, &weight, &term.info),
            Scoring::Impacts(_) => most(&by_impacts(index), &weight, &term.info),
        };
        let list = index.list(&term.info, codec)?;
        let probe = Probe::new(list.clone(), weight);
        let (cursor, feed) = (Cursor::new(list.clone()), Feed::new(list, weight));
        Ok(Scored {
            cursor,
            feed,
            probe,
            weight,
            bound,
            order,
            hint: 0,
            part: 0.0,
            scored: 0,
            table: None,
            id: term.id,
        })
    });
    scored.collect()
}

/// What each term of a plan adds to a score at most.
pub(super) fn bounds(index: &Index, codec: CodecRef<'_>, plan: &Plan, scoring: &Scoring<'_>) -> Result<Vec<f32>> {
    Ok(open(index, codec, plan, scoring)?.iter().map(|term| term.bound).collect())
}

/// What no posting of a term exceeds.
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

/// Puts down what the terms did; fails if one of their lists is damaged.
fn close(terms: Vec<Scored<'_>>, top: TopK, work: &mut Work) -> Result<Vec<Hit>> {
    work.pushed += top.pushed();
    for mut term in terms {
        if let Some(damage) = term.feed.damage.take().or(term.probe.damage.take()).or_else(|| term.cursor.damage()) {
            return Err(damage);
        }
        if let Some(work) = work.terms.get_mut(term.order) {
            work.blocks = term.cursor.blocks() as u64;
            work.decoded += u64::from(term.cursor.blocks_decoded() + term.feed.decoded + term.probe.decoded);
            work.scored += term.scored + term.feed.scored + term.probe.scored;
        }
    }
    Ok(top.into_sorted())
}

/// A query, and what it is answered from.
pub(super) struct Request<'a> {
    pub(super) index: &'a Index,
    pub(super) codec: CodecRef<'a>,
    pub(super) plan: &'a Plan,
    pub(super) scoring: Scoring<'a>,
    pub(super) tables: &'a Tables,
}

/// Gives the terms the tables of their lists, if queries have use for them; true if what they read is to be settled.
fn furnish(
    index: &Index,
    terms: &mut [Scored<'_>],
    required: bool,
    tables: &Tables,
    scoring: &Scoring<'_>,
    k: usize,
    when: When,
) -> bool {
    match scoring {
        Scoring::Bm25(scorer) => ranges::furnish(terms, required, tables, scorer, k, when),
        Scoring::Impacts(_) => ranges::furnish(terms, required, tables, &by_impacts(index), k, when),
    }
}

/// Makes the tables that the plan's terms lack, if queries for the best `k` have use for them, whether that pays or not.
pub(super) fn prepare(request: &Request<'_>, required: bool, k: usize) -> Result<()> {
    let Request { index, codec, plan, scoring, tables } = request;
    furnish(index, &mut open(index, *codec, plan, scoring)?, required, tables, scoring, k, When::Now);
    Ok(())
}

/// The best `k` documents that have any term of the plan.
pub(super) fn or(request: &Request<'_>, k: usize, methods: &CpuMethods, work: &mut Work) -> Result<Vec<Hit>> {
    let Request { index, codec, plan, scoring, tables } = request;
    let mut terms = open(index, *codec, plan, scoring)?;
    let mut top = methods.topk.on_cpu(k)?;
    let lacking = methods.or.run.tables && furnish(index, &mut terms, false, tables, scoring, k, When::ItPays);
    match scoring {
        Scoring::Bm25(scorer) => (methods.or.run.bm25)(&mut terms, scorer, &mut top),
        Scoring::Impacts(_) => (methods.or.run.impacts)(&mut terms, &by_impacts(index), &mut top),
    }
    if lacking {
        tables.settle(&terms);
    }
    close(terms, top, work)
}

/// The best `k` documents that have all terms of the plan, which lacks none.
pub(super) fn and(request: &Request<'_>, k: usize, methods: &CpuMethods, work: &mut Work) -> Result<Vec<Hit>> {
    let Request { index, codec, plan, scoring, tables } = request;
    let mut terms = open(index, *codec, plan, scoring)?;
    let mut top = methods.topk.on_cpu(k)?;
    let On::Cpu(method) = &methods.intersect.on else {
        return Err(crate::Error::Invalid {
            what: format!("intersector \"{}\"", methods.intersect.name),
            why: "runs on a GPU; choose one that runs on the CPU".to_owned(),
        });
    };
    let lacking =
        method.ranking == Ranking::ByRanges && furnish(index, &mut terms, true, tables, scoring, k, When::ItPays);
    if terms.iter().any(|term| term.table.is_some()) {
        match scoring {
            Scoring::Bm25(scorer) => ranges::run(&mut terms, true, scorer, &mut top),
            Scoring::Impacts(_) => ranges::run(&mut terms, true, &by_impacts(index), &mut top),
        }
    } else if method.ranking != Ranking::Afterwards {
        match scoring {
            Scoring::Bm25(scorer) => and::daat(&mut terms, scorer, &mut top),
            Scoring::Impacts(_) => and::daat(&mut terms, &by_impacts(index), &mut top),
        }
        if lacking {
            tables.settle(&terms);
        }
    } else {
        let lists: Vec<_> = plan.terms.iter().map(|term| index.list(&term.info, *codec)).collect::<Result<_>>()?;
        let mut matches = intersect::Matches::with_positions();
        (method.run)(&lists, &mut matches)?;
        match scoring {
            Scoring::Bm25(scorer) => and::rank(&mut terms, &matches, scorer, &mut top),
            Scoring::Impacts(_) => and::rank(&mut terms, &matches, &by_impacts(index), &mut top),
        }
        for (work, decoded) in work.terms.iter_mut().zip(matches.decoded()) {
            work.decoded += decoded;
        }
    }
    close(terms, top, work)
}
