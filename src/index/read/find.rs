//! Documents: docID → names, external id → docID.

use super::reader::Index;
use crate::index::format::ids;
use crate::index::run_ids::unescaped;
use crate::index::{DocName, NameBlock};
use crate::{Error, Result, error::damaged};
use rayon::prelude::*;
use std::collections::HashMap;

/// Candidates whose names are read at a time: there is one, unless many documents have one id.
const CHUNK: usize = 4096;

/// More ids than this are looked up by reading all ids of the index once.
const FEW: usize = 64;

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

    /// How many blocks the document table has.
    pub fn name_blocks(&self) -> usize {
        self.names.frames()
    }

    /// Calls `visit` with each document of a block and its external id, in docID order.
    ///
    /// # Errors
    /// [`Error::Damaged`], also for a number that no block has.
    pub fn each_id(&self, number: usize, mut visit: impl FnMut(u32, &str)) -> Result<()> {
        let mut docs = self.names.frame_docs(number)?;
        self.names.each_id(number, |id| docs.by_ref().take(1).for_each(|doc| visit(doc, id)))
    }

    /// The documents with an external id, in the order of their docIDs: none, one, or more if the input had the id more
    /// than once. Deleted ones are not among them. Looks into `ids.bin`; an index without it is
    /// [read whole](Self::scan_for_id).
    ///
    /// # Errors
    /// [`Error::Damaged`].
    pub fn find_id(&self, id: &str) -> Result<Vec<u32>> {
        Ok(self.living(self.all_of_id(id)?))
    }

    /// As [`Self::find_id`], with deleted documents.
    fn all_of_id(&self, id: &str) -> Result<Vec<u32>> {
        let Some(table) = &self.ids else { return self.all_by_scan(id) };
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

    /// The same for several ids. Many are looked up by reading all ids of the index once, on all cores.
    ///
    /// # Errors
    /// [`Error::Damaged`].
    pub fn find_ids<S: AsRef<str> + Sync>(&self, ids: &[S]) -> Result<Vec<Vec<u32>>> {
        Ok(self.all_of_ids(ids)?.into_iter().map(|docs| self.living(docs)).collect())
    }

    /// As [`Self::find_ids`], with deleted documents.
    fn all_of_ids<S: AsRef<str> + Sync>(&self, ids: &[S]) -> Result<Vec<Vec<u32>>> {
        if ids.len() <= FEW && self.has_ids() {
            return ids.iter().map(|id| self.all_of_id(id.as_ref())).collect();
        }
        let mut places: HashMap<&str, Vec<u32>> = HashMap::with_capacity(ids.len());
        (0..).zip(ids).for_each(|(place, id)| places.entry(id.as_ref()).or_default().push(place));
        let block = |number: usize| -> Result<Vec<(u32, u32)>> {
            let mut found = Vec::new();
            self.each_id(number, |doc, id| {
                found.extend(places.get(id).into_iter().flatten().map(|&place| (place, doc)));
            })?;
            Ok(found)
        };
        let found: Vec<_> = (0..self.name_blocks()).into_par_iter().map(block).collect::<Result<_, Error>>()?;
        let mut docs = vec![Vec::new(); ids.len()];
        found.into_iter().flatten().for_each(|(place, doc)| docs[place as usize].push(doc));
        Ok(docs)
    }

    /// As [`Self::find_ids`], for ids that may be as run files have them: what no document has, not even a deleted one,
    /// is looked up once more with the white space that its `%20` and the like stand for.
    ///
    /// # Errors
    /// [`Error::Damaged`].
    pub fn find_ids_of_runs<S: AsRef<str> + Sync>(&self, ids: &[S]) -> Result<Vec<Vec<u32>>> {
        let mut found = self.all_of_ids(ids)?;
        let unescaped = |(place, id): (usize, &S)| Some((place, unescaped(id.as_ref())?));
        let nowhere = ids.iter().enumerate().filter(|(place, _)| found[*place].is_empty());
        let (places, others): (Vec<usize>, Vec<String>) = nowhere.filter_map(unescaped).unzip();
        if !others.is_empty() {
            places.into_iter().zip(self.all_of_ids(&others)?).for_each(|(place, docs)| found[place] = docs);
        }
        Ok(found.into_iter().map(|docs| self.living(docs)).collect())
    }

    /// Those of some documents that are not deleted.
    fn living(&self, mut docs: Vec<u32>) -> Vec<u32> {
        if let Some(deleted) = self.deleted() {
            docs.retain(|&doc| !deleted.has(doc));
        }
        docs
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
        Ok(self.living(self.all_by_scan(id)?))
    }

    fn all_by_scan(&self, id: &str) -> Result<Vec<u32>> {
        let frame = |i: usize| -> Result<Vec<u32>> {
            let mut found = Vec::new();
            self.each_id(i, |doc, other| found.extend((other == id).then_some(doc)))?;
            Ok(found)
        };
        let found = (0..self.names.frames()).into_par_iter().map(frame).collect::<Result<Vec<_>, Error>>()?;
        Ok(found.concat())
    }
}
