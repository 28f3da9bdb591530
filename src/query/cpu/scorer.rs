//! What a posting adds to a score: by BM25, or by its quantised impact.
//!
//! Every method is compiled once for each, so that none of them asks for a posting which it is.

use super::simd;
use crate::Result;
use crate::codec::bits::UNPACKED;
use crate::index::{Bound, BoundReader, Impacts, ListWords, Norm, TermInfo, TermQuantizer, tf};

/// How scores are made up.
pub(in crate::query) enum Scoring<'a> {
    /// From frequencies and lengths.
    Bm25(Bm25Scorer<'a>),
    /// From `impacts.bin`.
    Impacts(Impacts<'a>),
}

/// What a term has to do with it.
#[derive(Clone, Copy)]
pub(super) struct Weight<'a> {
    /// count · idf; by impacts, count.
    pub(super) factor: f32,
    /// By impacts: one per posting, and how they were made.
    impacts: &'a [u8],
    quantizer: Option<TermQuantizer>,
}

impl<'a> Weight<'a> {
    /// For BM25.
    pub(super) fn new(factor: f32) -> Self {
        Self { factor, impacts: &[], quantizer: None }
    }

    /// By impacts.
    pub(super) fn with_impacts(factor: f32, impacts: Impacts<'a>, term: &TermInfo) -> Result<Self> {
        Ok(Self { factor, impacts: impacts.list(term)?, quantizer: Some(impacts.quantizer().term(term.df)) })
    }
}

impl Weight<'_> {
    /// The same with a factor of 1: what all queries with the term have in common.
    pub(super) fn unit(&self) -> Self {
        Self { factor: 1.0, ..*self }
    }
}

/// Turns postings into parts of a score.
pub(super) trait Scorer {
    /// Whether a posting's position in its list is all that counts, and neither its frequency nor its document does.
    const BY_POSITION: bool;

    /// Documents of the index.
    fn documents(&self) -> usize;

    /// Asks for what the part of a document is made of, beside the posting.
    fn prefetch(&self, doc: u32);

    /// The part of one posting.
    fn part(&self, weight: &Weight<'_>, doc: u32, tf: u32, position: usize) -> f32;

    /// The parts of consecutive postings, from a position of their list on; `docs` are their documents.
    fn parts(&self, weight: &Weight<'_>, list: &ListWords<'_>, at: usize, docs: &[u32], out: &mut [f32]) -> Result<()>;

    /// The parts of postings here and there: their documents and frequencies, which count only without
    /// [`Self::BY_POSITION`], and their positions less `start`.
    fn scattered(&self, weight: &Weight<'_>, docs: &[u32], tfs: &[u32], start: usize, places: &[u32], out: &mut [f32]);

    /// What no posting within `bound` exceeds.
    fn bound(&self, weight: &Weight<'_>, bound: Bound) -> f32;

    /// What rounding can make of a sum of `n` parts in another order, as a factor with room to spare.
    fn slack(&self, n: usize) -> f32;
}

/// BM25 with exact lengths.
pub(in crate::query) struct Bm25Scorer<'a> {
    pub(super) lens: &'a [u32],
    pub(super) norm: Norm,
    bounds: BoundReader,
}

impl<'a> Bm25Scorer<'a> {
    /// For the lengths of all documents.
    pub(in crate::query) fn new(lens: &'a [u32], norm: Norm, bounds: BoundReader) -> Self {
        Self { lens, norm, bounds }
    }

    #[inline]
    pub(super) fn impact(&self, doc: u32, tf: u32) -> f32 {
        // The cursor only gives docIDs below the number of documents, which is the number of lengths.
        self.norm.impact(tf, self.lens.get(doc as usize).copied().unwrap_or(0))
    }
}

impl Scorer for Bm25Scorer<'_> {
    const BY_POSITION: bool = false;

    fn documents(&self) -> usize {
        self.lens.len()
    }

    #[inline(always)]
    fn prefetch(&self, doc: u32) {
        simd::prefetch(self.lens.get(doc as usize..).unwrap_or(&[]), 1);
    }

    #[inline]
    fn part(&self, weight: &Weight<'_>, doc: u32, tf: u32, _: usize) -> f32 {
        weight.factor * self.impact(doc, tf)
    }

    fn parts(&self, weight: &Weight<'_>, list: &ListWords<'_>, at: usize, docs: &[u32], out: &mut [f32]) -> Result<()> {
        let mut tfs = [0; UNPACKED];
        let mut done = 0;
        while done < docs.len() {
            // Blocks of frequencies have a length of their own.
            let position = at + done;
            let skip = position % tf::BLOCK;
            let n = (tf::BLOCK - skip).min(docs.len() - done);
            let decoded = list.tf.block(position / tf::BLOCK).and_then(|block| block.decode(&mut tfs));
            let tfs = tfs.get(skip..skip + n).filter(|_| decoded.is_some_and(|len| skip + n <= len));
            let tfs = tfs.ok_or_else(|| list.bad_tf(position))?;
            simd::score(self, weight.factor, &docs[done..done + n], tfs, &mut out[done..done + n]);
            done += n;
        }
        Ok(())
    }

    fn scattered(&self, weight: &Weight<'_>, docs: &[u32], tfs: &[u32], _: usize, _: &[u32], out: &mut [f32]) {
        simd::score(self, weight.factor, docs, tfs, out);
    }

    #[inline]
    fn bound(&self, weight: &Weight<'_>, bound: Bound) -> f32 {
        weight.factor * self.bounds.impact(bound)
    }

    fn slack(&self, n: usize) -> f32 {
        1.0 + (n as f32 + 4.0) * 2.4e-7
    }
}

/// Quantised impacts. Their sums are integers that single precision holds exactly, as [`crate::query::Searcher::plan`] makes
/// sure, so neither the order of adding nor rounding matters.
pub(super) struct ImpactScorer {
    /// Documents of the index.
    pub(super) documents: usize,
}

impl Scorer for ImpactScorer {
    const BY_POSITION: bool = true;

    fn documents(&self) -> usize {
        self.documents
    }

    fn prefetch(&self, _: u32) {}

    #[inline]
    fn part(&self, weight: &Weight<'_>, _: u32, _: u32, position: usize) -> f32 {
        // There is an impact for each position of the list.
        weight.factor * f32::from(weight.impacts.get(position).copied().unwrap_or(0))
    }

    fn parts(&self, weight: &Weight<'_>, list: &ListWords<'_>, at: usize, docs: &[u32], out: &mut [f32]) -> Result<()> {
        let impacts = weight.impacts.get(at..at + docs.len());
        let impacts: &[u8] = impacts.ok_or_else(|| list.bad_tf(at))?;
        for (part, &impact) in out.iter_mut().zip(impacts) {
            *part = weight.factor * f32::from(impact);
        }
        Ok(())
    }

    fn scattered(&self, weight: &Weight<'_>, _: &[u32], _: &[u32], start: usize, places: &[u32], out: &mut [f32]) {
        for (part, &place) in out.iter_mut().zip(places) {
            *part = self.part(weight, 0, 0, start + place as usize);
        }
    }

    #[inline]
    fn bound(&self, weight: &Weight<'_>, bound: Bound) -> f32 {
        weight.factor * f32::from(weight.quantizer.map_or(u8::MAX, |quantizer| quantizer.bound(bound)))
    }

    fn slack(&self, _: usize) -> f32 {
        1.0
    }
}
