//! Queries: parse, look terms up, evaluate document at a time on the CPU, keep the best k.
//!
//! The score of a document is BM25 with exact lengths: the sum over the query's terms of
//! `count · idf · tf / (tf + K)` with `idf = ln(1 + (N - df + 0.5) / (df + 0.5))` and
//! `K = k1 (1 - b + b · len / avg)`; `count` is how often the term stands in the query. The constant factor
//! `k1 + 1` of the original formula is left out, as Lucene does: it changes no order. Equal scores
//! go by docID, the smaller one first.
//!
//! Every way of evaluating a query adds a document's parts in the order of the query's terms, so all of them
//! give the same scores to the last bit.

mod analysis;
mod daat;
pub mod gpu;
mod topics;
mod topk;

#[cfg(test)]
mod tests;

use crate::index::{Bound, BoundReader, CodecRef, Cursor, Index, Norm, TermInfo};
use crate::{Error, Result};

pub use topics::{Topic, TopicFormat, parse_topics};
pub use topk::{Hit, TopK};

/// Parameters of BM25.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bm25 {
    /// How fast repetitions of a term saturate, 0 to 1,000.
    pub k1: f32,
    /// How much the document's length counts, 0 to 1.
    pub b: f32,
}

impl Default for Bm25 {
    fn default() -> Self {
        Self { k1: crate::index::DEFAULT_K1, b: crate::index::DEFAULT_B }
    }
}

impl Bm25 {
    /// Checks the ranges.
    ///
    /// # Errors
    /// [`Error::Invalid`].
    pub fn checked(self) -> Result<Self> {
        let bad = |what: &str, why: &str| Err(Error::Invalid { what: what.to_owned(), why: why.to_owned() });
        if !(0.0..=1000.0).contains(&self.k1) {
            return bad("--k1", "must be from 0 to 1000");
        }
        if !(0.0..=1.0).contains(&self.b) {
            return bad("--b", "must be from 0 to 1");
        }
        Ok(self)
    }
}

/// Which documents match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Those with all terms; a term that no document has matches none.
    And,
    /// Those with any term.
    Or,
    /// As `and`, but if that finds fewer than k, as `or`.
    AndOr,
}

/// A query after analysis: distinct terms in the order of their first appearance.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    /// Each term and how often it stands in the query.
    pub terms: Vec<(String, u32)>,
}

/// A term of a query that the index has.
#[derive(Clone, Copy, Debug)]
pub struct PlannedTerm {
    /// TermID.
    pub id: u32,
    /// From the dictionary.
    pub info: TermInfo,
    /// count · idf.
    pub weight: f32,
}

/// A query with its terms looked up.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// The terms that the index has, in the order of the query.
    pub terms: Vec<PlannedTerm>,
    /// Terms that no document has.
    pub missing: usize,
}

/// Answers queries from one index with one codec and one set of parameters. Shared between threads.
pub struct Searcher<'a> {
    index: &'a Index,
    codec: CodecRef<'a>,
    norm: Norm,
    bounds: BoundReader,
    analysis: analysis::Analysis,
}

impl<'a> Searcher<'a> {
    /// For an index; `codec` is the codec to read, or `None` for the index's own choice.
    ///
    /// # Errors
    /// [`Error::UnknownName`] for a codec that the index lacks or an analyzer that this gamut lacks, [`Error::Invalid`] for parameters out of range.
    pub fn new(index: &'a Index, codec: Option<&str>, bm25: Bm25) -> Result<Self> {
        let bm25 = bm25.checked()?;
        let norm = index.norm(bm25.k1, bm25.b);
        let longest = index.statistics().longest_document.min(u32::MAX.into()) as u32;
        let bounds = BoundReader::new(index.default_norm(), norm, longest);
        let analysis = analysis::Analysis::new(&index.manifest().analyzer)?;
        Ok(Self { index, codec: index.codec(codec)?, norm, bounds, analysis })
    }

