//! `gamut import`: an index from a CIFF file.

use super::ui;
use crate::base::json;
use crate::ciff::{ImportOptions, Imported, import};
use crate::order::Order;
use crate::pipeline::report::count as grouped;
use crate::text::AnalyzerSpec;
use std::path::PathBuf;
use std::process::ExitCode;

/// Make an index from a CIFF file, the Common Index File Format of Anserini, PISA, Terrier and others.
///
/// gamut takes documents in the order of their docids, and lengths as they stand. BM25 goes by the statistics of the
/// header, so a file may be a part of a collection. The file may be compressed with gzip or zstd. It is read twice,
/// because it ends with the documents; memory stays bounded, but for the longest list.
#[derive(clap::Args, Debug)]
#[command(after_long_help = "\
Examples:
  gamut import robust04.ciff.gz -o out/robust04 --analyzer lucene-english
  gamut query out/robust04 international organized crime

  gamut import shard.ciff -o out/shard                  nobody knows the analyzer
  gamut query out/shard intern organ crime              so queries are ready terms

  gamut import spladev3.ciff -o out/splade --as impacts
  gamut query out/splade --topics splade.jsonl --run splade.run

Terms may come in any order, but none twice; docids may have holes. A file that breaks the format gives one line with
the byte and the record, and no index.

Exit code: 0 if done, 2 if not; there is no index then, or the one that was there before.")]
pub struct Args {
    /// The CIFF file
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Directory of the new index
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// Replace the index if it already exists
    #[arg(long)]
    force: bool,
    /// What a posting's tf is
    #[arg(long = "as", value_enum, default_value = "frequencies", value_name = "WHAT")]
    tf: Tf,
    /// What the weights of `--as impacts` were multiplied by, which merges and appends go by [default: nobody knows]
    #[arg(long, value_name = "X")]
    vector_scale: Option<f64>,
    /// Order of the docIDs
    #[arg(long, default_value = "input", value_name = "ORDER", help = order_help())]
    order: Order,
    /// Codecs for the docIDs, separated by commas, or "all"
    #[arg(long, default_value = "para-ef", value_name = "LIST", help = codec_help())]
    codec: String,
    /// The analyzer that made the terms, for queries; without it their words are ready terms [default: unknown]
    #[arg(long, value_name = "NAME")]
    analyzer: Option<String>,
    /// File of the stop words that the analyzer left out, one a line, in place of its own
    #[arg(long, value_name = "FILE", requires = "analyzer")]
    stop_words: Option<PathBuf>,
    /// Also store an 8-bit quantised BM25 score (impact) of every posting
    #[arg(long)]
    impacts: bool,
    /// Also store a bitmap and score bounds of every long list
    #[arg(long)]
    tables: bool,
    #[command(flatten)]
    threads: ui::Threads,
    #[command(flatten)]
    memory: ui::Memory,
    /// Print no progress and no summary
    #[arg(short, long)]
    quiet: bool,
    /// Print what was imported as JSON
    #[arg(long)]
    json: bool,
}

/// What a posting's `tf` is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Tf {
    /// How often the term stands in the document
    Frequencies,
    /// A weight from 1 to 255 that another program made: a document's score is the sum of its weights
    Impacts,
}

/// The name of an analyzer that nobody knows.
const UNKNOWN: &str = "unknown";

/// The analyzer of a name, or an unknown one.
///
/// # Errors
/// See [`AnalyzerSpec::parse`].
pub fn analyzer_named(name: &str) -> crate::Result<AnalyzerSpec> {
    if name == UNKNOWN { Ok(AnalyzerSpec::unknown()) } else { AnalyzerSpec::parse(name, None) }
}

fn order_help() -> String {
    format!("Order of the docIDs: {}. \"input\" is that of the file", crate::order::names())
}

fn codec_help() -> String {
    format!("Codecs for the docIDs, separated by commas, or \"all\": {}", crate::codec::names().join(", "))
}

/// Imports.
///
/// # Errors
/// What [`import()`] returns, and an unreadable file of stop words.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let analyzer = match (args.analyzer.as_deref(), args.stop_words.as_deref()) {
        (Some(name), Some(words)) => AnalyzerSpec::parse(name, Some(words))?,
        (name, _) => analyzer_named(name.unwrap_or(UNKNOWN))?,
    };
    let options = ImportOptions {
        force: args.force,
        order: args.order.clone(),
        codecs: crate::codec::parse_list(&args.codec)?,
        analyzer,
        weights: args.tf == Tf::Impacts,
        scale: args.vector_scale,
        impacts: args.impacts,
        tables: args.tables,
        means: ui::means(args.threads.start()?, args.memory.bytes(), args.quiet),
        ..ImportOptions::new(args.file.clone(), args.output.clone())
    };
    let done = import(&options)?;
    drop(options);
    if args.json {
        json::print(&done)?;
    }
    if !args.quiet {
        tell!("{}", summary(&done).trim_end());
    }
    Ok(ExitCode::SUCCESS)
}

fn summary(done: &Imported) -> String {
    let mut lines = vec![format!(
        "{}: {} documents, {} terms, {} postings from {}",
        done.index.display(),
        grouped(done.documents),
        grouped(done.terms),
        grouped(done.postings),
        done.file.display()
    )];
    if !done.description.is_empty() {
        lines.push(format!("the file says: {}", ui::printable(&done.description)));
    }
    lines.extend(done.remarks.iter().map(|remark| format!("gamut: {remark}")));
    let speed = done.content_bytes as f64 / 1e6 / (done.skim_seconds + done.list_seconds).max(1e-9);
    let order = if done.order_seconds > 0.0 { format!(", order {:.2} s", done.order_seconds) } else { String::new() };
    lines.push(format!(
        "{:.2} s (first pass {:.2} s, lists {:.2} s{order}), {speed:.0} MB/s of CIFF; {} bytes became {}; {} MiB of memory",
        done.seconds,
        done.skim_seconds,
        done.list_seconds,
        grouped(done.content_bytes),
        grouped(done.index_bytes),
        done.peak_memory >> 20
    ));
    lines.join("\n") + "\n"
}
