//! What a build is asked to do, and the names of its parts.

use std::path::PathBuf;
use std::sync::Arc;

use crate::base::means::Means;
use crate::codec::Codec;
use crate::corpus::{CorpusOptions, Feed};
use crate::gpu::Choice;
use crate::inflate::InflateChoice;
use crate::order::Order;
use crate::sort::SorterChoice;
use crate::text::AnalyzerSpec;

/// How parsing and sorting share the time: the three indexers of Capannini et al., figure 7.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pipeline {
    /// Block i+1 is parsed while block i is sorted (Index_gpu+).
    Overlapped,
    /// Parse a block, then sort it, in turn (Index_gpu).
    Serial,
    /// As serial, sorted on the CPU (Index_cpu).
    Cpu,
    /// Lists grow in memory, and only terms are sorted (single-pass in-memory indexing, section 3).
    Spimi,
}

/// Options of [`super::build`].
#[derive(Clone, Debug)]
pub struct BuildOptions {
    /// Files and directories, in the order given.
    pub inputs: Vec<PathBuf>,
    /// Documents that the program has in memory, in place of the inputs.
    pub feed: Option<Feed>,
    /// The index directory to make.
    pub output: PathBuf,
    /// Replace an existing index.
    pub force: bool,
    /// What decides the docIDs.
    pub order: Order,
    /// Codecs, at least one, in the order of the registry; [`crate::codec::parse_list`] gives them so.
    pub codecs: Vec<Arc<dyn Codec>>,
    /// The analyzer.
    pub analyzer: AnalyzerSpec,
    /// How inputs are read.
    pub corpus: CorpusOptions,
    /// How parsing and sorting share the time.
    pub pipeline: Pipeline,
    /// What sorts the blocks.
    pub sorter: SorterChoice,
    /// What inflates gzip members.
    pub inflate: InflateChoice,
    /// The GPU that they run on, if they need one.
    pub device: Choice,
    /// Keys in a block; 0 lets the plan choose powers of two.
    pub block_keys: usize,
    /// Bytes of device memory that the sorter may take; 0 for all of it.
    pub device_memory: u64,
    /// Where to draw the lanes.
    pub timeline: Option<PathBuf>,
    /// Keep URLs (docs.zst grows by them).
    pub store_urls: bool,
    /// Keep titles.
    pub store_titles: bool,
    /// Store the texts of documents.
    pub store_texts: bool,
    /// Follow the links of pages and store each document's PageRank; so does an order by it.
    pub links: bool,
    /// Store a quantised impact for every posting of a list.
    pub impacts: bool,
    /// Store the table of every long list.
    pub tables: bool,
    /// Write down from time to time what a later process can go on with, and go on with what an earlier one left.
    pub resume: bool,
    /// What the build may use, who can end it, and who hears of it.
    pub means: Means,
}

impl BuildOptions {
    /// A build of `inputs` into `output` with the defaults of the command line.
    pub fn new(inputs: Vec<PathBuf>, output: PathBuf) -> Self {
        Self {
            inputs,
            feed: None,
            output,
            force: false,
            order: Order::input(),
            codecs: crate::codec::parse_list("para-ef").expect("a codec of the registry"),
            analyzer: AnalyzerSpec::named("simple"),
            corpus: CorpusOptions::default(),
            pipeline: Pipeline::Overlapped,
            sorter: SorterChoice::Auto,
            inflate: InflateChoice::Auto,
            device: Choice::Auto,
            block_keys: 0,
            device_memory: 0,
            timeline: None,
            store_urls: true,
            store_titles: true,
            store_texts: false,
            links: false,
            impacts: false,
            tables: false,
            resume: false,
            means: Means::default(),
        }
    }
}

impl BuildOptions {
    /// Whether documents are weights of terms: then a score is their sum, and their impacts are always stored.
    pub fn weights(&self) -> bool {
        self.corpus.weights.is_some()
    }
}

/// The parts of a build, for progress; see also [`crate::index::change::stage`].
pub mod stage {
    use crate::base::means::{Stage, Unit};

    const POSTINGS: Unit = Unit::Things("postings");

    /// Reading, parsing, sorting, spilling. Its unit is bytes of input on disk.
    pub const PARSE: Stage = Stage { name: "parsing", unit: Unit::Bytes };
    /// Ranking documents by their links.
    pub const RANK: Stage = Stage { name: "ranking", unit: Unit::Unknown };
    /// Drawing synthetic lists to learn how long the documents are.
    pub const LENGTHS: Stage = Stage { name: "lengths", unit: POSTINGS };
    /// Merging and encoding.
    pub const MERGE: Stage = Stage { name: "merging", unit: POSTINGS };
    /// Checksums, manifest, publication.
    pub const FINISH: Stage = Stage { name: "finishing", unit: Unit::Unknown };
}
