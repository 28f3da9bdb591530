//! `gamut index`

use std::path::PathBuf;
use std::process::ExitCode;

use crate::build::{self, BuildOptions, Pipeline};
use crate::cli::ui;
use crate::corpus::CorpusOptions;
use crate::order::Order;
use crate::text::AnalyzerSpec;

/// Build an index from a crawl or a collection.
///
/// Formats are found by content: WARC, ARC, WET, TRECWEB, TREC newswire, MediaWiki XML, JSON lines,
/// TSV, plain text and HTML, each plain or compressed (gzip, zstd, bzip2). Directories are walked;
/// files are taken in natural order.
#[derive(clap::Args, Debug)]
#[command(after_long_help = format!("{}\n\nExamples:\n  \
    gamut index crawl.warc.gz -o out/crawl\n  \
    gamut index GOV2/ -o out/gov2 --analyzer english --codec all --memory 32GiB\n  \
    gamut index corpus.jsonl -o out/beir --timeline out/beir.svg", crate::corpus::RULES))]
pub struct Args {
    /// Files and directories
    #[arg(required = true, value_name = "INPUT")]
    inputs: Vec<PathBuf>,
    /// The index directory to make
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// Replace the index if it is already there
    #[arg(long)]
    force: bool,
    /// What decides the docIDs: input, url, bp (smaller and faster), pagerank, random:SEED, file:PATH; see `gamut reorder`
    #[arg(long, default_value = "input", value_name = "ORDER")]
    order: Order,
    /// Codecs for the docIDs, comma-separated, or "all"
    #[arg(long, default_value = "para-ef", value_name = "LIST", help = codec_help(), long_help = codec_long_help())]
    codec: String,
    /// How text becomes terms
    #[arg(long, default_value = "simple", value_name = "NAME", help = analyzer_help())]
    analyzer: String,
    /// Stop words instead of the analyzer's own: a file with one a line
    #[arg(long, value_name = "FILE")]
    stop_words: Option<PathBuf>,
    /// JSON field of the external id [default: id, _id, docid, docno or pid]
    #[arg(long, value_name = "NAME")]
    id_field: Option<String>,
    /// JSON fields of the text, comma-separated [default: contents, text, body, passage or segment]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    text_field: Option<Vec<String>>,
    /// Do not store URLs
    #[arg(long)]
    no_urls: bool,
    /// Do not store titles
    #[arg(long)]
    no_titles: bool,
    /// Follow the links between pages and store each page's PageRank, for `reorder --order pagerank`
    #[arg(long)]
    links: bool,
    /// Also store an 8-bit quantised BM25 score (impact) of every posting: queries then add integers, and every engine, CPU or
    /// GPU, returns the same scores to the bit
    #[arg(long)]
    impacts: bool,
    /// Worker threads [default: one per core]
    #[arg(long, default_value_t = 0, hide_default_value = true, value_name = "N")]
    threads: usize,
    /// Memory for the whole process, as 4GiB [default: a quarter of the machine's]
    #[arg(long, value_parser = build::plan::parse_size, default_value = "0", hide_default_value = true, value_name = "SIZE")]
    memory: u64,
    /// How parsing and sorting share the time
    #[arg(long, value_enum, default_value = "overlapped")]
    pipeline: Pipeline,
    /// What sorts the blocks; "auto" takes a hardware GPU if there is one
    #[arg(long, default_value = "auto", value_name = "NAME", help = sorter_help())]
    sorter: String,
    /// GPU by name or by its number in `gamut devices`
    #[arg(long, value_name = "NAME")]
    device: Option<String>,
    /// Draw what CPU and GPU did when, as SVG
    #[arg(long, value_name = "FILE")]
    timeline: Option<PathBuf>,
    /// Exit with 1 if any input was damaged
    #[arg(long)]
    strict: bool,
    /// No progress and no summary
    #[arg(short, long)]
    quiet: bool,
    /// Print the build report as JSON
    #[arg(long)]
    json: bool,
}

fn codec_help() -> String {
    format!("Codecs for the docIDs, comma-separated, or \"all\": {}", crate::codec::names().join(", "))
}

fn codec_long_help() -> String {
    format!("Codecs for the docIDs, comma-separated, or \"all\"; parameters follow a colon:\n{}", crate::codec::help())
}

fn analyzer_help() -> String {
    let names: Vec<_> = crate::text::analyzers().iter().map(|(name, _)| *name).collect();
    format!("How text becomes terms: {}", names.join(", "))
}

fn sorter_help() -> String {
    let names: Vec<_> = crate::sort::SORTERS.iter().map(|s| s.name).collect();
    format!("What sorts the blocks: auto (a hardware GPU if there is one, else the CPU), {}", names.join(", "))
}

/// Builds.
///
/// # Errors
/// What [`build::build`] returns, and an unreadable stop-word file.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let options = args.options()?;
    let report = build::build(&options, ui::Terminal::progress(args.quiet))?;
    if args.json {
        println!("{}", serde_json::to_string_pretty(&report)?);
    }
    if !args.quiet {
        eprint!("{}", report.summary());
    }
    Ok(if args.strict && report.skipped.damage() > 0 { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

impl Args {
    fn options(&self) -> anyhow::Result<BuildOptions> {
        let defaults = CorpusOptions::default();
        Ok(BuildOptions {
            force: self.force,
            order: self.order.clone(),
            codecs: vec![self.codec.clone()],
            analyzer: AnalyzerSpec::parse(&self.analyzer, self.stop_words.as_deref())?,
            corpus: CorpusOptions {
                id_field: self.id_field.clone().or(defaults.id_field),
                text_field: self.text_field.clone().or(defaults.text_field),
                ..CorpusOptions::default()
            },
            threads: self.threads,
            memory: self.memory,
            pipeline: self.pipeline,
            sorter: self.sorter.clone(),
            device: self.device.clone(),
            timeline: self.timeline.clone(),
            store_urls: !self.no_urls,
            store_titles: !self.no_titles,
            links: self.links,
            impacts: self.impacts,
            cancel: ui::cancel_on_signal(),
            ..BuildOptions::new(self.inputs.clone(), self.output.clone())
        })
    }
}
