//! `gamut verify`: is an index what it was when it was written?

use crate::index::verify;
use anyhow::Context as _;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

/// Check an index on all cores.
///
/// First the length and checksum of every file, then all that one file says about another: every list is
/// decoded in every codec, frequencies are added up per term and per document, every title is unpacked.
/// Each problem is one line with the file and the byte where it was noticed.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  gamut verify out/gov2
  gamut verify out/gov2 && gamut query out/gov2 kudzu

Exit code: 0 if the index is sound, 1 if it is damaged, 2 if there is none.")]
pub struct Args {
    /// Directory of the index.
    index: PathBuf,
}

/// Runs the command.
///
/// # Errors
/// There is no index, the output cannot be written.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let start = Instant::now();
    let verified = verify(&args.index)?;
    let mut out = io::stdout().lock();
    let mut write = || -> io::Result<()> {
        for problem in &verified.problems {
            writeln!(out, "{problem}")?;
        }
        let hidden = verified.problem_count - verified.problems.len() as u64;
        if hidden > 0 {
            writeln!(out, "and {hidden} more")?;
        }
        if verified.problem_count > 0 {
            return writeln!(out, "{}: {} problems", args.index.display(), verified.problem_count);
        }
        writeln!(
            out,
            "{}: sound ({} bytes, {} lists and {} postings decoded, {:.1} s)",
            args.index.display(),
            verified.bytes,
            verified.lists,
            verified.postings,
            start.elapsed().as_secs_f64()
        )
    };
    write().context("cannot write the result")?;
    Ok(if verified.problem_count == 0 { ExitCode::SUCCESS } else { ExitCode::from(1) })
}
