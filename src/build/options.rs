//! What a build is asked to do, and how it tells what it does.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use crate::corpus::CorpusOptions;
use crate::index::reencode::Phase;
use crate::order::Order;
use crate::text::AnalyzerSpec;

/// How parsing and sorting share the time: the three indexers of Capannini et al., figure 7.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Pipeline {
    /// Block i+1 is parsed while block i is sorted (Index_gpu+).
    Overlapped,
    /// Parse a block, then sort it, in turn (Index_gpu).
    Serial,
    /// As serial, sorted on the CPU (Index_cpu).
    Cpu,
}

/// Options of [`super::build`].
#[derive(Clone, Debug)]
pub struct BuildOptions {
    /// Files and directories, in the order given.
    pub inputs: Vec<PathBuf>,
    /// The index directory to make.
    pub output: PathBuf,
    /// Replace an existing index.
    pub force: bool,
    /// What decides the docIDs.
    pub order: Order,
    /// Names of codecs, as the registry knows them.
    pub codecs: Vec<String>,
    /// The analyzer.
    pub analyzer: AnalyzerSpec,
    /// How inputs are read.
    pub corpus: CorpusOptions,
    /// Worker threads; 0 takes one per core.
    pub threads: usize,
    /// Bytes of memory for the whole process; 0 takes a quarter of the machine's.
    pub memory: u64,
    /// How parsing and sorting share the time.
    pub pipeline: Pipeline,
    /// A name of the sorter registry, or `auto`.
    pub sorter: String,
    /// Name or index of a GPU adapter; `None` lets `auto` choose.
    pub device: Option<String>,
    /// Keys in a block, a power of two; 0 lets the plan choose.
    pub block_keys: usize,
    /// Where to draw the lanes.
    pub timeline: Option<PathBuf>,
    /// Keep URLs (docs.zst grows by them).
    pub store_urls: bool,
    /// Keep titles.
    pub store_titles: bool,
    /// Follow the links of pages and store each document's PageRank; so does an order by it.
    pub links: bool,
    /// Store a quantised impact for every posting of a list.
    pub impacts: bool,
    /// Set from outside to stop the build; it then ends with [`crate::Error::Interrupted`].
    pub cancel: Arc<AtomicBool>,
}

impl BuildOptions {
    /// A build of `inputs` into `output` with the defaults of the command line.
    pub fn new(inputs: Vec<PathBuf>, output: PathBuf) -> Self {
        Self {
            inputs,
            output,
            force: false,
            order: Order::Input,
            codecs: vec!["para-ef".into()],
            analyzer: AnalyzerSpec { name: "simple".into(), stop_words: None },
            corpus: CorpusOptions::default(),
            threads: 0,
            memory: 0,
            pipeline: Pipeline::Overlapped,
            sorter: "auto".into(),
            device: None,
            block_keys: 0,
            timeline: None,
            store_urls: true,
            store_titles: true,
            links: false,
            impacts: false,
            cancel: Arc::default(),
        }
    }
}

/// A phase of a build, or of a change to a built index, as progress shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Reading, parsing, sorting, spilling. Unit: bytes of input on disk.
    Parse,
    /// Ranking documents by their links. No unit.
    Rank,
    /// Drawing synthetic lists to learn how long the documents are. Unit: postings.
    Lengths,
    /// Merging and encoding. Unit: keys.
    Merge,
    /// Checksums, manifest, publication. No unit.
    Finish,
    /// Which document gets which docID. Unit: documents halved.
    Order,
    /// Lists of a built index into other codecs. Unit: postings.
    Encode,
    /// What was written against what it was made from. Unit: postings.
    Compare,
    /// Quantised impacts of a built index. Unit: postings.
    Impacts,
}

/// Hears how far a build is. Called from several threads.
pub trait Progress: Send + Sync {
    /// A stage begins; `total` units lie ahead.
    fn begin(&self, stage: Stage, total: u64);
    /// Units done since the last call.
    fn advance(&self, units: u64);
    /// Something the user should read now, one line.
    fn note(&self, line: &str);
}

/// Says nothing.
pub struct SilentProgress;

impl Progress for SilentProgress {
    fn begin(&self, _: Stage, _: u64) {}
    fn advance(&self, _: u64) {}
    fn note(&self, _: &str) {}
}

/// Tells `progress` about the phases of a change to a built index.
pub fn phases(progress: &dyn Progress) -> impl Fn(Phase, u64, u64) + Sync {
    let current = Mutex::new(None);
    move |phase, done, total| {
        let stage = match phase {
            Phase::Order => Stage::Order,
            Phase::Encode => Stage::Encode,
            Phase::Compare => Stage::Compare,
            Phase::Impacts => Stage::Impacts,
        };
        let mut current = current.lock().unwrap_or_else(PoisonError::into_inner);
        if *current != Some(stage) {
            *current = Some(stage);
            progress.begin(stage, total);
        }
        progress.advance(done);
    }
}
