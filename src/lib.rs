//! gamut turns a web crawl into a compressed inverted index and answers queries from it.
//!
//! ```text
//! files ──read──► records ──parse──► batches ──sequence──► batches with global ids ──pack──► block of u64 keys
//!                                                                                            │
//!                                                            sort (GPU bitonic, radix, quick | CPU)
//!                                                                                            │
//!   index directory ◄──encode── postings lists ◄──n-way heap merge── runs on disk ◄──spill───┘
//! ```
//!
//! | module | its one job |
//! |---|---|
//! | [`base`] | tools that know nothing of search: bits, registry rows, results in order, random numbers |
//! | [`gpu`] | the only place that names wgpu |
//! | [`codec`] | ways to store a list of docIDs, one file each |
//! | [`inflate`] | gzip members inflated on a GPU |
//! | [`sort`] | block sorters behind one trait |
//! | [`corpus`] | containers and formats → documents, one file per format |
//! | [`order`] | document orders |
//! | [`text`] | charset, HTML → text, analyzers |
//! | [`score`] | the one score: norm, idf, impacts, bounds |
//! | [`postings`] | one reader of lists: block, frequencies, cursor |
//! | [`index`] | format, reader, writer, changes of a built index |
//! | [`mod@ciff`] | CIFF files → indexes, and indexes → CIFF files |
//! | [`pipeline`] | batches, sequencer, blocks, runs, heap merge |
//! | [`query`] | parse, plan, evaluate, top-k |
//! | [`mod@bench`] | measurements |
//! | [`eval`] | judgements, runs, trec_eval's measures, tests over pairs of runs |
//! | [`mod@serve`] | HTTP, search page, and the queue in front of an index |
//! | [`cli`] | one file per subcommand |
//!
//! Arrows point one way: `main → cli → {serve, bench, eval} → query → {pipeline, ciff} → index → postings → {score,
//! text} → {order, sort, corpus} → {codec, inflate} → error → gpu → base`.
//!
//! The papers: Ding et al., WWW 2009 (GPU query processing); Ao et al., PVLDB 4(8), 2011 (linear
//! regression, hash segmentation); Capannini et al., IP&M 2011 (K-model bitonic sort, the indexer,
//! doi:10.1016/j.ipm.2010.11.010); Liu et al., PPoPP 2018 (Griffin); Wu et al. (batched intersection).

#[macro_use]
pub mod base;
pub mod bench;
pub mod ciff;
pub mod cli;
pub mod codec;
pub mod corpus;
pub mod error;
pub mod eval;
pub mod gpu;
pub mod index;
pub mod inflate;
pub mod order;
pub mod pipeline;
pub mod postings;
pub mod query;
pub mod score;
pub mod serve;
pub mod sort;
pub mod text;

pub use error::{Error, Result};
