//! What happens to built indexes: other codecs, another order, one index of several, and a check of everything.
//!
//! | file | its one job |
//! |---|---|
//! | [`reencode`] | adds or replaces the folder of a codec |
//! | [`reorder`] | the same index in another document order |
//! | [`delete`] | the same index without some documents, at once or written anew |
//! | [`merge`] | several indexes as one |
//! | `moved` | documents and postings under other docIDs |
//! | [`orders`] | what orders may know of an index |
//! | `checksums` | files beside what the manifest says of them |
//! | [`verify`] | compares every file with its checksum, and every list with its neighbours |

pub(in crate::index) mod checksums;
pub mod delete;
pub mod merge;
pub(in crate::index) mod moved;
pub mod orders;
pub mod reencode;
pub mod reorder;
pub mod verify;

/// The parts of the work, for progress.
pub mod stage {
    use crate::base::means::{Stage, Unit};

    const POSTINGS: Unit = Unit::Things("postings");

    /// Lists into codecs.
    pub const ENCODE: Stage = Stage { name: "encoding", unit: POSTINGS };
    /// Written lists against their sources.
    pub const COMPARE: Stage = Stage { name: "comparing", unit: POSTINGS };
    /// Dictionaries of several indexes.
    pub const TERMS: Stage = Stage { name: "terms", unit: Unit::Things("terms") };
    /// Lists of several indexes.
    pub const MERGE: Stage = Stage { name: "merging", unit: POSTINGS };
    /// Deleted documents in lists.
    pub const COUNT: Stage = Stage { name: "counting", unit: POSTINGS };
    /// Quantised impacts.
    pub const IMPACTS: Stage = Stage { name: "quantising", unit: POSTINGS };
    /// Tables of long lists.
    pub const TABLES: Stage = Stage { name: "tabulating", unit: POSTINGS };
}
