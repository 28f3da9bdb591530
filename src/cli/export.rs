//! `gamut export`: an index as a CIFF file.

use super::output::{Output, no_json_behind};
use super::ui;
use crate::base::json;
use crate::bench::beside::takes_no_place;
use crate::ciff::{ExportOptions, Exported, Packing, export};
use crate::index::Index;
use crate::pipeline::report::count as grouped;
use crate::{Error, Result};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Write an index as a CIFF file, which Anserini, PISA, Terrier and others read.
///
/// Terms come in byte order, documents in the order of their docIDs. gamut says what the file cannot carry: `gamut
/// import` of it has the same lists, lengths and ids, as `gamut compare` shows. A name that ends in .gz or .zst is
/// compressed so.
#[derive(clap::Args, Debug)]
#[command(after_long_help = "\
Examples:
  gamut export out/gov2 -o gov2.ciff.gz
  gamut export out/gov2 -o gov2-impacts.ciff --impacts
  gamut export out/gov2 -o gov2.ciff && gamut import gov2.ciff -o again --analyzer english
  gamut compare out/gov2 again --only ids,lengths,terms,lists

Exit code: 0 if done, 2 if not; there is no file then, or the one that was there before.")]
pub struct Args {
    /// Directory of the index
    index: PathBuf,
    /// The new file; - is standard output
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Replace the file if it already exists
    #[arg(long)]
    force: bool,
    /// Write quantised impacts in place of frequencies; the index must have them
    #[arg(long)]
    impacts: bool,
    /// Codec of the index to read [default: the last codec of the index]
    #[arg(long, value_name = "NAME")]
    codec: Option<String>,
    #[command(flatten)]
    threads: ui::Threads,
    #[command(flatten)]
    memory: ui::Memory,
    /// Print no progress and no summary
    #[arg(short, long)]
    quiet: bool,
    /// Print what was exported as JSON
    #[arg(long)]
    json: bool,
}

/// Writes the index at `dir` to a file, which takes its name once it is complete.
///
/// # Errors
/// What [`export()`] returns; the file exists already, and is not to be replaced.
pub fn change(dir: &Path, options: &ExportOptions, file: &Path, force: bool) -> Result<Exported> {
    check(file, force)?;
    takes_no_place(("-o", file), Some(dir), [])?;
    let index = Index::open(dir)?;
    let mut out = Output::create(file)?;
    let done = export(&index, options, file, &mut out)?;
    out.finish()?;
    Ok(done)
}

/// Exports.
///
/// # Errors
/// What [`export()`] returns; the file exists already.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    no_json_behind(&args.output, args.json)?;
    let options = ExportOptions {
        impacts: args.impacts,
        codec: args.codec.clone(),
        packing: Packing::of(&args.output),
        means: ui::means(args.threads.start()?, args.memory.bytes(), args.quiet),
    };
    let done = change(&args.index, &options, &args.output, args.force)?;
    drop(options);
    if args.json {
        json::print(&done)?;
    }
    for warning in &done.warnings {
        tell!("gamut: warning: {warning}");
    }
    if !args.quiet {
        let content = grouped(done.content_bytes);
        let bytes = match std::fs::metadata(&args.output) {
            Ok(file) if args.output.as_os_str() != "-" => {
                format!("{} bytes, {content} of content", grouped(file.len()))
            }
            _ => format!("{content} bytes of content"),
        };
        tell!(
            "{}: {} documents, {} terms, {} postings",
            args.output.display(),
            grouped(done.documents),
            grouped(done.terms),
            grouped(done.postings)
        );
        tell!("not in the file: {}", done.left_out.join("; "));
        tell!(
            "{:.2} s, {:.0} MB/s of CIFF; {bytes}; {} MiB of memory",
            done.seconds,
            done.content_bytes as f64 / 1e6 / done.seconds.max(1e-9),
            done.peak_memory >> 20
        );
    }
    Ok(ExitCode::SUCCESS)
}

/// Fails if a file would be lost.
fn check(output: &Path, force: bool) -> Result<()> {
    // which is standard output
    if output.as_os_str() == "-" {
        return Ok(());
    }
    let is_there = std::fs::metadata(output).is_ok_and(|meta| meta.is_file());
    if is_there && !force { Err(Error::Exists { path: output.to_owned() }) } else { Ok(()) }
}
