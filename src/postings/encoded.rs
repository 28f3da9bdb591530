//! A list outside an index, for benchmarks and tests.

use super::list::ListWords;
use crate::codec::{Codec, Skip};

/// The words of a list and its skip entries.
#[derive(Clone, Debug, Default)]
pub struct Encoded {
    /// What the codec wrote.
    pub words: Vec<u32>,
    /// One entry per block.
    pub skips: Vec<Skip>,
    df: u32,
}

impl Encoded {
    /// Increasing docIDs in the words of a codec.
    pub fn new(codec: &dyn Codec, docs: &[u32]) -> Self {
        let (mut words, mut skips) = (Vec::new(), Vec::new());
        codec.encode(docs, &mut words, &mut skips);
        Self { words, skips, df: docs.len() as u32 }
    }

    /// The list, of the codec that it was encoded by, with docIDs less than `documents`; `None` if it has no posting.
    pub fn list<'a>(&'a self, codec: &'a dyn Codec, documents: u32) -> Option<ListWords<'a>> {
        ListWords::in_memory(codec, &self.words, &self.skips, self.df, documents)
    }
}
