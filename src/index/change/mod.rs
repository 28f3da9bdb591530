//! What happens to a built index: other codecs, another order, and a check of everything.
//!
//! | file | its one job |
//! |---|---|
//! | [`reencode`] | adds or replaces the folder of a codec |
//! | [`reorder`] | the same index in another document order |
//! | [`orders`] | what orders may know of an index |
//! | [`verify`] | compares every file with its checksum, and every list with its neighbours |

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
    /// Quantised impacts.
    pub const IMPACTS: Stage = Stage { name: "quantising", unit: POSTINGS };
    /// Tables of long lists.
    pub const TABLES: Stage = Stage { name: "tabulating", unit: POSTINGS };
}
