//! The index directory: format, manifest, writer, reader, verify.
//!
//! What the merge hands over, range of termIDs by range, is a [`ListBatch`].

/// The postings lists of consecutive termIDs, as the merge produces them: docIDs strictly increasing
/// within a list, term frequencies at least 1, every list non-empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListBatch {
    /// The first termID; list `i` belongs to termID `first_term + i`.
    pub first_term: u32,
    /// df of each list.
    pub lens: Vec<u32>,
    /// DocIDs of all lists, one after the other.
    pub docs: Vec<u32>,
    /// Term frequencies, parallel to `docs`.
    pub tfs: Vec<u32>,
}
