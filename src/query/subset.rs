//! Some of the documents of an index: those that a query may find.

use crate::Result;
use crate::index::Index;

/// A set of docIDs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subset {
    docs: Vec<u32>,
    marks: Vec<u64>,
}

impl Subset {
    /// Of these docIDs, in any order; one that comes twice counts once.
    pub fn new(mut docs: Vec<u32>) -> Self {
        docs.sort_unstable();
        docs.dedup();
        let mut marks = vec![0; docs.last().map_or(0, |&last| last as usize / 64 + 1)];
        docs.iter().for_each(|&doc| marks[doc as usize / 64] |= 1 << (doc % 64));
        Self { docs, marks }
    }

    /// The documents with one of these external ids, all of an id that several have; and the ids that none has.
    ///
    /// # Errors
    /// [`Error::Damaged`](crate::Error::Damaged).
    pub fn of_ids<'i>(index: &Index, ids: &'i [String]) -> Result<(Self, Vec<&'i str>)> {
        let found = index.find_ids_of_runs(ids)?;
        let unknown = ids.iter().zip(&found).filter(|(_, docs)| docs.is_empty()).map(|(id, _)| id.as_str()).collect();
        Ok((Self::new(found.concat()), unknown))
    }

    /// The docIDs, ascending.
    pub fn docs(&self) -> &[u32] {
        &self.docs
    }

    /// Whether it has a document.
    #[inline]
    pub fn has(&self, doc: u32) -> bool {
        self.marks.get(doc as usize / 64).is_some_and(|word| word >> (doc % 64) & 1 != 0)
    }
}
