//! gamut turns a web crawl into a compressed inverted index and answers queries from it.
//!
//! ```text
//! files ──read──► records ──parse──► batches ──sequence──► batches with global ids ──pack──► block of u64 keys
//!                                                                                            │
//!                                                            sort (GPU bitonic | GPU radix | CPU)
//!                                                                                            │
//!   index directory ◄──encode── postings lists ◄──n-way heap merge── runs on disk ◄──spill───┘
//! ```
//!
//! | module | its one job |
//! |---|---|
//! | [`corpus`] | containers and formats → documents, one file per format |
//! | [`text`] | charset, HTML → text, analyzers |
//! | [`build`] | batches, sequencer, blocks, runs, heap merge: the pipeline |
//! | [`sort`] | block sorters behind one trait |
//! | [`codec`] | ways to store a list of docIDs, one file each |
//! | [`index`] | format, manifest, writer, reader, verify |
//! | [`query`] | parse, plan, evaluate, top-k |
//! | [`gpu`] | the only place that names wgpu |
//! | [`mod@bench`] | measurements |
//! | [`cli`] | one file per subcommand |
//!
//! Arrows point one way: `cli → {bench, build, query} → {index, sort, codec, corpus, text} → gpu → error`.
//!
//! The papers: Ding et al., WWW 2009 (GPU query processing); Ao et al., PVLDB 4(8), 2011 (linear
//! regression, hash segmentation); Capannini et al., IP&M 2011 (K-model bitonic sort, the indexer,
//! doi:10.1016/j.ipm.2010.11.010); Liu et al., PPoPP 2018 (Griffin); Wu et al. (batched intersection).

pub mod bench;
pub mod build;
pub mod cli;
pub mod codec;
pub mod corpus;
pub mod error;
pub mod gpu;
pub mod index;
pub mod order;
pub mod query;
pub mod sort;
pub mod text;

pub use error::{Error, Result};
