//! The documents that an index has, and those of them that are deleted.

use super::reader::{Index, Words};
use crate::index::format::deleted;
use crate::index::format::manifest::Collection;
use crate::index::{Statistics, TermInfo};
use crate::{Error, Result};

/// Deleted documents: they are in the files of the index, and in no answer.
#[derive(Clone, Copy)]
pub struct Deleted<'a> {
    parts: deleted::Parts<'a>,
}

impl<'a> Deleted<'a> {
    pub(in crate::index) fn new(parts: deleted::Parts<'a>) -> Self {
        Self { parts }
    }

    /// Whether a document is deleted.
    pub fn has(&self, doc: u32) -> bool {
        deleted::has(self.parts.bits, doc)
    }

    /// How many are.
    pub fn documents(&self) -> u64 {
        self.parts.documents
    }

    /// The sum of their lengths in tokens.
    pub fn tokens(&self) -> u64 {
        self.parts.tokens
    }

    /// Terms that no other document has.
    pub fn terms_gone(&self) -> u64 {
        self.parts.terms_gone
    }

    /// Postings of deleted documents.
    pub fn postings(&self) -> u64 {
        self.parts.terms.iter().map(|&[_, postings]| u64::from(postings)).sum()
    }

    /// How many deleted documents have a term.
    pub fn of_term(&self, id: u32) -> u32 {
        let terms = self.parts.terms;
        terms.binary_search_by_key(&id, |&[term, _]| term).map_or(0, |at| terms[at][1])
    }

    pub(in crate::index) fn parts(&self) -> deleted::Parts<'a> {
        self.parts
    }
}

impl Index {
    /// The deleted documents, if there are any.
    pub fn deleted(&self) -> Option<Deleted<'_>> {
        let words: &Words = self.deleted.as_ref()?;
        deleted::parts(words.get(), self.statistics().documents).map(Deleted::new)
    }

    /// How many documents that are not deleted have a term.
    pub fn living_df(&self, id: u32, term: &TermInfo) -> u32 {
        self.deleted().map_or(term.df, |deleted| term.df.saturating_sub(deleted.of_term(id)))
    }

    /// Sizes of the collection that the index is, or is a part of, without deleted documents: scores go by them.
    pub fn collection(&self) -> Collection {
        match self.deleted() {
            None => self.manifest().collection(),
            Some(deleted) => {
                let s = self.statistics();
                Collection::of(&Statistics {
                    documents: s.documents.saturating_sub(deleted.documents()),
                    tokens: s.tokens.saturating_sub(deleted.tokens()),
                    terms: s.terms.saturating_sub(deleted.terms_gone()),
                    ..s
                })
            }
        }
    }

    /// Fails if documents are deleted: what is about to be done, such as "export", takes an index as its files are.
    ///
    /// # Errors
    /// [`Error::Invalid`], which says what to run.
    pub fn without_deleted(&self, what: &str) -> Result<()> {
        let Some(deleted) = self.deleted() else { return Ok(()) };
        let dir = self.dir().display();
        let why = format!(
            "has {} deleted documents, which are still in its files; {what} needs an index without: run `gamut delete {dir} --purge` first",
            deleted.documents()
        );
        Err(Error::Invalid { what: dir.to_string(), why })
    }
}
