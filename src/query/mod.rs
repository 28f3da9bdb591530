//! Queries: parse, look terms up, evaluate, keep the best k.
//!
//! The score of a document is BM25 with exact lengths: the sum over the query's terms of
//! `weight · idf · tf / (tf + K)` with `idf = ln(1 + (N - df + 0.5) / (df + 0.5))` and
//! `K = k1 (1 - b + b · len / avg)`; `weight` is how often the term stands in the query, unless the query
//! gives it a weight. The constant factor `k1 + 1` of the original formula is left out, as Lucene does: it
//! changes no order. Of equal scores the document that came earlier in the input is the better.
//!
//! Scores are added in whole numbers ([`crate::score::whole`]), so every method gives the same ones to the bit.
//!
//! By impacts, if the index has them ([`mod@crate::index::impacts`]), the score is `Σ weight · impact` instead. This is
//! an integer: to about half a step per word, the BM25 score at the default parameters divided by
//! [`crate::score::Quantizer::step`].
//!
//! | module | its one job |
//! |---|---|
//! | [`engine`] | one way to ask, wherever queries run; methods by name, presets |
//! | [`migrate`] | which processor goes on with a query: one file per rule |
//! | [`cost`] | what a query is expected to cost on each processor |
//! | [`dispatch`] | which processor answers a query, and when |
//! | [`schedule`] | which queries go to a device together: one file per method |
//! | `plan` | what a query is before it runs |
//! | `subset` | the documents that a query may find |
//! | `collection` | statistics of a whole collection, for an index of a part of it |
//! | `explain` | what is known about a query's terms |
//! | `analysis`, `weights`, `topics` | text → terms; weights of terms; files of queries |
//! | [`snippet`] | the passage of a text that fits a query best, with its words marked |
//! | `living` | answers without deleted documents |
//! | [`method`] | a row of the registries of methods |
//! | `describe` | the registries in words |
//! | [`and`] | documents that have all terms: one file per method |
//! | [`or`] | documents that have any term: one file per method |
//! | [`topk`] | keeping the best: one file per method |
//! | [`cpu`], [`gpu`] | what methods share on each machine |

mod analysis;
pub mod and;
mod collection;
pub mod cost;
pub mod cpu;
mod describe;
pub mod dispatch;
pub mod engine;
mod explain;
pub mod gpu;
mod living;
pub mod method;
pub mod migrate;
pub mod or;
mod plan;
pub mod schedule;
mod searcher;
pub mod snippet;
mod subset;
mod topics;
pub mod topk;
mod weights;

#[cfg(test)]
mod tests;

pub use collection::Collection;
pub use cpu::{CpuMethods, TableOf, TermWork, Work};
pub use describe::tables;
pub use explain::TermFacts;
pub use plan::{Bm25, Mode, Plan, PlannedTerm, Query, Scores};
pub use searcher::Searcher;
pub use subset::Subset;
pub use topics::{Pairs, Topic, TopicFormat, TopicReader, WithoutWords, parse_topics, without_words};
pub use topk::{Hit, TopK};
pub use weights::{MAX_WEIGHT, MIN_WEIGHT, WeightedTerms};
