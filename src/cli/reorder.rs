//! `gamut reorder`: other docIDs for a built index.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::Context as _;

use super::ui;
use crate::base::memory::parse_size;
use crate::index::Index;
use crate::index::change::orders::permutation;
use crate::index::change::reorder;
use crate::index::change::reorder::{Reorder, Reordered};
use crate::order::{Order, Permutation};

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

/// Runs the command.
///
/// # Errors
/// See [`reorder::reorder`]; the output cannot be written.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let means = ui::means(args.threads, args.memory, args.quiet);
    let began = Instant::now();
    let permutation = permutation(&args.index, &args.order, &means)?;
    let order_seconds = began.elapsed().as_secs_f64();
    let change = Reorder {
        permutation: &permutation,
        order: args.order.to_string(),
        output: args.output.as_deref(),
        force: false,
        impacts: false,
        tables: false,
        means,
    };
    // Before the index: a permutation that cannot be written must not be lost.
    let index =
        args.output.clone().map_or_else(|| args.index.canonicalize(), Ok).unwrap_or_else(|_| args.index.clone());
    let text = args.permutation.clone().unwrap_or_else(|| Permutation::path_beside(&index));
    permutation.write(&text)?;
    let done = reorder::reorder(&args.index, &change).inspect_err(|_| drop(std::fs::remove_file(&text)))?;
    drop(change);
    let postings = Index::open(&done.index)?.statistics().postings;
    let mut out = io::stdout().lock();
    write_done(&mut out, args, &done, &text, postings, order_seconds).context("cannot write the result")?;
    Ok(ExitCode::SUCCESS)
}

fn write_done(
    out: &mut impl Write,
    args: &Args,
    done: &Reordered,
    permutation: &Path,
    postings: u64,
    order_seconds: f64,
) -> io::Result<()> {
    let bits = |bytes: u64| 8.0 * bytes as f64 / postings.max(1) as f64;
    if args.json {
        let codecs: Vec<_> = done
            .codecs
            .iter()
            .map(|(codec, was, is)| serde_json::json!({ "codec": codec, "bytes_before": was, "bytes": is }))
            .collect();
        let report = serde_json::json!({
            "index": done.index,
            "order": args.order.to_string(),
            "permutation": permutation,
            "codecs": codecs,
            "postings": postings,
            "order_seconds": order_seconds,
            "write_seconds": done.write_seconds,
            "compare_seconds": done.compare_seconds,
        });
        return writeln!(out, "{report}");
    }
    for (codec, was, is) in &done.codecs {
        writeln!(out, "{codec}: {is} bytes, {:.3} bits per posting (before: {:.3})", bits(*is), bits(*was))?;
    }
    writeln!(
        out,
        "{}: order found in {order_seconds:.2} s, written in {:.2} s, compared in {:.2} s; permutation in {}",
        done.index.display(),
        done.write_seconds,
        done.compare_seconds,
        permutation.display()
    )
}
