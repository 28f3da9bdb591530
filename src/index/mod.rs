//! The index directory: format, manifest, writer, reader, verify.
//!
//! ```text
//! manifest.json            what the index is; every other file with length and checksum
//! terms.fst                term → termID (crate `fst`)
//! terms.bin                per term: df, cf, greatest tf, score bound, and the posting of terms with one document
//! docs.bin, docs.zst       per document: length; external id, URL, title
//! pagerank.bin             per document: PageRank, if links were followed
//! tf.bin                   term frequencies of every list, once for all codecs
//! impacts.bin              quantised share of the score of every posting of a list, if asked for
//! <codec>/postings.bin     docIDs of every list
//! <codec>/lists.bin        where each list is; skip entries
//! ```
//!
//! The byte layout of each file is in the documentation of the module that reads and writes it:
//! [`mod@format`] (what all have in common), [`manifest`], [`tables`] (`terms.bin`, `lists.bin`), [`docs`],
//! [`tf`], [`mod@impacts`], [`bound`] (score bounds), [`crate::codec`] (lists of docIDs).
//!
//! What the merge hands over, range of termIDs by range, is a [`ListBatch`]. A [`ListEncoder`] turns it
//! into words on any thread, and [`IndexWriter::append`] puts those behind each other.

pub mod bound;
mod cursor;
mod dictionary;
pub mod docs;
mod encode;
mod find;
pub mod format;
pub mod impacts;
mod in_order;
pub mod lengths;
pub mod linearity;
mod lists;
pub mod manifest;
pub mod orders;
mod output;
mod parts;
mod posting_list;
mod publish;
mod reader;
pub mod reencode;
pub mod reorder;
mod scratch;
pub mod tables;
pub mod tf;
mod verify;
mod writer;

#[cfg(test)]
pub(crate) mod tests;

pub use bound::{Bound, BoundReader, DEFAULT_B, DEFAULT_K1, Norm};
pub use cursor::{Cursor, END};
pub use docs::{DocName, DocTable, DocTableWriter};
pub use encode::{EncodedLists, ListEncoder};
pub use find::{common, find};
pub use impacts::{Impacts, Quantizer, TermQuantizer, idf};
pub(crate) use in_order::in_order;
pub use manifest::{FileSpec, Manifest, Statistics};
pub use posting_list::{List, ListWords};
pub(crate) use publish::{check_target, temporary_beside};
pub use reader::{CodecRef, Index, ListFiles};
pub(crate) use scratch::Scratch;
pub use tables::{Place, TermInfo};
pub use verify::{Verified, verify};
pub use writer::{IndexWriter, ManifestFields, Summary, TermsWriter};

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
