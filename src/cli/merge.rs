//! `gamut merge`: several finished indexes as one.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;

use super::import::{Tf, analyzer_named};
use super::ui;
use crate::Error;
use crate::base::json::{self, document};
use crate::ciff::merge::{Given, merge};
use crate::index::change::merge::{Encoded, Found, Merge, Merged, OnDuplicate, Share, Shares, encode_lists, share_of};
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
/// Several machines can share a merge. Each of them walks all dictionaries and encodes a share of the lists to a file,
/// with --lists. The merge takes these with --with, in any order. It encodes the shares that no file has, so that share
/// 1 needs none. A file of other indexes, or of the same in another order, is refused.
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
  gamut merge out/part-* --lists 2/2 -o out/lists-2                  on one machine, and then on another one:
  gamut merge out/part-* -o out/all --with out/lists-2

Exit code: 0 if done. 2 if not; nothing is written then.", crate::order::help()))]
pub struct Args {
    /// Directories of indexes and CIFF files, in the order of their documents
    #[arg(required = true, value_name = "INDEX")]
    indexes: Vec<PathBuf>,
    /// Directory of the new index, or with --lists the file of the lists
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// Replace an existing index, or file of lists. The index may be one of those that are merged
    #[arg(long)]
    force: bool,
    /// Only encode a share of the lists, such as 2/3, and write it to the file -o, for a merge of the same indexes
    #[arg(long, value_name = "I/N", conflicts_with_all = ["with", "codec", "analyzer"])]
    lists: Option<Share>,
    /// Take these lists from files that --lists has written, of the same indexes and options
    #[arg(long, value_name = "FILE", num_args = 1..)]
    with: Vec<PathBuf>,
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
    /// What a posting's tf is in CIFF files. If this is left out: what it is in the first index, or else frequencies
    #[arg(long = "as", value_enum, value_name = "WHAT")]
    tf: Option<Tf>,
    #[command(flatten)]
    threads: ui::Threads,
    #[command(flatten)]
    memory: ui::Memory,
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
        shares: None,
        means: ui::means(args.threads.start()?, args.memory.bytes(), args.quiet),
    };
    let given = Given {
        codecs: args.codec.as_deref().map(crate::codec::parse_list).transpose()?,
        analyzer: args.analyzer.as_deref().map(analyzer_named).transpose()?,
        weights: args.tf.map(|tf| tf == Tf::Impacts),
    };
    let of_files =
        [("--codec", args.codec.is_some()), ("--analyzer", args.analyzer.is_some()), ("--as", given.weights.is_some())];
    if let Some((option, _)) = of_files.iter().find(|(_, is_given)| *is_given)
        && args.indexes.iter().all(|path| path.is_dir())
    {
        anyhow::bail!("{option} is for CIFF files, and all inputs are directories of indexes; leave it out");
    }
    if let Some(share) = args.lists {
        let done = encode_lists(&change, share)?;
        drop(change);
        tell_missing(&done.missing_parts);
        write_lists(&mut io::stdout().lock(), args, &done).context("cannot write the result")?;
        return Ok(ExitCode::SUCCESS);
    }
    let files = shares_of(&args.with)?;
    let found = |number: u32| Ok(found_in(&files, number));
    let shares = files.values().next().map(|(share, _)| Shares { of: share.of(), found: &found });
    let done = merge(&Merge { shares, ..change }, &given)?;
    if done.ranks_gone {
        tell!("gamut: {RANKS_GONE}");
    }
    tell_missing(&done.missing_parts);
    write_done(&mut io::stdout().lock(), args, &done).context("cannot write the result")?;
    Ok(ExitCode::SUCCESS)
}

/// Files of lists, and their shares, by number.
pub type Files = BTreeMap<u32, (Share, PathBuf)>;

/// The shares that files have.
///
/// # Errors
/// See [`share_of`]; [`Error::Invalid`] for shares of different numbers, and for one that is there twice.
pub fn shares_of(paths: &[PathBuf]) -> crate::Result<Files> {
    let mut files = Files::new();
    for path in paths {
        let share = share_of(path)?;
        let refused = |why: String| Err(Error::Invalid { what: path.display().to_string(), why });
        if let Some((other, first)) = files.values().find(|(other, _)| other.of() != share.of()) {
            return refused(format!("is share {share}, but {} is share {other}", first.display()));
        }
        if let Some((_, first)) = files.insert(share.number(), (share, path.clone())) {
            return refused(format!("is share {share}, and so is {}; leave one of them out", first.display()));
        }
    }
    Ok(files)
}

/// The file of a share.
pub fn found_in(files: &Files, number: u32) -> Found {
    files.get(&number).map_or(Found::Never, |(_, path)| Found::File(path.clone()))
}

fn tell_missing(parts: &[String]) {
    if !parts.is_empty() {
        tell!("gamut: {}", missing(parts));
    }
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

/// What was encoded, as JSON.
pub fn lists_report(done: &Encoded) -> serde_json::Value {
    serde_json::json!({
        "share": done.share.to_string(),
        "terms": done.terms,
        "postings": done.postings,
        "bytes": done.bytes,
        "check_seconds": done.check_seconds,
        "terms_seconds": done.terms_seconds,
        "lists_seconds": done.lists_seconds,
    })
}

fn write_lists(out: &mut impl Write, args: &Args, done: &Encoded) -> io::Result<()> {
    if args.json {
        let lists = lists_report(done);
        let report = serde_json::json!({ "file": json::path(&args.output), "merged": json::paths(&args.indexes), "missing_parts": done.missing_parts, "lists": lists });
        return document(out, &report);
    }
    let Encoded { share, terms, postings, bytes, .. } = done;
    let path = args.output.display();
    writeln!(out, "{path}: share {share} of the lists: {terms} terms, {postings} postings in {bytes} bytes")?;
    let Encoded { check_seconds, terms_seconds, lists_seconds, .. } = done;
    writeln!(out, "checksums {check_seconds:.2} s, terms {terms_seconds:.2} s, lists {lists_seconds:.2} s")
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
        let report = serde_json::json!({ "index": json::path(&args.output), "merged": json::paths(&args.indexes), "missing_parts": done.missing_parts, "shares_taken": done.shares_taken, "union": report(done) });
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
    if !args.with.is_empty() {
        writeln!(out, "{} shares of the lists came from files", done.shares_taken)?;
    }
    writeln!(out, "{}", times(done))
}
