//! Queries: parse, look terms up, evaluate, keep the best k.
//!
//! The score of a document is BM25 with exact lengths: the sum over the query's terms of
//! `count · idf · tf / (tf + K)` with `idf = ln(1 + (N - df + 0.5) / (df + 0.5))` and
//! `K = k1 (1 - b + b · len / avg)`; `count` is how often the term stands in the query. The constant factor
//! `k1 + 1` of the original formula is left out, as Lucene does: it changes no order. Equal scores
//! go by docID, the smaller one first.
//!
//! Every way of evaluating a query adds a document's parts in the order of the query's terms, so all of them
//! give the same scores to the last bit.
//!
//! By impacts, if the index has them ([`mod@crate::index::impacts`]), the score is `Σ count · impact` instead: an integer, to about half
//! a step per word the BM25 score at the default parameters divided by [`crate::index::Quantizer::step`].
//!
//! | module | its one job |
//! |---|---|
//! | [`engine`] | one way to ask, wherever queries run; methods by name, presets |
//! | [`schedule`] | which queries go to a device together: one file per method |
//! | `plan` | what a query is before it runs |
//! | `explain` | what is known about a query's terms |
//! | `analysis`, `topics` | text → terms; files of queries |
//! | [`intersect`] | documents that have all terms: one file per method |
//! | [`cpu`] | scores on the CPU; documents that have any term: one file per method |
//! | [`gpu`] | batches of queries on a GPU |
//! | [`topk`] | keeping the best: one file per method |

mod analysis;
pub mod cpu;
pub mod engine;
mod explain;
pub mod gpu;
pub mod intersect;
mod plan;
pub mod schedule;
mod searcher;
mod topics;
pub mod topk;

#[cfg(test)]
mod tests;

pub use cpu::{CpuMethods, TermWork, Work};
pub use explain::TermFacts;
pub use plan::{Bm25, Mode, Plan, PlannedTerm, Query, Scores};
pub use searcher::Searcher;
pub use topics::{Topic, TopicFormat, parse_topics};
pub use topk::{Hit, TopK};

use crate::{Error, Result};

/// The row of a registry that is called `name`; `kind` says what the registry has.
///
/// # Errors
/// [`Error::UnknownName`], which lists the choices.
fn named<T>(
    kind: &'static str,
    rows: &'static [T],
    names: fn(&T) -> [&'static str; 2],
    name: &str,
) -> Result<&'static T> {
    rows.iter().find(|row| names(row).contains(&name)).ok_or_else(|| Error::UnknownName {
        kind,
        name: name.to_owned(),
        choices: rows.iter().map(|row| names(row)[0]).collect::<Vec<_>>().join(", "),
    })
}
