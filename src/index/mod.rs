//! The index directory: format, manifest, writer, reader, verify.
//!
//! ```text
//! manifest.json            what the index is; every other file with length and checksum
//! terms.fst                term → termID (format of the crate `fst`)
//! terms.bin                per term: df, cf, greatest tf, score bound, and the posting of terms with one document
//! docs.bin, docs.zst       per document: length; external id, URL, title
//! pagerank.bin             per document: PageRank, if links were followed
//! input.bin                per document: its place in the input, if the order is another
//! ids.bin                  external id → docID
//! text.zst                 per document, in input order: its text, if asked for
//! deleted.bin              documents that are in no answer, and in how many of them each term is, if any are deleted
//! tf.bin                   term frequencies of every list, once for all codecs
//! impacts.bin              quantised share of the score of every posting of a list, if asked for
//! tables.bin               documents and score bounds of every long list, if asked for
//! <codec>/postings.bin     docIDs of every list
//! <codec>/lists.bin        where each list is; skip entries, and of some codecs finer score bounds
//! ```
//!
//! The byte layout of each file is in the documentation of the module that reads and writes it: [`mod@format`] (what
//! all have in common), [`format::manifest`], [`format::tables`] (`terms.bin`, `lists.bin`), [`format::docs`],
//! `format::ids`, `format::texts`, `format::deleted`, [`crate::postings::tf`], [`mod@impacts`], [`mod@list_tables`],
//! [`crate::score::bound`] and [`crate::score::range`] (score bounds), [`crate::codec`] (lists of docIDs).
//!
//! The merge hands over a [`ListBatch`] for each range of termIDs. A [`ListEncoder`] turns it into words on any thread,
//! and [`IndexWriter::append`] puts the words behind each other.

pub mod change;
pub mod compare;
pub mod format;
pub mod impacts;
pub mod list_tables;
pub mod read;
pub mod run_ids;
pub mod write;

#[cfg(test)]
pub(crate) mod tests;

pub use change::verify::{Verified, verify};
pub use format::docs::{DocMark, DocName, DocTable, DocTableWriter, NameBlock};
pub(crate) use format::manifest::index_at;
pub use format::manifest::{Collection, FileSpec, Imported, InputCut, Manifest, Statistics};
pub use format::tables::{Place, TermInfo};
pub use impacts::Impacts;
pub use list_tables::ListTables;
pub use read::reader::{CodecRef, Index, ListFiles};
pub use write::encode::{EncodedLists, ListEncoder};
pub(crate) use write::output::Output;
pub(crate) use write::publish::{check_target, in_no_index, sync_dir};
pub use write::texts::{TextMark, TextSizes, TextWriter};
pub(crate) use write::unfinished::{MARK, Unfinished, hold, sweep};
pub use write::writer::{Extras, IndexWriter, ManifestFields, Summary, TermsWriter};

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
