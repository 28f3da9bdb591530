//! Tools that know nothing of search.
//!
//! | module | its one job |
//! |---|---|
//! | `avx2` | registers of 32 bytes, if the processor has them |
//! | `avx512` | registers of 64 bytes, if it has them |
//! | [`bits`] | fields of bits in words |
//! | [`choice`] | rows of a registry by name |
//! | [`comment`] | where comments of HTML end |
//! | `guard` | calls into crates that may panic |
//! | [`gzip`] | files of gzip members |
//! | [`hashed`] | tables whose keys are hashes already |
//! | [`in_order`] | tasks on several threads, results in order |
//! | [`json`] | results as JSON |
//! | [`kept`] | files in the user's cache |
//! | [`map`] | mapped files, which may shrink while they are read |
//! | [`means`] | threads, memory, cancellation and progress of long work |
//! | [`memory`] | how much there is, and sizes as people write them |
//! | `pages` | tables on large pages |
//! | [`params`] | parameters of a registry's row |
//! | `random` | random numbers and logarithms, the same on every machine |
//! | [`simd`] | what the processor can do |
//! | [`text_file`] | packed texts, with a byte order mark or without |
//! | [`turns`] | longer turns on a processor for long work |
//! | [`whole`] | files that take their names once they are complete |

#[cfg(target_arch = "x86_64")]
pub(crate) mod avx2;
#[cfg(target_arch = "x86_64")]
pub(crate) mod avx512;
pub mod bits;
pub mod choice;
pub mod comment;
pub(crate) mod guard;
pub mod gzip;
pub mod hashed;
pub mod in_order;
pub mod json;
pub mod kept;
pub mod map;
pub mod means;
pub mod memory;
pub(crate) mod pages;
pub mod params;
pub(crate) mod random;
pub mod simd;
pub mod text_file;
pub mod turns;
pub mod whole;

/// Writes a line to standard error. `eprintln!` panics if nobody reads there any more, and a build should not end for
/// that.
macro_rules! tell {
    ($($arg:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr(), $($arg)*);
    }};
}

/// Work that was cancelled before it was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interrupted;
