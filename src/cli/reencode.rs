//! `gamut reencode`: other codecs, or impacts, for a built index.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;

use super::ui;
use crate::codec;
use crate::gpu::{Choice, Gpu};
use crate::index::Index;
use crate::index::reencode::{self, Change, Changed, Estimate, ImpactChange};

/// Add codecs or impacts to a built index, replace them, or take them out.
///
/// Every list is decoded from one codec that is there and written in each of those that --codec names;
/// then everything that was written is decoded and compared, and only if all of it is right does the changed index
/// take the old one's place, in one step. Whatever happens before leaves the index as it was. The new folders are
/// byte for byte what `gamut index` would have written.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  gamut reencode out/gov2 --estimate                     what would each codec take?
  gamut reencode out/gov2 --codec pef,simdbp             add two, or write them anew
  gamut reencode out/gov2 --codec parapfor:exceptions=0.1
  gamut reencode out/gov2 --codec best --drop para-ef    change one for another
  gamut reencode out/gov2 --impacts                      a quantised score for every posting
  gamut reencode out/gov2 --codec raw -o out/gov2-raw    leave the index as it is

Exit code: 0 if done, 2 if not; the index is then as it was.")]
pub struct Args {
    /// Directory of the index
    index: PathBuf,
    /// Codecs to write, comma-separated, with parameters after a colon, or "all"
    #[arg(short, long, value_name = "LIST")]
    codec: Option<String>,
    /// Write an 8-bit quantised BM25 score (impact) of every posting, as `gamut index --impacts` does
    #[arg(long, conflicts_with = "estimate")]
    impacts: bool,
    /// Codecs to take out, comma-separated; "impacts" takes out the impacts
    #[arg(long, value_delimiter = ',', value_name = "NAME", conflicts_with = "estimate")]
    drop: Vec<String>,
    /// Take the lists from this codec of the index [default: its last one]
    #[arg(long, value_name = "NAME")]
    from: Option<String>,
    /// Write nothing; print what each codec (all of them, or those of --codec) would take
    #[arg(long)]
    estimate: bool,
    /// Put the changed index there and leave the old one as it is; files that stay are shared
    #[arg(short, long, value_name = "DIR", conflicts_with = "estimate")]
    output: Option<PathBuf>,
    /// Decode on this GPU, by name or index ("auto": a hardware one) [default: on the CPU]
    #[arg(long, value_name = "NAME")]
    device: Option<String>,
    /// Threads [default: one per core]
    #[arg(long, default_value_t = 0, hide_default_value = true, value_name = "N")]
    threads: usize,
    /// No progress
    #[arg(short, long)]
    quiet: bool,
    /// Print one JSON object instead of lines
    #[arg(long)]
    json: bool,
}

/// What --drop calls the impacts; no codec has this name.
const IMPACTS: &str = "impacts";

/// Runs the command.
///
/// # Errors
/// See [`reencode::reencode`]; the output cannot be written.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    if args.codec.is_none() && args.drop.is_empty() && !args.estimate && !args.impacts {
        anyhow::bail!(
            "say what to do with {}: --codec or --impacts writes, --drop takes out, --estimate prints what each codec would take",
            args.index.display()
        );
    }
    let add = match args.codec.as_deref() {
        Some(list) => codec::parse_list(list)?,
        None if args.estimate => codec::all(),
        None => Vec::new(),
    };
    let gpu = args.device.as_deref().map(|name| Gpu::open(&Choice::parse(name))).transpose()?;
    let cancel = ui::cancel_on_signal();
    let (drop_impacts, remove): (Vec<String>, Vec<String>) =
        args.drop.iter().cloned().partition(|name| name == IMPACTS);
    let impacts = match (args.impacts, drop_impacts.is_empty()) {
        (true, false) => {
            anyhow::bail!("impacts are both to be written (--impacts) and to be taken out (--drop impacts)")
        }
        (true, true) => ImpactChange::Write,
        (false, false) => ImpactChange::Remove,
        (false, true) => ImpactChange::Keep,
    };
    let change = Change {
        add,
        remove,
        impacts,
        from: args.from.as_deref(),
        output: args.output.as_deref(),
        threads: ui::threads(args.threads),
        gpu: gpu.as_ref(),
        cancel: &cancel,
    };
    let progress = ui::Terminal::progress(args.quiet);
    if args.estimate {
        let estimates = reencode::estimate(&args.index, &change, &crate::build::phases(progress.as_ref()))?;
        let postings = Index::open(&args.index)?.statistics().postings;
        drop(progress);
        write_estimates(&mut io::stdout().lock(), &estimates, postings, args.json)
            .context("cannot write the result")?;
    } else {
        let changed = reencode::reencode(&args.index, &change, &crate::build::phases(progress.as_ref()))?;
        drop(progress);
        write_changed(&mut io::stdout().lock(), args, &changed).context("cannot write the result")?;
    }
    Ok(ExitCode::SUCCESS)
}

fn bits(bytes: u64, postings: u64) -> f64 {
    8.0 * bytes as f64 / postings.max(1) as f64
}

fn write_estimates(out: &mut impl Write, estimates: &[Estimate], postings: u64, json: bool) -> io::Result<()> {
    if json {
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
        return writeln!(out, "{}", serde_json::json!({ "postings": postings, "codecs": rows }));
    }
    let width = estimates.iter().map(|e| e.codec.len()).max().unwrap_or(0).max(5);
    writeln!(out, "{:<width$} {:>15} {:>13}", "codec", "bytes", "bits/posting")?;
    for e in estimates {
        let present = if e.present.is_some() { "   in the index" } else { "" };
        writeln!(out, "{:<width$} {:>15} {:>13.3}{present}", e.codec, e.bytes, bits(e.bytes, postings))?;
    }
    Ok(())
}

fn write_changed(out: &mut impl Write, args: &Args, changed: &Changed) -> io::Result<()> {
    let seconds = changed.encode_seconds + changed.compare_seconds + changed.impact_seconds;
    let index = changed.index.display();
    if args.json {
        let written: Vec<_> = changed
            .written
            .iter()
            .map(|(codec, bytes)| serde_json::json!({ "codec": codec, "bytes": bytes }))
            .collect();
        let report = serde_json::json!({
            "index": changed.index,
            "from": changed.from,
            "written": written,
            "dropped": args.drop,
            "postings": changed.postings,
            "listed_postings": changed.listed,
            "lists_compared": changed.lists,
            "encode_seconds": changed.encode_seconds,
            "compare_seconds": changed.compare_seconds,
            "impacts_bytes": changed.impacts,
            "impacts_seconds": changed.impact_seconds,
        });
        return writeln!(out, "{report}");
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
