//! One reader of a list of postings: its words, its frequencies, and a cursor over both.
//!
//! | module | its one job |
//! |---|---|
//! | [`list`] | where the parts of a list lie, and how one block is decoded |
//! | [`tf`] | term frequencies, readable at any position |
//! | [`block`] | decoded blocks of docIDs and of frequencies |
//! | [`encoded`] | a list outside an index |
//! | [`skip`] | the block that may contain a docID |
//! | [`cursor`] | walks a list, reads it in windows, looks documents up |
//! | [`mod@find`] | where a docID stands in a decoded block |
//! | [`table`] | the documents of a long list and the most that they add to a score |
//! | [`scratch`] | buffers of a block |

pub mod block;
pub mod cursor;
pub mod encoded;
pub mod find;
pub mod list;
pub mod scratch;
pub mod skip;
pub mod table;
pub mod tf;

pub use block::Blocks;
pub use cursor::{Cursor, Postings};
pub use encoded::Encoded;
pub use find::{PICKED, Picked, common, find, matches, pick};
pub use list::{END, List, ListWords};
pub use scratch::Scratch;

#[cfg(test)]
pub(crate) mod tests;
