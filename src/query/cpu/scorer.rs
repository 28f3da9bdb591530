//! The part of a posting in a score: by BM25, or by its quantised impact.
//!
//! Every method is compiled once for each, so none asks per posting.

use super::Scored;
use super::reach::Reach;
use super::simd::{self, Hope};
use crate::Result;
use crate::base::simd::prefetch;
use crate::index::{Impacts, TermInfo};
use crate::postings::{Blocks, List};
use crate::score::whole::MAX_TF;
use crate::score::{Bound, BoundReader, Norm, TermQuantizer, greatest_share, share};

/// How scores are made up.
pub(in crate::query) enum Scoring<'a> {
    /// From frequencies and lengths.
    Bm25(Bm25Scorer<'a>),
    /// From `impacts.bin`.
    Impacts(Impacts<'a>),
}

/// A term's weight.
#[derive(Clone, Copy)]
pub(in crate::query) struct Weight<'a> {
    /// A whole number, as [`crate::query::PlannedTerm::weight`].
    pub(in crate::query) factor: f32,
    /// By impacts: one per posting, and how they were made.
    impacts: &'a [u8],
    quantizer: Option<TermQuantizer>,
}

impl<'a> Weight<'a> {
    /// For BM25.
    pub(in crate::query) fn new(factor: f32) -> Self {
        Self { factor, impacts: &[], quantizer: None }
    }

    /// By impacts.
    pub(in crate::query) fn with_impacts(factor: f32, impacts: Impacts<'a>, term: &TermInfo) -> Result<Self> {
        Ok(Self { factor, impacts: impacts.list(term)?, quantizer: Some(impacts.quantizer().term(term.df)) })
    }
}

/// Turns postings into parts of a score: whole numbers, 1 at least, of which single precision holds all sums.
pub(in crate::query) trait Scorer {
    /// Whether only a posting's position in its list counts, not its frequency or document.
    const BY_POSITION: bool;

    /// Documents of the index.
    fn documents(&self) -> usize;

    /// Prefetches the document's data, without the posting.
    fn prefetch(&self, doc: u32);

