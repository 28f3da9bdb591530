//! The way from documents to an index: batches, sequencer, blocks, runs, heap merge.
//!
//! ```text
//!  workers (all cores)          sequencer (1)          sorter (1)        spill (1)
//!  piece → documents → terms ─► docIDs, termIDs ─► block ─► sorted block ─► run on disk
//!       │                            │  ring of three blocks  ◄───────────────┘
//!       └ worker-lifetime            └─► documents (1): names, lengths
//!         dictionary
//!  then: merge tasks (all cores), each a range of termIDs: heap over runs → lists → every codec
//! ```
//!
//! Determinism comes from the sequencer alone: it takes batches in input order and numbers documents
//! and terms as they first come, so neither threads, memory, block size nor sorter change a byte.
//!
//! | file | its one job |
//! |---|---|
//! | [`options`] | what a build is asked to do |
//! | [`plan`] | how `--memory` is divided |
//! | [`terms`] | a worker's dictionary, which also counts tf |
//! | [`batch`] | a worker's output, and how it is made |
//! | [`dictionary`] | the build's dictionary: term → termID |
//! | [`numbers`] | termIDs on their way back to the workers |
//! | `inflating` | a GPU between pieces and workers |
//! | [`sequence`] | global numbers, in input order; packs keys into blocks |
//! | [`lists`] | lists that grow in memory instead of keys that are sorted (SPIMI) |
//! | `tail` | smaller blocks at the end of the input |
//! | [`run`] | sorted keys on disk, in frames with a directory |
//! | [`merge`] | n-way heap merge of a range of termIDs |
//! | `parse` | threads and channels of the parse phase |
//! | `assemble` | the merge phase: lists, codecs, publication |
//! | [`append`] | new documents for a finished index |
//! | `ordered` | a build in another order than the input's |
//! | [`links`] | the links of a crawl, and the rank of each document |
//! | `begin` | the stores that a parse phase begins with |
//! | [`resume`] | what a later process needs to go on, and what it finds |
//! | `shared` | what the threads share, and which error is the cause |
//! | [`sorting`] | the sort stage, and its way back to the CPU |
//! | [`report`] | what happened: the build report |
//! | [`skipped`] | what became no document: counts and the first losses |
//! | `summary` | the same for a person |
//! | [`synthetic`] | an index without a crawl, from a seed |
//! | [`timeline`] | CPU and GPU lanes as SVG |

pub mod append;
mod assemble;
pub mod batch;
mod begin;
pub mod dictionary;
mod inflating;
pub mod links;
pub mod lists;
pub mod merge;
pub mod numbers;
pub mod options;
mod ordered;
mod parse;
pub mod plan;
pub mod report;
pub mod resume;
pub mod run;
pub mod sequence;
mod shared;
pub mod skipped;
pub mod sorting;
mod summary;
pub mod synthetic;
mod tail;
pub mod terms;
pub mod timeline;

pub use options::{BuildOptions, Pipeline};
pub use ordered::build;
pub use parse::{ParseTimes, parse_only};
pub use report::BuildReport;
