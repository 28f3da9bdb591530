//! `gamut index`

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::Error;
use crate::base::json;
use crate::base::memory::parse_size;
use crate::bench::beside::named_file;
use crate::cli::ui;
use crate::corpus::{CorpusOptions, Part, Weights};
use crate::gpu::Choice;
use crate::inflate::InflateChoice;
use crate::order::Order;
use crate::pipeline;
use crate::pipeline::{BuildOptions, Pipeline};
use crate::sort::SorterChoice;
use crate::text::{AnalyzerSpec, MAX_LINKS, MAX_TERM_BYTES};

/// Build an index from a crawl or a collection.
///
/// gamut detects formats by content, not by file name; --format gives one instead. Files may be compressed with gzip,
/// zstd or bzip2. gamut walks directories, and reads files in natural order.
#[derive(clap::Args, Debug)]
#[command(after_long_help = format!("{}\n\nExamples:\n  \
    gamut index crawl.warc.gz -o out/crawl\n  \
    gamut index GOV2/ -o out/gov2 --analyzer english --codec all --memory 32GiB\n  \
    gamut index crawl.warc.gz -o out/crawl --store\n  \
    gamut index crawl/ --part 3/8 -o out/part3        on the third of eight machines\n  \
    gamut index GOV2/ -o out/gov2 --resume\n  \
    gamut index corpus.jsonl -o out/beir --timeline out/beir.svg\n  \
    gamut index splade/ -o out/splade --vector-field vector --vector-scale 70", rules()))]
