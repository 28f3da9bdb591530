//! CIFF, the Common Index File Format: indexes that other search engines wrote, and indexes for them.
//!
//! Lin et al., *Supporting Interoperability Between Open-Source Search Engines with the Common Index File Format*,
//! SIGIR 2020 (doi:10.1145/3397271.3401404). A file is one protobuf message after the other, each behind its length as
//! a varint:
//!
//! ```text
//! Header          version, num_postings_lists, num_docs; total_postings_lists, total_docs, total_terms_in_collection,
//!                 average_doclength of the collection; description
//! PostingsList    term, df, cf, and per posting a message of its own: docid (a gap, but in the first one), tf
//! … num_postings_lists of them
//! DocRecord       docid, collection_docid, doclength
//! … num_docs of them
//! ```
//!
//! Lists come before the lengths of documents, which their score bounds need. So a file is read twice: first for where
//! its messages lie, its terms and its documents, and then for its lists. No message tells how long the file is, so
//! nothing in it makes room before the bytes are there.
//!
//! | file | its one job |
//! |---|---|
//! | `wire` | protobuf's wire format |
//! | `messages` | header and document records |
//! | `postings` | postings lists: the hot loops of both directions |
//! | `source` | a file from front to back, plain or compressed |
//! | `skim` | the first pass: where messages are |
//! | `terms` | terms in byte order, however they come |
//! | `documents` | documents in the order of their docids, however they come |
//! | [`mod@import`] | file → index |
//! | `lists` | the second pass: lists into codecs |
//! | [`mod@merge`] | files among the indexes of a merge |
//! | `report` | what was imported |
//! | [`mod@export`] | index → file |
//! | `pack` | compression of what is written |

mod documents;
pub mod export;
pub mod import;
mod lists;
pub mod merge;
mod messages;
mod pack;
mod postings;
mod report;
mod skim;
mod source;
mod terms;
#[cfg(test)]
mod tests;
mod wire;

pub use export::{ExportOptions, Exported, export};
pub use import::{ImportOptions, import};
pub use pack::Packing;
pub use report::Imported;

/// The version of the format that gamut reads and writes.
pub const VERSION: u32 = 1;

/// What a number of the format may be at most: protobuf's `int32`.
const MAX_INT: u64 = i32::MAX as u64;

/// The longest term in bytes. A dictionary with longer ones counts as damaged.
pub const MAX_TERM_BYTES: usize = 4095;

/// The longest external id in bytes.
pub const MAX_ID_BYTES: usize = 64 << 10;

/// The parts of the work, for progress.
mod stage {
    use crate::base::means::{Stage, Unit};

    /// Finding messages, terms and documents.
    pub const SKIM: Stage = Stage { name: "skimming", unit: Unit::Bytes };
    /// Reading lists and encoding them.
    pub const IMPORT: Stage = Stage { name: "importing", unit: Unit::Bytes };
    /// Checksums, impacts, publication.
    pub const FINISH: Stage = Stage { name: "finishing", unit: Unit::Unknown };
    /// Writing lists and documents.
    pub const EXPORT: Stage = Stage { name: "exporting", unit: Unit::Things("postings") };
}
