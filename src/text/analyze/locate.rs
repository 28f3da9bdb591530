//! Where the terms of a text stand in it.

use super::adapter::Tokens;
use super::{AnalyzerSpec, Pipeline};
use crate::Result;
use crate::text::MAX_TERM_BYTES;
use std::ops::Range;

/// Finds the places of terms: the same terms as [`super::Analyzer`] gives, an order of magnitude slower.
pub struct Locator(Box<dyn Tokens>);

impl Locator {
    /// For the analyzer that `spec` describes.
    ///
    /// # Errors
    /// As [`Pipeline::new`].
    pub fn new(spec: &AnalyzerSpec) -> Result<Self> {
        match spec.tokenizer.tokens() {
            Some(tokens) => Ok(Self(tokens)),
            None => Ok(Self(Box::new(Pipeline::new(spec)?))),
        }
    }

    /// Calls `found` with each term of `text`, in order, and the bytes of `text` that it stands at: whole characters.
    /// (A term of a tokenizer that the caller brought is left out if it says to stand elsewhere.)
    pub fn each(&mut self, text: &str, mut found: impl FnMut(&str, Range<usize>)) {
        self.0.each(text, &mut |term, range| {
            if !term.is_empty() && term.len() <= MAX_TERM_BYTES && text.get(range.clone()).is_some() {
                found(term, range);
            }
        });
    }
}
