//! `gamut reencode`: other codecs, impacts or tables for a built index.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;

use super::ui;
use crate::base::json::{self, document};
use crate::codec;
use crate::gpu::{Choice, Gpu};
use crate::index::Index;
use crate::index::change::reencode;
use crate::index::change::reencode::{Change, Changed, Estimate, PartChange};

/// Add, replace or remove codecs, impacts and tables of a finished index.
///
/// gamut decodes every list from one codec of the index and writes it in each codec that --codec names. Then it decodes
/// and compares everything that it wrote. If all of it is right, the changed index replaces the old one in one step. If
/// anything fails before that, the index stays as it was. The new folders have the bytes that `gamut index` would have
/// written.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  gamut reencode out/gov2 --estimate                     print the size in each codec
  gamut reencode out/gov2 --codec pef,simdbp             add two codecs, or write them again
  gamut reencode out/gov2 --codec parapfor:exceptions=0.1
  gamut reencode out/gov2 --codec best --drop para-ef    replace one codec by another
  gamut reencode out/gov2 --impacts                      store a quantised score of every posting
  gamut reencode out/gov2 --tables                       store bitmaps and score bounds of long lists
  gamut reencode out/gov2 --codec raw -o out/gov2-raw    write a changed copy

Exit code: 0 if done. 2 if not; the index then stays as it was.")]
pub struct Args {
    /// Directory of the index
    index: PathBuf,
    /// Codecs to write, separated by commas, or "all". Parameters follow a colon
    #[arg(short, long, value_name = "LIST")]
    codec: Option<String>,
    /// Write an 8-bit quantised BM25 score (impact) of every posting, as `gamut index --impacts` does
    #[arg(long, conflicts_with = "estimate")]
    impacts: bool,
    /// Write a bitmap and score bounds of every long list, as `gamut index --tables` does, so that no query
    /// has to make them
    #[arg(long, conflicts_with = "estimate")]
    tables: bool,
    /// Codecs to remove, separated by commas; "impacts" and "tables" remove those
    #[arg(long, value_delimiter = ',', value_name = "NAME", conflicts_with = "estimate")]
    drop: Vec<String>,
    /// Codec of the index to read the lists from [default: the last codec of the index]
    #[arg(long, value_name = "NAME")]
    from: Option<String>,
    /// Write nothing, and print the size in each codec, or in each codec of --codec
    #[arg(long)]
    estimate: bool,
    /// Write the changed index to this directory and leave the old one as it is. Both share unchanged files
    #[arg(short, long, value_name = "DIR", conflicts_with = "estimate")]
    output: Option<PathBuf>,
    /// Decode on this GPU: a name or number from `gamut devices`, or "auto" for a hardware GPU [default: decode on the
    /// CPU]
    #[arg(long, value_name = "NAME")]
    device: Option<String>,
    #[command(flatten)]
    threads: ui::Threads,
    /// Print no progress
    #[arg(short, long)]
    quiet: bool,
    /// Print one JSON object instead of lines
    #[arg(long)]
    json: bool,
}

/// What --drop calls impacts; no codec has the name.
pub const IMPACTS: &str = "impacts";
/// What --drop calls tables; no codec has the name.
pub const TABLES: &str = "tables";

/// What of --drop are codecs.
pub fn codecs_of(drop: &[String]) -> Vec<String> {
    drop.iter().filter(|name| ![IMPACTS, TABLES].contains(&name.as_str())).cloned().collect()
}

/// What becomes of a part by its flag and its name in --drop.
///
/// # Errors
/// It should be written and removed.
pub fn part_change(name: &str, write: bool, drop: &[String]) -> anyhow::Result<PartChange> {
    match (write, drop.iter().any(|dropped| dropped == name)) {
        (true, true) => anyhow::bail!("--{name} writes {name} and --drop {name} removes them; give one of the two"),
        (true, false) => Ok(PartChange::Write),
        (false, true) => Ok(PartChange::Remove),
        (false, false) => Ok(PartChange::Keep),
    }
}

