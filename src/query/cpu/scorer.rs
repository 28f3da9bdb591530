//! What a posting adds to a score: by BM25, or by its quantised impact.
//!
//! Every method is compiled once for each, so that none of them asks for a posting which it is.

use super::Scored;
use crate::Result;
use crate::index::{Bound, BoundReader, Impacts, Norm, Place, TermInfo, TermQuantizer};

/// How scores are made up.
pub(in crate::query) enum Scoring<'a> {
    /// From frequencies and lengths.
    Bm25(Bm25Scorer<'a>),
    /// From `impacts.bin`.
    Impacts(Impacts<'a>),
}

/// Turns postings into parts of a score, less the weight of their term.
pub(super) trait Scorer {
    /// That of the posting that the cursor stands on.
    fn share(&self, term: &mut Scored<'_>) -> f32;

    /// That of the posting at a position; its docID is `doc`.
    fn share_at(&self, term: &mut Scored<'_>, doc: u32, position: usize) -> f32;

    /// What no posting within `bound` exceeds.
    fn bound(&self, term: &Scored<'_>, bound: Bound) -> f32;

    /// What rounding can make of a sum of `n` parts in another order, as a factor with room to spare.
    fn slack(&self, n: usize) -> f32;
}

/// BM25 with exact lengths.
pub(in crate::query) struct Bm25Scorer<'a> {
    lens: &'a [u32],
    norm: Norm,
    bounds: BoundReader,
}

impl<'a> Bm25Scorer<'a> {
    /// For the lengths of all documents.
    pub(in crate::query) fn new(lens: &'a [u32], norm: Norm, bounds: BoundReader) -> Self {
        Self { lens, norm, bounds }
    }

    #[inline]
    fn impact(&self, doc: u32, tf: u32) -> f32 {
        // The cursor only gives docIDs below the number of documents, which is the number of lengths.
        self.norm.impact(tf, self.lens.get(doc as usize).copied().unwrap_or(0))
    }

    /// What no posting of a term exceeds.
    pub(super) fn most(&self, term: &TermInfo) -> f32 {
        match term.place {
            Place::Single { doc } => self.impact(doc, term.tf_max),
            Place::List { bound, .. } => self.bounds.impact(bound),
        }
    }
}

impl Scorer for Bm25Scorer<'_> {
    #[inline]
    fn share(&self, term: &mut Scored<'_>) -> f32 {
        self.impact(term.cursor.doc(), term.cursor.tf())
    }

    #[inline]
    fn share_at(&self, term: &mut Scored<'_>, doc: u32, position: usize) -> f32 {
        self.impact(doc, term.cursor.tf_at(position))
    }

    #[inline]
    fn bound(&self, _: &Scored<'_>, bound: Bound) -> f32 {
        self.bounds.impact(bound)
    }

    fn slack(&self, n: usize) -> f32 {
        1.0 + (n as f32 + 4.0) * 2.4e-7
    }
}

/// The impacts of one term.
#[derive(Clone, Copy, Default)]
pub(super) struct TermImpacts<'a> {
    /// One per posting; none where scores are not made up of them.
    bytes: &'a [u8],
    quantizer: Option<TermQuantizer>,
}

/// Quantised impacts. Their sums are integers that single precision holds exactly, as [`crate::query::Searcher::plan`] makes
/// sure, so neither the order of adding nor rounding matters.
pub(super) struct ImpactScorer;

impl<'a> TermImpacts<'a> {
    /// Those of one term.
    pub(super) fn new(impacts: Impacts<'a>, term: &TermInfo) -> Result<Self> {
        Ok(Self { bytes: impacts.list(term)?, quantizer: Some(impacts.quantizer().term(term.df)) })
    }
}

impl ImpactScorer {
    #[inline]
    fn at(term: &Scored<'_>, position: usize) -> f32 {
        // Cursors stand on postings of the list, and there is an impact for each of those.
        f32::from(term.impacts.bytes.get(position).copied().unwrap_or(0))
    }
}

impl Scorer for ImpactScorer {
    #[inline]
    fn share(&self, term: &mut Scored<'_>) -> f32 {
        Self::at(term, term.cursor.position())
    }

    #[inline]
    fn share_at(&self, term: &mut Scored<'_>, _: u32, position: usize) -> f32 {
        Self::at(term, position)
    }

    #[inline]
    fn bound(&self, term: &Scored<'_>, bound: Bound) -> f32 {
        f32::from(term.impacts.quantizer.map_or(u8::MAX, |quantizer| quantizer.bound(bound)))
    }

    fn slack(&self, _: usize) -> f32 {
        1.0
    }
}
