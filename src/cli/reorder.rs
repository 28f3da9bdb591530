//! `gamut reorder`: other docIDs for a built index.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::Context as _;

use super::ui;
use crate::base::json::document;
use crate::base::means::Means;
use crate::base::memory::parse_size;
use crate::index::Index;
use crate::index::change::orders::{permutation, write_text};
use crate::index::change::reorder;
use crate::index::change::reorder::{Reorder, Reordered};
use crate::order::Order;

const EXAMPLES: &str = "\
Examples:
  gamut reorder out/gov2 --order url
  gamut reorder out/gov2 --order bp --memory 16GiB
  gamut reorder out/gov2 --order random:1 -o out/gov2-random
  gamut reorder out/gov2 --order file:out/gov2.order -o out/again

Exit code: 0 if done. 2 if not; the index then stays as it was.";

/// Give the documents of a finished index other docIDs. A good order makes the index smaller and faster.
///
/// In a good order, documents with the same words have neighbouring docIDs, so gaps are small. Nothing else changes:
/// queries return the same ids with the same scores. gamut encodes every list again in every codec of the index,
/// decodes it and compares it. Then the reordered index replaces the old one in one step. gamut also writes the
/// permutation beside the index, as lines "old new", so that other data can follow.
#[derive(Debug, clap::Args)]
#[command(after_long_help = format!("Orders:{}\n\n{EXAMPLES}", crate::order::help()))]
pub struct Args {
    /// Directory of the index
    index: PathBuf,
    /// The new order
    #[arg(long, value_name = "ORDER", help = order_help())]
    order: Order,
    /// Write the reordered index to this directory and leave the old one as it is
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// New file for the permutation [default: the name of the index and .order, or .order.2 …]
    #[arg(long, value_name = "FILE")]
    permutation: Option<PathBuf>,
    /// Number of threads [default: one per core]
    #[arg(long, default_value_t = 0, hide_default_value = true, value_name = "N")]
    threads: usize,
    /// Memory limit of the whole process, such as 4GiB [default: a quarter of the machine's]
    #[arg(long, value_parser = parse_size, default_value = "0", hide_default_value = true, value_name = "SIZE")]
    memory: u64,
    /// Print no progress
    #[arg(short, long)]
    quiet: bool,
    /// Print one JSON object instead of lines
    #[arg(long)]
    json: bool,
}

fn order_help() -> String {
    format!("The new order: {}", crate::order::names())
}

/// What was done.
pub struct Done {
    /// The index, and what its parts were and are.
    pub reordered: Reordered,
    /// The order.
    pub order: String,
    /// The file with the permutation.
    pub permutation: PathBuf,
    /// Postings of the index.
    pub postings: u64,
    /// Time to find the order.
    pub order_seconds: f64,
}

/// Reorders an index, or makes a reordered copy at `output`, and writes the permutation to a file, by default beside
/// the index.
///
/// # Errors
/// See [`reorder::reorder`]; the permutation cannot be written.
pub fn change(
    index: &Path,
    order: &Order,
    output: Option<&Path>,
    text: Option<&Path>,
    means: Means,
) -> crate::Result<Done> {
    let began = Instant::now();
    let permutation = permutation(index, order, &means)?;
    let order_seconds = began.elapsed().as_secs_f64();
    let change = Reorder {
        permutation: &permutation,
        order: order.to_string(),
        output,
        force: false,
        impacts: false,
        tables: false,
        means,
    };
    // Before the index: a permutation that cannot be written must not be lost.
    let target = output.map_or_else(|| index.canonicalize(), |output| Ok(output.to_owned()));
    let text = write_text(text, &target.unwrap_or_else(|_| index.to_owned()), &permutation)?;
    let done = reorder::reorder(index, &change).inspect_err(|_| text.take_back())?;
    drop(change);
    let postings = Index::open(&done.index)?.statistics().postings;
    Ok(Done { reordered: done, order: order.to_string(), permutation: text.path, postings, order_seconds })
}

/// What was done, as JSON.
pub fn report(done: &Done) -> serde_json::Value {
    let codecs: Vec<_> = done
        .reordered
        .codecs
        .iter()
        .map(|(codec, was, is)| serde_json::json!({ "codec": codec, "bytes_before": was, "bytes": is }))
        .collect();
    serde_json::json!({
        "index": done.reordered.index,
        "order": done.order,
        "permutation": done.permutation,
        "codecs": codecs,
        "postings": done.postings,
        "order_seconds": done.order_seconds,
        "write_seconds": done.reordered.write_seconds,
        "compare_seconds": done.reordered.compare_seconds,
    })
}

/// Runs the command.
///
/// # Errors
/// See [`reorder::reorder`]; the output cannot be written.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let means = ui::means(args.threads, args.memory, args.quiet);
    let done = change(&args.index, &args.order, args.output.as_deref(), args.permutation.as_deref(), means)?;
    let mut out = io::stdout().lock();
    write_done(&mut out, args, &done).context("cannot write the result")?;
    Ok(ExitCode::SUCCESS)
}

fn write_done(out: &mut impl Write, args: &Args, done: &Done) -> io::Result<()> {
    if args.json {
        return document(out, &report(done));
    }
    let Done { reordered, permutation, postings, order_seconds, .. } = done;
    let bits = |bytes: u64| 8.0 * bytes as f64 / (*postings).max(1) as f64;
    for (codec, was, is) in &reordered.codecs {
        writeln!(out, "{codec}: {is} bytes, {:.3} bits per posting (before: {:.3})", bits(*is), bits(*was))?;
    }
    writeln!(
        out,
        "{}: order found in {order_seconds:.2} s, written in {:.2} s, compared in {:.2} s; permutation in {}",
        reordered.index.display(),
        reordered.write_seconds,
        reordered.compare_seconds,
        permutation.display()
    )
}
