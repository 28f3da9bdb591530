//! A term's weight, and shares of scores in 8 bits ([`crate::index::impacts`] says how they are made and stored).

use super::bound::{Bound, Norm};
use crate::base::random::ln;

/// The greatest impact.
pub const MAX_IMPACT: u8 = 255;

/// BM25's weight of a term in `df` of `documents` documents.
pub fn idf(documents: u64, df: impl Into<u64>) -> f64 {
    let (documents, df) = (documents as f64, df.into() as f64);
    ln(1.0 + (documents - df + 0.5) / (df + 0.5))
}

/// Turns postings of one index into impacts, by the module's formula.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantizer {
    documents: u64,
    norm: Norm,
    step: f32,
    weights: bool,
}

impl Quantizer {
    /// For an index of `documents` documents whose greatest share of a score is `maximum`, above 0; `norm` is for the
    /// default parameters.
    pub(crate) fn new(documents: u64, norm: Norm, maximum: f32) -> Self {
        Self { documents, norm, step: maximum / f32::from(MAX_IMPACT), weights: false }
    }

    /// For an index whose frequencies are impacts already: they are taken as they are.
    pub(crate) fn of_weights(documents: u64, norm: Norm) -> Self {
        Self { documents, norm, step: 1.0, weights: true }
    }

    /// What an impact of 1 stands for: a sum of impacts times this is about the BM25 score.
    pub fn step(&self) -> f32 {
        self.step
    }

    /// For the postings of a term in `df` documents.
    pub fn term(&self, df: u32) -> TermQuantizer {
        TermQuantizer { norm: self.norm, factor: idf(self.documents, df) as f32 / self.step, weights: self.weights }
    }
}

/// Turns the postings of one term into impacts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TermQuantizer {
    norm: Norm,
    factor: f32,
    weights: bool,
}

impl TermQuantizer {
    /// The impact of a posting: `tf` occurrences in a document of `len` tokens.
    #[inline]
    pub fn impact(self, tf: u32, len: u32) -> u8 {
        if self.weights { whole(tf) } else { self.quantize(self.norm.impact(tf, len)) }
    }

    /// An impact that no posting within `bound` exceeds.
    #[inline]
    pub fn bound(self, bound: Bound) -> u8 {
        if self.weights { whole(bound.tf_max()) } else { self.quantize(bound.impact()) }
    }

    #[inline]
    fn quantize(self, saturation: f32) -> u8 {
        // The cast rounds down and saturates at 255.
        ((saturation * self.factor + 0.5) as u8).max(1)
    }
}

/// A weight of 1 to 255; a bound may be greater.
fn whole(weight: u32) -> u8 {
    u8::try_from(weight).unwrap_or(MAX_IMPACT)
}