/// Runs the command.
///
/// # Errors
/// See [`reencode::reencode`]; the output cannot be written.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    if args.codec.is_none() && args.drop.is_empty() && !args.estimate && !args.impacts && !args.tables {
        anyhow::bail!(
            "nothing to do with {}: --codec, --impacts and --tables add, --drop removes, --estimate prints sizes",
            args.index.display()
        );
    }
    let add = match args.codec.as_deref() {
        Some(list) => codec::parse_list(list)?,
        None if args.estimate => codec::all(),
        None => Vec::new(),
    };
    let gpu = args.device.as_deref().map(|name| Gpu::open(&Choice::parse(name))).transpose()?;
    let remove = codecs_of(&args.drop);
    let impacts = part_change(IMPACTS, args.impacts, &args.drop)?;
    let tables = part_change(TABLES, args.tables, &args.drop)?;
    let change = Change {
        add,
        remove,
        impacts,
        tables,
        from: args.from.as_deref(),
        output: args.output.as_deref(),
        gpu: gpu.as_ref(),
        means: ui::means(args.threads.start()?, 0, args.quiet),
    };
    if args.estimate {
        let estimates = reencode::estimate(&args.index, &change)?;
        let postings = Index::open(&args.index)?.statistics().postings;
        drop(change);
        write_estimates(&mut io::stdout().lock(), &estimates, postings, args.json)
            .context("cannot write the result")?;
    } else {
        let changed = reencode::reencode(&args.index, &change)?;
        drop(change);
        write_changed(&mut io::stdout().lock(), args, &changed).context("cannot write the result")?;
    }
    Ok(ExitCode::SUCCESS)
}

fn bits(bytes: u64, postings: u64) -> f64 {
    8.0 * bytes as f64 / postings.max(1) as f64
}

/// Sizes in each codec, as JSON.
pub fn estimated(estimates: &[Estimate], postings: u64) -> serde_json::Value {
    let rows: Vec<_> = estimates
        .iter()
        .map(|e| {
            serde_json::json!({
                "codec": e.codec,
                "bytes": e.bytes,
                "bits_per_posting": bits(e.bytes, postings),
                "present_bytes": e.present,
            })
        })
        .collect();
    serde_json::json!({ "postings": postings, "codecs": rows })
}

fn write_estimates(out: &mut impl Write, estimates: &[Estimate], postings: u64, json: bool) -> io::Result<()> {
    if json {
        return document(out, &estimated(estimates, postings));
    }
    let width = estimates.iter().map(|e| e.codec.len()).max().unwrap_or(0).max(5);
    writeln!(out, "{:<width$} {:>15} {:>13}", "codec", "bytes", "bits/posting")?;
    for e in estimates {
        let present = if e.present.is_some() { "   in the index" } else { "" };
        writeln!(out, "{:<width$} {:>15} {:>13.3}{present}", e.codec, e.bytes, bits(e.bytes, postings))?;
    }
    Ok(())
}

/// What was done, as JSON; `dropped` are the names of the parts that were removed.
pub fn report(changed: &Changed, dropped: &[String]) -> serde_json::Value {
    let written: Vec<_> =
        changed.written.iter().map(|(codec, bytes)| serde_json::json!({ "codec": codec, "bytes": bytes })).collect();
    serde_json::json!({
        "index": json::path(&changed.index),
        "from": changed.from,
        "written": written,
        "dropped": dropped,
        "postings": changed.postings,
        "listed_postings": changed.listed,
        "lists_compared": changed.lists,
        "encode_seconds": changed.encode_seconds,
        "compare_seconds": changed.compare_seconds,
        "impacts_bytes": changed.impacts,
        "impacts_seconds": changed.impact_seconds,
        "tables": changed.tables.map(|(tables, _)| tables),
        "tables_bytes": changed.tables.map(|(_, bytes)| bytes),
        "tables_seconds": changed.table_seconds,
    })
}

fn write_changed(out: &mut impl Write, args: &Args, changed: &Changed) -> io::Result<()> {
    let seconds = changed.encode_seconds + changed.compare_seconds + changed.impact_seconds + changed.table_seconds;
    let index = changed.index.display();
    if args.json {
        return document(out, &report(changed, &args.drop));
    }
    for name in &args.drop {
        writeln!(out, "{name}: dropped")?;
    }
    for (codec, bytes) in &changed.written {
        writeln!(out, "{codec}: {bytes} bytes, {:.3} bits per posting", bits(*bytes, changed.postings))?;
    }
    if let Some(bytes) = changed.impacts {
        let bits = bits(bytes, changed.postings);
        writeln!(out, "impacts: {bytes} bytes, {bits:.3} bits per posting, in {:.2} s", changed.impact_seconds)?;
    }
    if let Some((tables, bytes)) = changed.tables {
        let (each, seconds) = (bytes as f64 / changed.postings.max(1) as f64, changed.table_seconds);
        writeln!(out, "tables: {tables} lists, {bytes} bytes, {each:.3} bytes per posting, in {seconds:.2} s")?;
    }
    if changed.written.is_empty() {
        return writeln!(out, "{index}: done in {seconds:.2} s");
    }
    writeln!(
        out,
        "{index}: {} listed postings from {} in {:.2} s ({:.1} M postings/s), {} lists compared in {:.2} s",
        changed.listed,
        changed.from,
        changed.encode_seconds,
        changed.listed as f64 / 1e6 / changed.encode_seconds.max(1e-9),
        changed.lists,
        changed.compare_seconds
    )
}