pub struct Args {
    /// Files and directories to index
    #[arg(required = true, value_name = "INPUT")]
    inputs: Vec<PathBuf>,
    /// Directory of the new index
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// Replace the index if it already exists
    #[arg(long)]
    force: bool,
    /// Order of the docIDs
    #[arg(long, default_value = "input", value_name = "ORDER", help = order_help())]
    order: Order,
    /// Codecs for the docIDs, separated by commas, or "all"
    #[arg(long, default_value = "para-ef", value_name = "LIST", help = codec_help(), long_help = codec_long_help())]
    codec: String,
    /// How text becomes terms
    #[arg(long, value_name = "NAME", help = analyzer_help())]
    analyzer: Option<String>,
    /// File of stop words, one a line, that replace the analyzer's own
    #[arg(long, value_name = "FILE")]
    stop_words: Option<PathBuf>,
    /// Format of all files
    #[arg(long, value_name = "NAME", help = format_help(), long_help = format_long_help())]
    format: Option<String>,
    /// JSON field that contains the external id [default: id, _id, pid, docid or docno]
    #[arg(long, value_name = "NAME")]
    id_field: Option<String>,
    /// JSON fields that contain the text, separated by commas [default: contents, text, body, passage or segment]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    text_field: Option<Vec<String>>,
    /// JSON field that contains the title [default: title]
    #[arg(long, value_name = "NAME")]
    title_field: Option<String>,
    /// JSON field with an object of terms and weights, in place of a text: documents of learned models such as SPLADE
    /// and uniCOIL (Anserini's JsonVectorCollection has "vector"). A score is the sum of a document's weights, times
    /// those of the query
    #[arg(long, value_name = "NAME", conflicts_with_all = ["text_field", "store", "links", "stop_words"])]
    vector_field: Option<String>,
    /// Multiply weights before they are rounded to whole numbers, which must be from 0 to 255 [default: 1]
    #[arg(long, value_name = "X", requires = "vector_field")]
    vector_scale: Option<f64>,
    /// Index only part i of n of the input, from 1/n to n/n, so that n machines share a crawl. Parts are cut by bytes
    /// on disk. A part has the records that begin in it; a file that cannot be cut (one gzip member, or a page) is of
    /// the part where its first byte lies. `gamut merge` of all parts in their order gives the index of the whole input
    #[arg(long, value_name = "i/n", default_value_t = Part::WHOLE, hide_default_value = true)]
    part: Part,
    /// Do not store URLs
    #[arg(long)]
    no_urls: bool,
    /// Do not store titles
    #[arg(long)]
    no_titles: bool,
    /// Also store the text of every document, compressed, for `query --snippets` and `dump --text`
    #[arg(long)]
    store: bool,
    /// Follow the links between pages and store each page's PageRank, for `reorder --order pagerank`
    #[arg(long)]
    links: bool,
    /// Also store an 8-bit quantised BM25 score (impact) of every posting. Queries can then add integers, and every
    /// engine returns the same scores to the bit
    #[arg(long)]
    impacts: bool,
    /// Also store a bitmap and score bounds of every long list, so that no query has to make them.
    /// They take a byte per posting and a fifth of a byte per document for each list
    #[arg(long)]
    tables: bool,
    #[command(flatten)]
    threads: ui::Threads,
    #[command(flatten)]
    memory: ui::Memory,
    /// How parsing and sorting share the time
    #[arg(long, value_enum, default_value = "overlapped")]
    pipeline: Pipeline,
    /// Sorter of the blocks; "auto" takes a hardware GPU if there is one
    #[arg(long, default_value = "auto", value_name = "NAME", help = sorter_help())]
    sorter: String,
    /// Where members of gzip files are inflated: auto, gpu, cpu. With gpu, a GPU inflates the members of large WARC
    /// files (and of others that have many) ahead of the workers, and takes up to a quarter of --memory for that;
    /// the CPU inflates what is long, damaged or refused, so that the index has the same bytes. auto takes a hardware
    /// GPU if `gamut bench inflate --keep` has found it at least half as fast as all threads together, and else the CPU
    #[arg(long, default_value = "auto", value_name = "PLACE")]
    inflate: String,
    /// Name or number of the GPU, as `gamut devices` prints them
    #[arg(long, value_name = "NAME")]
    device: Option<String>,
    /// Keys in a block, from 4096 on. A block is sorted at once and becomes a run [default: what --memory
    /// allows; if the CPU sorts, 2^21 at first, and later up to a sixteenth of those before]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1 << 12..=1 << 30))]
    block_keys: Option<u32>,
    /// Memory of the GPU that the sorter may take, such as 512MiB. Sorters with a second buffer then get smaller blocks
    #[arg(long, value_parser = parse_size, value_name = "SIZE")]
    device_memory: Option<u64>,
    /// Draw when CPU and GPU were busy, as SVG
    #[arg(long, value_parser = named_file(), value_name = "FILE")]
    timeline: Option<PathBuf>,
    /// Go on where an earlier build of the same inputs into DIR ended, whatever ended it, and write down what a later
    /// one can go on with. The bytes of the index are the same. A first build may have it, too. --memory, --threads and
    /// how blocks are sorted may change; inputs and all that decides the index may not
    #[arg(long)]
    resume: bool,
    /// Exit with 1 if any input was damaged
    #[arg(long)]
    strict: bool,
    /// Print no progress and no summary
    #[arg(short, long)]
    quiet: bool,
    /// Print the build report as JSON
    #[arg(long)]
    json: bool,
}

/// The rules of the readers, with the limits of what becomes of text.
fn rules() -> String {
    let word = format!("{MAX_TERM_BYTES} bytes; longer ones are dropped and counted");
    let links = format!("{MAX_LINKS}; later ones are dropped");
    crate::corpus::rules(&[("word", word), ("links of a page", links)])
}

fn format_help() -> String {
    format!(
        "Format of all files: {} [default: each file's own, by its content]",
        crate::corpus::format_names().join(", ")
    )
}

fn format_long_help() -> String {
    let names = crate::corpus::format_names().join(", ");
    format!(
        "Format of all files: {names}. gamut then guesses nothing, and reports what does not fit as damage. The end of this \
         help describes each format [default: each file's own, by its content]"
    )
}

fn codec_help() -> String {
    format!("Codecs for the docIDs, separated by commas, or \"all\": {}", crate::codec::names().join(", "))
}

