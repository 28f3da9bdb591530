//! Documents: docID → names, external id → docID.

use super::reader::Index;
use crate::index::format::ids;
use crate::index::{DocName, NameBlock};
use crate::{Error, Result, error::damaged};
use rayon::prelude::*;

/// Candidates whose names are read at a time: there is one, unless many documents have one id.
const CHUNK: usize = 4096;

impl Index {
    /// External id, URL and title of a document.
    ///
    /// # Errors
    /// [`Error::Damaged`], also for a docID that does not exist.
    pub fn name(&self, doc: u32) -> Result<DocName> {
        self.names.name(doc)
    }

    /// The same for several documents in ascending order; each block of the table is unpacked once.
    ///
    /// # Errors
    /// [`Error::Damaged`], also for a docID that does not exist.
    pub fn names(&self, docs: &[u32]) -> Result<Vec<DocName>> {
        self.names.names(docs)
    }

    /// The number of the block of the document table that has a document.
    ///
    /// # Errors
    /// [`Error::Damaged`], also for a docID that does not exist.
    pub fn name_block_of(&self, doc: u32) -> Result<usize> {
        self.names.frame_of(doc)
    }

    /// A block of the document table, for callers that keep it.
    ///
    /// # Errors
    /// [`Error::Damaged`], also for a number that no block has.
    pub fn name_block(&self, number: usize) -> Result<NameBlock> {
        self.names.block(number)
    }

    /// The documents with an external id, in the order of their docIDs: none, one, or more if the input had the id more
    /// than once. Looks into `ids.bin`; an index without it is [read whole](Self::scan_for_id).
    ///
    /// # Errors
    /// [`Error::Damaged`].
    pub fn find_id(&self, id: &str) -> Result<Vec<u32>> {
        let Some(table) = &self.ids else { return self.scan_for_id(id) };
        let documents = self.statistics().documents as usize;
        let bad = || damaged(&table.path, 0, "a bucket or a docID is out of bounds; see `gamut verify`");
        let candidates = ids::candidates(table.get(), documents, id).ok_or_else(bad)?;
        let mut found = Vec::new();
        for docs in candidates.chunks(CHUNK) {
            let names = docs.iter().zip(self.names(docs)?);
            found.extend(names.filter(|(_, name)| name.id == id).map(|(&doc, _)| doc));
        }
        Ok(found)
    }

    /// Whether the index has `ids.bin`.
    pub fn has_ids(&self) -> bool {
        self.ids.is_some()
    }

    /// As [`Self::find_id`], by all ids of the index, on all cores.
    ///
    /// # Errors
    /// [`Error::Damaged`].
    pub fn scan_for_id(&self, id: &str) -> Result<Vec<u32>> {
        let frame = |i: usize| -> Result<Vec<u32>> {
            let (mut doc, mut found) = (self.names.frame_docs(i)?.start, Vec::new());
            self.names.each_id(i, |other| {
                found.extend((other == id).then_some(doc));
                doc += 1;
            })?;
            Ok(found)
        };
        let found = (0..self.names.frames()).into_par_iter().map(frame).collect::<Result<Vec<_>, Error>>()?;
        Ok(found.concat())
    }
}
