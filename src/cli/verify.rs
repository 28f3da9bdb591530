//! `gamut verify`: is an index what it was when it was written?

use crate::base::json::{self, document};
use crate::index::change::verify::Verified;
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
    /// Print one JSON object instead of lines
    #[arg(long)]
    json: bool,
}

/// Runs the command.
///
/// # Errors
/// There is no index, the output cannot be written.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let start = Instant::now();
    let verified = verify(&args.index)?;
    let seconds = start.elapsed().as_secs_f64();
    let mut out = io::BufWriter::new(io::stdout().lock());
    let mut write = || -> io::Result<()> {
        if args.json {
            return document(&mut out, &report(args, &verified, seconds));
        }
        for problem in &verified.problems {
            writeln!(out, "{problem}")?;
        }
        let hidden = verified.problem_count - verified.problems.len() as u64;
        if hidden > 0 {
            writeln!(out, "and {hidden} more")?;
        }
        if verified.problem_count > 0 {
            writeln!(out, "{}: {} problems", args.index.display(), verified.problem_count)?;
            return out.flush();
        }
        writeln!(
            out,
            "{}: sound ({} bytes, {} lists and {} postings decoded, {:.1} s)",
            args.index.display(),
            verified.bytes,
            verified.lists,
            verified.postings,
            seconds
        )?;
        out.flush()
    };
    write().context("cannot write the result")?;
    Ok(if verified.problem_count == 0 { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// What was found, for `--json`.
fn report(args: &Args, verified: &Verified, seconds: f64) -> serde_json::Value {
    serde_json::json!({
        "index": json::path(&args.index),
        "sound": verified.problem_count == 0,
        "problem_count": verified.problem_count,
        "problems": verified.problems.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "bytes": verified.bytes,
        "lists": verified.lists,
        "postings": verified.postings,
        "seconds": seconds,
    })
}
