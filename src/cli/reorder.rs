//! `gamut reorder`: other docIDs for a built index.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;

use super::ui;
use crate::base::json::{self, document};
use crate::base::means::Means;
use crate::bench::beside::{named_file, takes_no_place};
use crate::index::change::orders::{Ordered, Place, put_in_order};
use crate::index::{Extras, Index};
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
    #[arg(long, value_parser = named_file(), value_name = "FILE")]
    permutation: Option<PathBuf>,
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

fn order_help() -> String {
    format!("The new order: {}", crate::order::names())
}

/// What was done.
pub struct Done {
    /// The index, its permutation, and what its parts were and are.
    pub ordered: Ordered,
    /// The order.
    pub order: String,
    /// Postings of the index.
    pub postings: u64,
}

/// Reorders an index, or makes a reordered copy at `output`, and writes the permutation to a file, by default beside
/// the index.
///
/// # Errors
/// See [`put_in_order`].
pub fn change(
    index: &Path,
    order: &Order,
    output: Option<&Path>,
    text: Option<&Path>,
    means: &Means,
) -> crate::Result<Done> {
    if let Some(text) = text {
        // - is a file here
        takes_no_place(("--permutation", &Path::new(".").join(text)), Some(index), [])?;
    }
    let extras = Extras { impacts: false, tables: false, means };
    let ordered = put_in_order(index, order, Place { output, force: false, text }, extras)?;
    let postings = Index::open(&ordered.index.index)?.statistics().postings;
    Ok(Done { ordered, order: order.to_string(), postings })
}

/// What was done, as JSON.
pub fn report(done: &Done) -> serde_json::Value {
    let Ordered { index, permutation, order_seconds } = &done.ordered;
    let codecs: Vec<_> = index
        .codecs
        .iter()
        .map(|(codec, was, is)| serde_json::json!({ "codec": codec, "bytes_before": was, "bytes": is }))
        .collect();
    serde_json::json!({
        "index": json::path(&index.index),
        "order": done.order,
        "permutation": json::path(permutation),
        "codecs": codecs,
        "postings": done.postings,
        "order_seconds": order_seconds,
        "write_seconds": index.write_seconds,
        "compare_seconds": index.compare_seconds,
    })
}

/// Runs the command.
///
/// # Errors
/// See [`put_in_order`]; the output cannot be written.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let means = ui::means(args.threads.start()?, args.memory.bytes(), args.quiet);
    let done = change(&args.index, &args.order, args.output.as_deref(), args.permutation.as_deref(), &means)?;
    let mut out = io::stdout().lock();
    write_done(&mut out, args, &done).context("cannot write the result")?;
    Ok(ExitCode::SUCCESS)
}

fn write_done(out: &mut impl Write, args: &Args, done: &Done) -> io::Result<()> {
    if args.json {
        return document(out, &report(done));
    }
    let Done { ordered: Ordered { index: reordered, permutation, order_seconds }, postings, .. } = done;
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
