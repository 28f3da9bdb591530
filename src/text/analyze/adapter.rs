//! Any tokenizer of tantivy's API as an analyzer.

use super::AnalyzerSpec;
use super::registry::find;
use crate::text::{MAX_TERM_BYTES, READABLE_AFTER_TERM};
use crate::{Error, Result};
use std::ops::Range;
use std::sync::Arc;
use tantivy_tokenizer_api::{TokenStream, Tokenizer};

/// A tokenizer of whatever type.
pub(super) trait Tokens: Send {
    /// Calls `token` with the text of each token, in order, and where it says to stand in `text`.
    fn each(&mut self, text: &str, token: &mut dyn FnMut(&str, Range<usize>));
}

impl<T: Tokenizer> Tokens for T {
    fn each(&mut self, text: &str, found: &mut dyn FnMut(&str, Range<usize>)) {
        let mut stream = self.token_stream(text);
        while stream.advance() {
            let token = stream.token();
            found(&token.text, token.offset_from..token.offset_to);
        }
    }
}

/// A tokenizer that an [`AnalyzerSpec`] brings along, if it does.
#[derive(Clone, Default)]
pub struct Brought(Option<Arc<dyn Fn() -> Box<dyn Tokens> + Send + Sync>>);

impl Brought {
    /// True if there is one.
    pub fn is_some(&self) -> bool {
        self.0.is_some()
    }

    /// One more of it.
    pub(super) fn tokens(&self) -> Option<Box<dyn Tokens>> {
        self.0.as_ref().map(|make| make())
    }
}

impl std::fmt::Debug for Brought {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str(if self.0.is_some() { "a tokenizer" } else { "none" })
    }
}

/// What the manifest records decides, and a tokenizer has no record but its name.
impl PartialEq for Brought {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Brought {}

impl AnalyzerSpec {
    /// An analyzer whose terms are the tokens of `tokenizer`, each as it is. Empty tokens are left out, and those over
    /// [`MAX_TERM_BYTES`] are dropped and counted. Offsets, positions and lengths of position are not used.
    ///
    /// The manifest records the name only: a [`Searcher`](crate::query::Searcher) for such an index is made with a
    /// specification of the same name.
    ///
    /// # Errors
    /// [`Error::Invalid`] if an analyzer of gamut has the name.
    pub fn of_tokenizer<T: Tokenizer>(name: &str, tokenizer: T) -> Result<Self> {
        if find(name).is_ok() {
            return Err(Error::Invalid {
                what: format!("the analyzer \"{name}\" of a tokenizer"),
                why: "gamut has an analyzer of this name; choose another".to_owned(),
            });
        }
        let make = move || Box::new(tokenizer.clone()) as Box<dyn Tokens>;
        let tokenizer = Brought(Some(Arc::new(make)));
        Ok(Self { unicode: None, tokenizer, ..Self::named(name) })
    }
}

/// Hands on the tokens of a tokenizer.
pub(super) struct Adapter {
    tokens: Box<dyn Tokens>,
    padded: Box<[u8; MAX_TERM_BYTES + READABLE_AFTER_TERM]>,
}

impl Adapter {
    pub(super) fn new(tokens: Box<dyn Tokens>) -> Self {
        Self { tokens, padded: Box::new([0; MAX_TERM_BYTES + READABLE_AFTER_TERM]) }
    }

    /// As [`Words::split`](super::words::Words::split).
    pub(super) fn split(&mut self, text: &str, mut word: impl FnMut(&[u8], usize, usize)) -> u64 {
        let Self { tokens, padded } = self;
        let mut dropped = 0;
        tokens.each(text, &mut |token, _| match padded.get_mut(..token.len()) {
            _ if token.len() > MAX_TERM_BYTES => dropped += 1,
            Some(place) if !token.is_empty() => {
                place.copy_from_slice(token.as_bytes());
                word(&padded[..], 0, token.len());
            }
            _ => {}
        });
        dropped
    }
}
