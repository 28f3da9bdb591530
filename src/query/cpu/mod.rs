//! Queries on the CPU: what all methods have in common, and the choice of one.
//!
//! A part of a score is computed in one place, [`Scorer`], and parts are added in the order of the query's terms, in
//! [`Sum`]; bounds are compared with room for the rounding of sums in another order. That is why every method gives the
//! same documents with the same scores, to the last bit.

mod and;
mod or;

pub use or::{OR_METHODS, OrMethod, or_method};

use super::intersect::{self, Intersector, On};
use super::plan::Plan;
use super::topk::{self, Hit, TopK, TopKMethod, TopKOn};
use crate::Result;
use crate::index::{Bound, BoundReader, CodecRef, Cursor, Index, Norm, Place};

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
        Self { or: &or::BLOCK_MAX_MAXSCORE, intersect: &intersect::DAAT, topk: &topk::HEAP }
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
    /// Blocks of docIDs decoded; with mode `and-or`, by either run.
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

/// What turns a posting into a part of a score.
pub(super) struct Scorer<'a> {
    lens: &'a [u32],
    norm: Norm,
    bounds: BoundReader,
}

impl<'a> Scorer<'a> {
    /// For the lengths of all documents.
    pub(super) fn new(lens: &'a [u32], norm: Norm, bounds: BoundReader) -> Self {
        Self { lens, norm, bounds }
    }

    #[inline]
    fn impact(&self, doc: u32, tf: u32) -> f32 {
        // The cursor only gives docIDs below the number of documents, which is the number of lengths.
        self.norm.impact(tf, self.lens.get(doc as usize).copied().unwrap_or(0))
    }
}

/// A term while its query is evaluated.
struct Scored<'a> {
    cursor: Cursor<'a>,
    weight: f32,
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
    fn score(&mut self, scorer: &Scorer<'_>) -> f32 {
        self.scored += 1;
        self.part = self.weight * scorer.impact(self.cursor.doc(), self.cursor.tf());
        self.part
    }

    /// What the posting at a position adds; its docID is `doc`.
    fn score_at(&mut self, doc: u32, position: usize, scorer: &Scorer<'_>) -> f32 {
        self.scored += 1;
        self.weight * scorer.impact(doc, self.cursor.tf_at(position))
    }

    /// What a posting at `doc` can add at most, and the first docID for which that may change.
    #[inline]
    fn bound_at(&mut self, doc: u32, scorer: &Scorer<'_>) -> (f32, u32) {
        let (bound, end): (Bound, u32) = self.cursor.bound_at(doc, &mut self.hint);
        ((self.weight * scorer.bounds.impact(bound)).min(self.bound), end)
    }
}

/// What rounding can make of a sum of `n` parts, as a factor with room to spare.
fn slack(n: usize) -> f32 {
    1.0 + (n as f32 + 4.0) * 2.4e-7
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

/// What the blocks around `doc` can add up to, and the first docID for which that may change.
fn blocks_bound(terms: &mut [Scored<'_>], doc: u32, scorer: &Scorer<'_>) -> (f32, u32) {
    let mut sum = 0.0;
    let mut until = crate::index::END;
    for term in terms {
        let (bound, end) = term.bound_at(doc, scorer);
        sum += bound;
        until = until.min(end);
    }
    (sum, until)
}

/// The terms of a plan on their first postings.
fn open<'a>(index: &'a Index, codec: CodecRef<'a>, plan: &Plan, scorer: &Scorer<'_>) -> Result<Vec<Scored<'a>>> {
    let scored = plan.terms.iter().enumerate().map(|(order, term)| {
        let impact = match term.info.place {
            Place::Single { doc } => scorer.impact(doc, term.info.tf_max),
            Place::List { bound, .. } => scorer.bounds.impact(bound),
        };
        let bound = term.weight * impact;
        let cursor = index.cursor(&term.info, codec)?;
        Ok(Scored { cursor, weight: term.weight, bound, order, hint: 0, part: 0.0, scored: 0 })
    });
    scored.collect()
}

/// Puts down what the terms did; fails if one of their lists is damaged.
fn close(terms: Vec<Scored<'_>>, top: TopK, work: &mut Work) -> Result<Vec<Hit>> {
    work.pushed += top.pushed();
    for mut term in terms {
        if let Some(damage) = term.cursor.damage() {
            return Err(damage);
        }
        if let Some(work) = work.terms.get_mut(term.order) {
            work.blocks = term.cursor.blocks() as u64;
            work.decoded += u64::from(term.cursor.blocks_decoded());
            work.scored += term.scored;
        }
    }
    Ok(top.into_sorted())
}

/// An empty top-k by the method chosen.
fn top(methods: &CpuMethods, k: usize) -> TopK {
    let TopKOn::Cpu(new) = methods.topk.on;
    new(k)
}

/// The best `k` documents that have any term of the plan.
pub(super) fn or(
    index: &Index,
    codec: CodecRef<'_>,
    plan: &Plan,
    k: usize,
    methods: &CpuMethods,
    scorer: &Scorer<'_>,
    work: &mut Work,
) -> Result<Vec<Hit>> {
    let mut terms = open(index, codec, plan, scorer)?;
    let mut top = top(methods, k);
    (methods.or.run.0)(&mut terms, scorer, &mut top);
    close(terms, top, work)
}

/// The best `k` documents that have all terms of the plan, which lacks none.
pub(super) fn and(
    index: &Index,
    codec: CodecRef<'_>,
    plan: &Plan,
    k: usize,
    methods: &CpuMethods,
    scorer: &Scorer<'_>,
    work: &mut Work,
) -> Result<Vec<Hit>> {
    let mut terms = open(index, codec, plan, scorer)?;
    let mut top = top(methods, k);
    let On::Cpu(method) = &methods.intersect.on else {
        return Err(crate::Error::Invalid {
            what: format!("intersector \"{}\"", methods.intersect.name),
            why: "runs on a GPU; choose one that runs on the CPU".to_owned(),
        });
    };
    if method.bounded {
        and::daat(&mut terms, scorer, &mut top);
    } else {
        let lists: Vec<_> = plan.terms.iter().map(|term| index.list(&term.info, codec)).collect::<Result<_>>()?;
        let mut matches = intersect::Matches::with_positions();
        (method.run)(&lists, &mut matches)?;
        and::rank(&mut terms, &matches, scorer, &mut top);
        for (work, decoded) in work.terms.iter_mut().zip(matches.decoded()) {
            work.decoded += decoded;
        }
    }
    close(terms, top, work)
}
