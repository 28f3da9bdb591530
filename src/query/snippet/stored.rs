//! Snippets of the texts that an index stores.

use super::{Snippet, Snippeter, Wanted};
use crate::Result;
use crate::index::Index;
use crate::query::Query;
use crate::score::idf;
use crate::text::AnalyzerSpec;
use rayon::prelude::*;
use std::sync::{Mutex, PoisonError};

/// A passage comes from so many bytes at the start of a text. Reading more takes longer than all other documents of a
/// page.
const START: usize = 64 << 10;

/// If none of the query's words stands there, so many bytes are read.
const MOST: usize = 4 << 20;

/// Documents that a thread takes at a time.
const CHUNK: usize = 32;

/// Makes snippets of an index's documents, on any number of threads. A [`Snippeter`] has scratch memory and is costly
/// to make, so idle ones are kept.
pub struct Snippets<'a> {
    index: &'a Index,
    spec: AnalyzerSpec,
    idle: Mutex<Vec<Snippeter>>,
}

impl<'a> Snippets<'a> {
    /// For an index whose texts this analyzer analysed.
    pub(in crate::query) fn new(index: &'a Index, spec: &AnalyzerSpec) -> Self {
        Self { index, spec: spec.clone(), idle: Mutex::default() }
    }

    /// The terms of a query that the index has, with their weights.
    ///
    /// # Errors
    /// [`crate::Error::Damaged`].
    pub fn wanted(&self, query: &Query) -> Result<Wanted> {
        let documents = self.index.collection().documents;
        let mut terms = Vec::with_capacity(query.terms.len());
        for (term, weight) in &query.terms {
            let Some(id) = self.index.lookup(term.as_bytes())? else { continue };
            let df = self.index.living_df(id, &self.index.term(id)?);
            if df > 0 {
                let weight = f64::from(*weight) * idf(documents, df);
                terms.push((term.as_str(), weight as f32));
            }
        }
        Ok(Wanted::new(terms))
    }

    /// The best passage of each of some documents, which come with their titles; many on all cores.
    ///
    /// # Errors
    /// [`crate::Error::Invalid`] if the index stores no texts, [`crate::Error::Damaged`], and as [`Snippeter::new`].
    pub fn of(&self, docs: &[(u32, &str)], wanted: &Wanted, width: usize) -> Result<Vec<Snippet>> {
        let chunk = |docs: &[(u32, &str)]| -> Result<Vec<Snippet>> {
            let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
            let kept = idle().pop();
            let mut snippeter = kept.map_or_else(|| Snippeter::new(&self.spec), Ok)?;
            let snippets = docs.iter().map(|&(doc, title)| self.one(&mut snippeter, doc, title, wanted, width));
            let snippets = snippets.collect();
            idle().push(snippeter);
            snippets
        };
        if docs.len() <= CHUNK {
            return chunk(docs);
        }
        let parts: Vec<Vec<Snippet>> = docs.par_chunks(CHUNK).map(chunk).collect::<Result<_>>()?;
        Ok(parts.concat())
    }

    fn one(&self, snippeter: &mut Snippeter, doc: u32, title: &str, wanted: &Wanted, width: usize) -> Result<Snippet> {
        let mut snippet = Snippet::default();
        for most in [START, MOST] {
            let (text, whole) = self.index.text_start(doc, most)?;
            let text = if whole { &text } else { whole_words(&text) };
            snippet = snippeter.snippet(text, title, wanted, width);
            snippet.ends &= whole;
            if whole || !snippet.marks.is_empty() {
                break;
            }
        }
        Ok(snippet)
    }
}

/// The text less a word at its end that may go on, if there is white space not far before.
fn whole_words(text: &str) -> &str {
    let mut far = text.len().saturating_sub(256);
    while !text.is_char_boundary(far) {
        far += 1;
    }
    match text[far..].rfind(char::is_whitespace) {
        Some(space) => &text[..far + space],
        None => text,
    }
}
