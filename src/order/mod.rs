//! Which document gets which docID: the cheapest way to a smaller and faster index.
//!
//! An order is a [`Permutation`] of the docIDs that documents have. It decides the gaps of every list
//! and nothing else: external ids, lengths and scores go with their documents.
//!
//! | file | its one job |
//! |---|---|
//! | [`mod@self`] | the registry: one row an order |
//! | `family` | what a row says, and an order with its parameters |
//! | `describe` | the registry in words |
//! | `permutation` | a permutation, and its text |
//! | [`graph`] | which document links to which, for [`pagerank`] |
//! | every other file | the order of that name |

pub mod bp;
mod describe;
mod family;
mod file;
pub mod graph;
mod input;
pub mod pagerank;
mod permutation;
mod random;
pub mod url;

pub use describe::{help, markdown};
pub use family::{Documents, Family, Needs, Order};
pub use permutation::Permutation;

/// All orders. Everything that offers a choice walks this slice.
pub const FAMILIES: &[&Family] = &[
    // the least demanding comes first
    &input::INPUT,
    &url::URL,
    &bp::BP,
    &pagerank::PAGERANK,
    &random::RANDOM,
    &file::FILE,
];

/// What the manifest of a synthetic index says: its documents are in the order in which they were made, as in an input.
pub const SYNTHETIC: &str = "synthetic";

/// The orders as the command line names them: `input, url, bp, bp:MIN_DF, …, file:PATH`.
pub fn names() -> String {
    FAMILIES.iter().flat_map(|family| family.spellings()).collect::<Vec<_>>().join(", ")
}