    /// The part of one posting.
    fn part(&self, weight: &Weight<'_>, doc: u32, tf: u32, position: usize) -> f32;

    /// The parts of postings, of their documents and frequencies. With [`Self::BY_POSITION`] they are consecutive from
    /// a position of their list on, and there need not be frequencies.
    fn parts(&self, weight: &Weight<'_>, docs: &[u32], tfs: &[u32], at: usize, out: &mut [f32]);

    /// Of consecutive postings as for [`Self::parts`], the documents and parts of at least those that can pass a
    /// threshold. `bound` holds for all of them, and `hope` is that of a document without this posting. Returns how
    /// many there are.
    fn promising(
        &self,
        weight: &Weight<'_>,
        postings: (&[u32], &[u32], usize),
        bound: Bound,
        hope: Hope,
        room: (&mut Vec<u32>, &mut Vec<f32>),
    ) -> u64;

    /// The greatest part of a posting within `bound`.
    fn bound(&self, weight: &Weight<'_>, bound: Bound) -> f32;

    /// Whether only a bound's impact counts.
    fn by_impact(&self) -> bool;

    /// As [`Self::parts`] at a weight of 1, which all queries with the term share, and not rounded.
    fn impacts(
        &self,
        weight: &Weight<'_>,
        list: &mut Blocks<'_>,
        at: usize,
        docs: &[u32],
        out: &mut [f32],
    ) -> Result<()>;

    /// The greatest of these within `bound`.
    fn impact_bound(&self, weight: &Weight<'_>, bound: Bound) -> f32;

    /// How far a part may be from weight times impact, by rounding.
    fn rounding(&self) -> f32;
}

/// BM25 with exact lengths.
pub(in crate::query) struct Bm25Scorer<'a> {
    pub(in crate::query) lens: &'a [u32],
    pub(in crate::query) norm: Norm,
    bounds: BoundReader,
}

impl<'a> Bm25Scorer<'a> {
    /// For the lengths of all documents.
    pub(in crate::query) fn new(lens: &'a [u32], norm: Norm, bounds: BoundReader) -> Self {
        Self { lens, norm, bounds }
    }

    /// The length of a document. The cursor only gives docIDs below the number of documents, which is the number of
    /// lengths.
    #[inline]
    fn len(&self, doc: u32) -> u32 {
        self.lens.get(doc as usize).copied().unwrap_or(0)
    }

    /// What a posting of a term of this weight adds to the score of a document.
    #[inline]
    pub(in crate::query) fn share(&self, weight: f32, doc: u32, tf: u32) -> f32 {
        share(weight, tf, self.norm.k(self.len(doc)))
    }

    /// The least frequency with which a posting within `bound` can bring a document past a threshold.
    ///
    /// A share is at most `W · tf / (tf + K) + 1/2` with the `K` of the shortest document, and it must be more than
    /// `missing`. Solved for the tf, with room for what single precision loses.
    pub(in crate::query) fn least_tf(&self, weight: f32, bound: Bound, hope: Hope) -> u32 {
        let missing = f64::from(hope.threshold) - f64::from(hope.more);
        let part = (missing - 0.5) / f64::from(weight) - 1e-6;
        // Any posting adds 1. A bound of only ones is none.
        if missing < 1.0 || part <= 0.0 || bound == Bound::NONE {
            return 1;
        }
        let k = f64::from(self.norm.k(bound.len_min()));
        let least = if part < 1.0 { k * part / (1.0 - part) * (1.0 - 1e-6) } else { f64::INFINITY };
        // A greater tf counts as the greatest.
        (least as u32).saturating_add(1).min(MAX_TF)
    }

    /// A score that `k` documents reach by this term alone; 0 if none is known.
    pub(in crate::query) fn least(&self, term: &Scored<'_>, k: usize) -> f32 {
        term.cursor.list().thresholds().least_share(term.weight.factor, k, &self.bounds)
    }

    /// What a term's list can add near a document, if it has bounds of ranges.
    pub(in crate::query) fn reach<'b>(&self, list: &List<'b>, weight: &Weight<'_>) -> Option<Reach<'b>> {
        list.range_bounds().map(|bounds| Reach::new(bounds, weight.factor, self.bounds.greatest_ratio()))
    }

    /// Does something to consecutive postings and their frequencies, some at a time.
    #[inline(always)]
    fn each(
        list: &mut Blocks<'_>,
        at: usize,
        docs: &[u32],
        out: &mut [f32],
        mut run: impl FnMut(&[u32], &[u32], &mut [f32]),
    ) -> Result<()> {
        let mut done = 0;
        while done < docs.len() {
            let tfs = list.tfs_from(at + done)?;
            let n = tfs.len().min(docs.len() - done);
            run(&docs[done..done + n], &tfs[..n], &mut out[done..done + n]);
            done += n;
        }
        Ok(())
    }
}

impl Scorer for Bm25Scorer<'_> {
    const BY_POSITION: bool = false;

    fn documents(&self) -> usize {
        self.lens.len()
    }

    #[inline(always)]
    fn prefetch(&self, doc: u32) {
        prefetch(self.lens.get(doc as usize..).unwrap_or(&[]), 1);
    }

    #[inline]
    fn part(&self, weight: &Weight<'_>, doc: u32, tf: u32, _: usize) -> f32 {
        self.share(weight.factor, doc, tf)
    }

    #[inline(always)]
    fn parts(&self, weight: &Weight<'_>, docs: &[u32], tfs: &[u32], _: usize, out: &mut [f32]) {
        simd::score(self, weight.factor, docs, tfs, out);
    }

    #[inline(always)]
    fn promising(
        &self,
        weight: &Weight<'_>,
        (docs, tfs, _): (&[u32], &[u32], usize),
        bound: Bound,
        hope: Hope,
        (some, parts): (&mut Vec<u32>, &mut Vec<f32>),
    ) -> u64 {
        let least = self.least_tf(weight.factor, bound, hope);
        simd::promising(self, weight.factor, (docs, tfs), least, (some, parts));
        some.len() as u64
    }

    fn impacts(&self, _: &Weight<'_>, list: &mut Blocks<'_>, at: usize, docs: &[u32], out: &mut [f32]) -> Result<()> {
        Self::each(list, at, docs, out, |docs, tfs, out| {
            for ((impact, &doc), &tf) in out.iter_mut().zip(docs).zip(tfs) {
                *impact = self.norm.impact(tf.min(MAX_TF), self.len(doc));
            }
        })
    }

    fn impact_bound(&self, _: &Weight<'_>, bound: Bound) -> f32 {
        self.bounds.impact(bound)
    }

    fn rounding(&self) -> f32 {
        0.5
    }

    #[inline]
    fn by_impact(&self) -> bool {
        self.bounds.by_impact()
    }

    #[inline]
    fn bound(&self, weight: &Weight<'_>, bound: Bound) -> f32 {
        greatest_share(weight.factor, self.bounds.impact(bound))
    }
}

/// Quantised impacts.
pub(in crate::query) struct ImpactScorer {
    /// Documents of the index.
    pub(in crate::query) documents: usize,
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

    fn parts(&self, weight: &Weight<'_>, docs: &[u32], _: &[u32], at: usize, out: &mut [f32]) {
        // There is an impact for each position of the list.
        let impacts = weight.impacts.get(at..at + docs.len()).unwrap_or(&[]);
        out.iter_mut().zip(impacts).for_each(|(part, &impact)| *part = weight.factor * f32::from(impact));
    }

    fn promising(
        &self,
        weight: &Weight<'_>,
        (docs, tfs, at): (&[u32], &[u32], usize),
        _: Bound,
        _: Hope,
        (some, parts): (&mut Vec<u32>, &mut Vec<f32>),
    ) -> u64 {
        some.clear();
        some.extend_from_slice(docs);
        parts.clear();
        parts.resize(docs.len(), 0.0);
        self.parts(weight, docs, tfs, at, parts);
        docs.len() as u64
    }

    fn impacts(
        &self,
        weight: &Weight<'_>,
        list: &mut Blocks<'_>,
        at: usize,
        docs: &[u32],
        out: &mut [f32],
    ) -> Result<()> {
        let impacts = weight.impacts.get(at..at + docs.len());
        let impacts: &[u8] = impacts.ok_or_else(|| list.bad_tf(at))?;
        out.iter_mut().zip(impacts).for_each(|(part, &impact)| *part = f32::from(impact));
        Ok(())
    }

    fn impact_bound(&self, weight: &Weight<'_>, bound: Bound) -> f32 {
        f32::from(weight.quantizer.map_or(u8::MAX, |quantizer| quantizer.bound(bound)))
    }

    fn rounding(&self) -> f32 {
        0.0
    }

    fn by_impact(&self) -> bool {
        false
    }

    #[inline]
    fn bound(&self, weight: &Weight<'_>, bound: Bound) -> f32 {
        weight.factor * self.impact_bound(weight, bound)
    }
}
