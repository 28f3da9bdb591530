//! Rows of a Parquet file as documents.
//!
//! A row group is cut into stretches of rows, each a [piece](super::Piece) of about the usual size, so that all cores
//! read one file. A reader holds a page of each column that it needs, and the values of few rows, whatever the size of
//! the file or its row groups. Sizes that the file promises decide where it is cut, and nothing else: none of them is
//! allocated, but for that of a page, which the crate `parquet` allocates and the system hands out as it fills.
//!
//! | file | its one job |
//! |---|---|
//! | `table` | the footer: which columns are wanted, and the stretches |
//! | `column` | the values of a column, few rows at a time |

#[cfg(feature = "parquet")]
mod column;
#[cfg(feature = "parquet")]
mod table;
#[cfg(all(test, feature = "parquet"))]
mod tests;

#[cfg(feature = "parquet")]
pub(super) use table::{Stretch, Table};

use super::members::Compression;
use super::open::CorpusOptions;
use std::path::Path;

/// The format's name.
pub(super) const NAME: &str = "parquet";
/// What a file begins and ends with.
pub(super) const MAGIC: &[u8] = b"PAR1";
/// The same of a file whose footer is encrypted.
pub(super) const ENCRYPTED: &[u8] = b"PARE";

/// Why a file that begins like Parquet cannot be read, if it cannot.
pub(super) fn refused(path: &Path, compression: Compression, options: &CorpusOptions) -> Option<String> {
    if compression != Compression::None {
        return Some(format!("is a Parquet file compressed as a whole ({}); decompress it first", compression.name()));
    }
    #[cfg(feature = "parquet")]
    return match super::piece::map(path) {
        Ok(map) => Table::open(std::sync::Arc::new(map), options).err(),
        Err(error) => Some(error.to_string()),
    };
    #[cfg(not(feature = "parquet"))]
    {
        let _ = (path, options);
        Some(
            "is Parquet, which this gamut was built without; `cargo install --path . --features parquet` adds it"
                .into(),
        )
    }
}