fn codec_long_help() -> String {
    format!(
        "Codecs for the docIDs, separated by commas, or \"all\". Parameters follow a colon:\n{}",
        crate::codec::help()
    )
}

fn order_help() -> String {
    format!(
        "Order of the docIDs: {}. bp gives the smallest and fastest index. See `gamut reorder`",
        crate::order::names()
    )
}

fn analyzer_help() -> String {
    let names: Vec<_> = crate::text::analyzers().iter().map(|(name, _)| *name).collect();
    format!(
        "How text becomes terms: {} [default: simple; with --vector-field unknown, and the words of queries are ready \
         terms]",
        names.join(", ")
    )
}

fn sorter_help() -> String {
    let names: Vec<_> = crate::sort::SORTERS.iter().map(|s| s.name).collect();
    format!(
        "Sorter of the blocks: auto (bitonic on a hardware GPU if there is one, --memory is 512 MiB or more and the input \
         has 128 MiB for each thread, else cpu), {}",
        names.join(", ")
    )
}

/// Builds.
///
/// # Errors
/// What [`pipeline::build`] returns, and an unreadable stop-word file.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let options = args.options()?;
    let report = pipeline::build(&options)?;
    if args.json {
        json::print(&report)?;
    }
    let damaged = args.strict && report.skipped.damage() > 0;
    if !args.quiet {
        tell!("{}", report.summary().trim_end());
    } else if let Some(line) = report.unread().or_else(|| damaged.then(|| report.skipped.damaged())) {
        tell!("gamut: {line}");
    }
    Ok(if damaged { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

/// The analyzer that is asked for. Of weights of terms nobody knows what made the terms, unless the user does.
///
/// # Errors
/// See [`AnalyzerSpec::parse`]; [`Error::Invalid`] for stop words of weights.
pub fn analyzer(name: Option<&str>, stop_words: Option<&Path>, weights: bool) -> crate::Result<AnalyzerSpec> {
    if let (Some(words), true) = (stop_words, weights) {
        let why = "are for texts, not for weights of terms".to_owned();
        return Err(Error::Invalid { what: format!("stop words {}", words.display()), why });
    }
    match (name, weights) {
        (name, false) => AnalyzerSpec::parse(name.unwrap_or("simple"), stop_words),
        (Some(name), true) => super::import::analyzer_named(name),
        (None, true) => Ok(AnalyzerSpec::unknown()),
    }
}

impl Args {
    fn options(&self) -> anyhow::Result<BuildOptions> {
        let defaults = CorpusOptions::default();
        Ok(BuildOptions {
            force: self.force,
            order: self.order.clone(),
            codecs: crate::codec::parse_list(&self.codec)?,
            analyzer: analyzer(self.analyzer.as_deref(), self.stop_words.as_deref(), self.vector_field.is_some())?,
            corpus: CorpusOptions {
                format: self.format.clone(),
                id_field: self.id_field.clone().or(defaults.id_field),
                text_field: self.text_field.clone().or(defaults.text_field),
                title_field: self.title_field.clone(),
                weights: self.vector_field.clone().map(|field| Weights::new(field, self.vector_scale)).transpose()?,
                part: self.part,
                ..CorpusOptions::default()
            },
            pipeline: self.pipeline,
            sorter: SorterChoice::parse(&self.sorter)?,
            inflate: InflateChoice::parse(&self.inflate)?,
            device: Choice::parse(self.device.as_deref().unwrap_or_default()),
            block_keys: self.block_keys.map_or(0, |keys| keys as usize),
            device_memory: self.device_memory.unwrap_or(0),
            timeline: self.timeline.clone(),
            store_urls: !self.no_urls,
            store_titles: !self.no_titles,
            store_texts: self.store,
            links: self.links,
            impacts: self.impacts,
            tables: self.tables,
            resume: self.resume,
            means: ui::means(self.threads.start()?, self.memory.bytes(), self.quiet),
            ..BuildOptions::new(self.inputs.clone(), self.output.clone())
        })
    }
}
