//! Reads a built index: files mapped, nothing loaded, nothing trusted.
//!
//! | file | its one job |
//! |---|---|
//! | `reader` | opens an index, finds terms |
//! | `postings` | where the postings of a term are |
//! | `words` | a mapped file, and tables of packed rows in it |
//! | `dictionary` | `terms.fst` |
//! | `find` | names of documents, and documents by external id |
//! | `texts` | stored texts of documents |
//! | [`ids`] | external ids of very many documents |
//! | `changed` | whether files are what they were when the index was opened |
//! | `lists` | all lists in termID order, in batches |
//! | [`lengths`], [`linearity`] | statistics of lists |

pub(in crate::index) mod changed;
pub mod deleted;
pub(in crate::index) mod dictionary;
mod find;
pub mod ids;
pub mod lengths;
pub mod linearity;
pub(in crate::index) mod lists;
mod postings;
pub(in crate::index) mod reader;
pub(in crate::index) mod texts;
mod words;
