//! `gamut merge`: several finished indexes as one.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;

use super::import::{Tf, analyzer_named};
use super::ui;
use crate::base::json::document;
use crate::base::memory::parse_size;
use crate::ciff::merge::{Given, merge};
use crate::index::change::merge::{Merge, Merged, OnDuplicate};
use crate::order::Order;

/// Make one index of several finished ones, and of CIFF files.
///
/// The new index has the bytes that `gamut index` would have written for all their inputs, given in this order. So
/// parts of a crawl can be indexed at different times or on different machines, and merging them is many times faster
/// than building again. All indexes must have the same analyzer, codecs and options; gamut says what differs. Scores
/// change, as they do in a build: idf and mean length are those of the whole collection. Impacts and tables are made
/// again. Ranks by links are left out, since only a build knows the links.
///
/// Indexes of parts of an input (`gamut index --part`) know which part they are. gamut refuses a part that is there
/// twice, or behind a later one, and names those that are missing.
///
/// An INDEX that is a file is a CIFF file, which `gamut import` reads first: with the analyzer, codecs, impacts and
/// tables of the first index. That takes the disk space of its index for a while. Imported indexes that have all
/// documents of their collections add up. Parts of one collection stay parts of it. Others are refused, because nobody
/// knows the statistics of their union.
#[derive(Debug, clap::Args)]
#[command(after_long_help = format!("\
Orders:{}

Examples:
  gamut merge out/2024 out/2025 out/2026 -o out/all
  gamut merge out/part-* -o out/all --memory 8GiB
  gamut merge out/old out/new -o out/all --on-duplicate keep-last    new versions of pages replace old ones
  gamut merge out/a out/b -o out/all --order url                     in another order than they have
  gamut merge day1.ciff.gz day2.ciff.gz -o out/days --analyzer english
  gamut merge out/crawl others.ciff -o out/all                       with the options of the index

Exit code: 0 if done. 2 if not; nothing is written then.", crate::order::help()))]
pub struct Args {
    /// Directories of indexes and CIFF files, in the order of their documents
    #[arg(required = true, value_name = "INDEX")]
    indexes: Vec<PathBuf>,
    /// Directory of the new index
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// Replace an existing index. It may be one of those that are merged
    #[arg(long)]
    force: bool,
    /// The order of the documents [default: that of the indexes]
    #[arg(long, value_name = "ORDER")]
    order: Option<Order>,
    /// What to do with documents of the same external id: keep-all, keep-first, keep-last, or fail
    #[arg(long, value_name = "CHOICE", default_value_t = OnDuplicate::KeepAll)]
    on_duplicate: OnDuplicate,
    /// Codecs for CIFF files, separated by commas [default: those of the first index, or para-ef]
    #[arg(long, value_name = "LIST")]
    codec: Option<String>,
    /// The analyzer that made the terms of CIFF files [default: that of the first index, or unknown]
    #[arg(long, value_name = "NAME")]
    analyzer: Option<String>,
    /// What a posting's tf is in CIFF files
    #[arg(long = "as", value_enum, default_value = "frequencies", value_name = "WHAT")]
    tf: Tf,
    /// Number of threads [default: one per core]
    #[arg(long, default_value_t = 0, hide_default_value = true, value_name = "N")]
    threads: usize,
    /// Memory limit, such as 4GiB; pages of the indexes that the system caches do not count [default: a quarter of the
    /// machine's]
    #[arg(long, value_parser = parse_size, default_value = "0", hide_default_value = true, value_name = "SIZE")]
    memory: u64,
    /// Print no progress
    #[arg(short, long)]
    quiet: bool,
    /// Print one JSON object instead of lines
    #[arg(long)]
    json: bool,
}

/// Runs the command.
///
/// # Errors
/// See [`merge()`]; the output cannot be written.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let change = Merge {
        inputs: &args.indexes,
        output: &args.output,
        force: args.force,
        order: args.order.clone(),
        on_duplicate: args.on_duplicate,
        impacts: None,
        tables: None,
        means: ui::means(args.threads, args.memory, args.quiet),
    };
    let given = Given {
        codecs: args.codec.as_deref().map(crate::codec::parse_list).transpose()?,
        analyzer: args.analyzer.as_deref().map(analyzer_named).transpose()?,
        weights: args.tf == Tf::Impacts,
    };
    let of_files =
        [("--codec", args.codec.is_some()), ("--analyzer", args.analyzer.is_some()), ("--as", given.weights)];
    if let Some((option, _)) = of_files.iter().find(|(_, is_given)| *is_given)
        && args.indexes.iter().all(|path| path.is_dir())
    {
        anyhow::bail!("{option} is for CIFF files, and all inputs are directories of indexes; leave it out");
    }
    let done = merge(&change, &given)?;
    drop(change);
    if done.ranks_gone {
        eprintln!("gamut: {RANKS_GONE}");
    }
    if !done.missing_parts.is_empty() {
        eprintln!("gamut: {}", missing(&done.missing_parts));
    }
    write_done(&mut io::stdout().lock(), args, &done).context("cannot write the result")?;
    Ok(ExitCode::SUCCESS)
}

/// What to say when ranks are gone.
pub const RANKS_GONE: &str = "ranks by links are left out; only `gamut index --links` of all inputs makes them";

/// What to say of parts of a crawl that are missing.
pub fn missing(parts: &[String]) -> String {
    let shown = parts[..parts.len().min(8)].join(", ");
    let more = if parts.len() > 8 { format!(" and {} more", parts.len() - 8) } else { String::new() };
    let [parts, are] = if parts.len() == 1 { ["part", "is"] } else { ["parts", "are"] };
    format!("{parts} {shown}{more} of the input {are} missing, or purged, which forgets the part: check what is merged")
}

/// What was done, as JSON.
pub fn report(done: &Merged) -> serde_json::Value {
    let s = done.statistics;
    serde_json::json!({
        "order": done.order,
        "documents": s.documents,
        "left_out": done.left_out,
        "terms": s.terms,
        "postings": s.postings,
        "tokens": s.tokens,
        "bytes": done.bytes,
        "ranks_gone": done.ranks_gone,
        "check_seconds": done.check_seconds,
        "terms_seconds": done.terms_seconds,
        "lists_seconds": done.lists_seconds,
        "finish_seconds": done.finish_seconds,
        "order_seconds": done.order_seconds,
    })
}

/// What took how long.
pub(super) fn times(done: &Merged) -> String {
    let order = if done.order_seconds > 0.0 { format!(", order {:.2} s", done.order_seconds) } else { String::new() };
    format!(
        "checksums {:.2} s, terms {:.2} s, lists and documents {:.2} s, finish {:.2} s{order}",
        done.check_seconds, done.terms_seconds, done.lists_seconds, done.finish_seconds
    )
}

fn write_done(out: &mut impl Write, args: &Args, done: &Merged) -> io::Result<()> {
    if args.json {
        let report = serde_json::json!({ "index": args.output, "merged": args.indexes, "missing_parts": done.missing_parts, "union": report(done) });
        return document(out, &report);
    }
    let s = done.statistics;
    writeln!(
        out,
        "{}: {} documents, {} terms, {} postings in {} bytes, from {} indexes",
        args.output.display(),
        s.documents,
        s.terms,
        s.postings,
        done.bytes,
        args.indexes.len()
    )?;
    if args.on_duplicate != OnDuplicate::KeepAll {
        writeln!(out, "{} documents left out that had the id of another one", done.left_out)?;
    }
    writeln!(out, "{}", times(done))
}
