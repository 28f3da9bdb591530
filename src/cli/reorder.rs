//! `gamut reorder`: other docIDs for a built index.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::Context as _;

use super::ui;
use crate::build::plan::{default_memory, parse_size};
use crate::index::Index;
use crate::index::orders::{Means, permutation};
use crate::index::reorder::{self, Reorder, Reordered};
use crate::order::{Order, Permutation};

/// Give the documents of a built index other docIDs: an index in a good order is smaller and faster.
///
/// Documents that share words get neighbouring docIDs, so that gaps are small. Nothing else changes: queries return the
/// same ids with the same scores. Every list is encoded anew in every codec of the index, decoded and compared, and only
/// then does the reordered index take the old one's place, in one step. The permutation is written beside the index, as
/// lines "old new", so that other data can follow.
///
/// Orders: url (by host, reversed, and path; what has no URL stays at the end), bp (recursive graph bisection: documents that
/// share words lie together; takes longer, gives most; bp:MIN_DF leaves rarer terms out of account), pagerank (highest first; the index must be
/// built with --links), random:SEED (the same on every machine), file:PATH (lines "old new", in any order of lines).
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  gamut reorder out/gov2 --order url
  gamut reorder out/gov2 --order bp --memory 16GiB
  gamut reorder out/gov2 --order random:1 -o out/gov2-random
  gamut reorder out/gov2 --order file:out/gov2.order -o out/again

Exit code: 0 if done, 2 if not; the index is then as it was.")]
pub struct Args {
    /// Directory of the index
    index: PathBuf,
    /// The new order: url, bp, pagerank, random:SEED, file:PATH
    #[arg(long, value_name = "ORDER")]
    order: Order,
    /// Put the reordered index there and leave the old one as it is
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Where the permutation goes, a new file [default: the name of the index with .order behind it, or .order.2 …]
    #[arg(long, value_name = "FILE")]
    permutation: Option<PathBuf>,
    /// Threads [default: one per core]
    #[arg(long, default_value_t = 0, hide_default_value = true, value_name = "N")]
    threads: usize,
    /// Memory for the whole process [default: a quarter of the machine's]
    #[arg(long, value_parser = parse_size, default_value = "0", hide_default_value = true, value_name = "SIZE")]
    memory: u64,
    /// No progress
    #[arg(short, long)]
    quiet: bool,
    /// Print one JSON object instead of lines
    #[arg(long)]
    json: bool,
}

/// Runs the command.
///
/// # Errors
/// See [`reorder::reorder`]; the output cannot be written.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let cancel = ui::cancel_on_signal();
    let began = Instant::now();
    let progress = ui::Terminal::progress(args.quiet);
    let heard = crate::build::phases(progress.as_ref());
    let threads = ui::threads(args.threads);
    let memory = if args.memory == 0 { default_memory() } else { args.memory };
    let means = Means { memory, threads, cancel: &cancel };
    let permutation = permutation(&args.index, &args.order, &means, &heard)?;
    let order_seconds = began.elapsed().as_secs_f64();
    let change = Reorder {
        permutation: &permutation,
        order: args.order.to_string(),
        output: args.output.as_deref(),
        force: false,
        impacts: false,
        threads,
        memory,
        cancel: &cancel,
    };
    // Before the index: a permutation that cannot be written must not be lost.
    let index =
        args.output.clone().map_or_else(|| args.index.canonicalize(), Ok).unwrap_or_else(|_| args.index.clone());
    let text = args.permutation.clone().unwrap_or_else(|| Permutation::path_beside(&index));
    permutation.write(&text)?;
    let done = reorder::reorder(&args.index, &change, &heard).inspect_err(|_| drop(std::fs::remove_file(&text)))?;
    drop(heard);
    drop(progress);
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