    /// The index.
    pub fn index(&self) -> &'a Index {
        self.index
    }

    /// The codec that is read.
    pub fn codec(&self) -> CodecRef<'a> {
        self.codec
    }

    /// BM25's length norm for its parameters.
    pub fn norm(&self) -> Norm {
        self.norm
    }

    /// Turns stored bounds into bounds for its parameters.
    pub fn bounds(&self) -> BoundReader {
        self.bounds
    }

    /// Analyses the text of a query as the documents were.
    ///
    /// # Errors
    /// [`Error::UnknownName`] if this gamut lacks the index's analyzer.
    pub fn parse(&self, text: &str) -> Result<Query> {
        let mut query = Query::default();
        for term in self.analysis.terms(text)? {
            match query.terms.iter_mut().find(|(known, _)| *known == term) {
                Some((_, count)) => *count += 1,
                None => query.terms.push((term, 1)),
            }
        }
        Ok(query)
    }

    /// Looks the terms of a query up.
    ///
    /// # Errors
    /// [`Error::Damaged`].
    pub fn plan(&self, query: &Query) -> Result<Plan> {
        let mut plan = Plan::default();
        let documents = self.index.statistics().documents as f64;
        for (term, count) in &query.terms {
            match self.index.lookup(term.as_bytes())? {
                Some(id) => {
                    let info = self.index.term(id)?;
                    let df = f64::from(info.df);
                    let idf = (1.0 + (documents - df + 0.5) / (df + 0.5)).ln();
                    plan.terms.push(PlannedTerm { id, info, weight: (f64::from(*count) * idf) as f32 });
                }
                None => plan.missing += 1,
            }
        }
        Ok(plan)
    }

    /// The best `k` documents, best first.
    ///
    /// # Errors
    /// [`Error::Damaged`].
    pub fn search(&self, plan: &Plan, mode: Mode, k: usize) -> Result<Vec<Hit>> {
        if k == 0 || plan.terms.is_empty() {
            return Ok(Vec::new());
        }
        if mode != Mode::Or {
            let all = if plan.missing == 0 { self.run(plan, k, daat::and)? } else { Vec::new() };
            if mode == Mode::And || all.len() >= k {
                return Ok(all);
            }
        }
        self.run(plan, k, daat::or)
    }

    fn run(&self, plan: &Plan, k: usize, evaluate: fn(&mut [Scored<'_>], &Scorer<'_>, &mut TopK)) -> Result<Vec<Hit>> {
        let mut scored = Vec::with_capacity(plan.terms.len());
        let scorer = Scorer { lens: self.index.lens(), norm: self.norm, bounds: self.bounds };
        for (order, term) in plan.terms.iter().enumerate() {
            let cursor = self.index.cursor(&term.info, self.codec)?;
            let impact = match term.info.place {
                crate::index::Place::Single { doc } => scorer.impact(doc, term.info.tf_max),
                crate::index::Place::List { bound, .. } => self.bounds.impact(bound),
            };
            scored.push(Scored { cursor, weight: term.weight, bound: term.weight * impact, order, hint: 0, part: 0.0 });
        }
        let mut top = TopK::new(k);
        evaluate(&mut scored, &scorer, &mut top);
        match scored.iter_mut().find_map(|term| term.cursor.damage()) {
            Some(damage) => Err(damage),
            None => Ok(top.into_sorted()),
        }
    }
}

/// What turns a posting into a share of a score.
struct Scorer<'a> {
    lens: &'a [u32],
    norm: Norm,
    bounds: BoundReader,
}

impl Scorer<'_> {
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
}

impl Scored<'_> {
    /// What the posting that the cursor stands on adds.
    #[inline]
    fn score(&mut self, scorer: &Scorer<'_>) -> f32 {
        self.part = self.weight * scorer.impact(self.cursor.doc(), self.cursor.tf());
        self.part
    }

    /// What a posting at `doc` can add at most, and the first docID for which that may change.
    #[inline]
    fn bound_at(&mut self, doc: u32, scorer: &Scorer<'_>) -> (f32, u32) {
        let (bound, end): (Bound, u32) = self.cursor.bound_at(doc, &mut self.hint);
        ((self.weight * scorer.bounds.impact(bound)).min(self.bound), end)
    }
}
