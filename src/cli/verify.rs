//! `gamut verify`: is an index what it was when it was written?

use crate::index::verify;
use anyhow::Context as _;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

/// Check an index on all cores.
///
/// gamut first checks the length and checksum of every file. Then it compares the files: it decodes every list in every
/// codec, adds up frequencies per term and per document, and unpacks every title. It prints one line per problem, with
/// the file and the byte.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  gamut verify out/gov2
  gamut verify out/gov2 && gamut query out/gov2 kudzu

Exit code: 0 if the index is sound, 1 if it is damaged, 2 if there is no index.")]
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
