//! `gamut compare`: what two indexes differ in.

use super::ui;
use crate::base::json::{self, document};
use crate::index::Index;
use crate::index::compare::{Comparison, Difference, Differences, Part, compare};
use anyhow::Context as _;
use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

/// Say what two indexes differ in.
///
/// gamut compares documents by docID and lists by term, posting by posting. Neither codecs nor threads nor the order of
/// terms make a difference to lists. Each line is a difference: the part, where, what the first index has and what the
/// second one has.
#[derive(Debug, clap::Args)]
#[command(after_long_help = format!("Parts:\n{}\n\n{EXAMPLES}", parts()))]
pub struct Args {
    /// Directory of the first index
    first: PathBuf,
    /// Directory of the second index
    second: PathBuf,
    /// Compare only these parts, separated by commas, see below [default: all]
    #[arg(long, value_name = "PARTS", value_delimiter = ',')]
    only: Vec<String>,
    /// Number of differences of each part to show
    #[arg(long, default_value_t = 3, value_name = "N")]
    show: usize,
    #[command(flatten)]
    threads: ui::Threads,
    /// Print no progress
    #[arg(short, long)]
    quiet: bool,
    /// Print one JSON object instead of lines
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  gamut compare out/gov2 out/gov2-again
  gamut compare out/gov2 out/imported --only ids,lengths,terms,lists

Exit code: 0 if all parts are equal, 1 if one is different, 2 on errors.";

fn parts() -> String {
    Part::ALL.map(|(_, name, about)| format!("  {name:<12}{about}")).join("\n")
}

/// Compares, and prints.
///
/// # Errors
/// An index cannot be read, a part has no such name, the output cannot be written.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let mut parts = args.only.iter().map(|name| Part::named(name)).collect::<crate::Result<Vec<_>>>()?;
    if parts.is_empty() {
        parts = Part::ALL.map(|(part, ..)| part).to_vec();
    }
    let mut seen = BTreeSet::new();
    parts.retain(|part| seen.insert(*part));
    let (first, second) = (Index::open(&args.first)?, Index::open(&args.second)?);
    let comparison = Comparison { parts, keep: args.show, means: ui::means(args.threads.start()?, 0, args.quiet) };
    let found = compare(&first, &second, &comparison)?;
    drop(comparison);
    let equal = found.iter().all(|differences| differences.count == 0);
    let mut out = io::stdout().lock();
    let written = if args.json { json(&mut out, args, equal, &found) } else { lines(&mut out, args, &found) };
    written.and_then(|()| out.flush()).context("cannot write the result")?;
    Ok(if equal { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

fn json(out: &mut impl Write, args: &Args, equal: bool, found: &[Differences]) -> io::Result<()> {
    let [first, second] = [&args.first, &args.second].map(json::path);
    let report = serde_json::json!({ "first": first, "second": second, "equal": equal, "parts": found });
    document(out, &report)
}

fn lines(out: &mut impl Write, args: &Args, found: &[Differences]) -> io::Result<()> {
    for Differences { part, count, shown } in found {
        for Difference { at, first, second } in shown {
            let [at, first, second] = [at, first, second].map(|text| ui::printable(text));
            writeln!(out, "{}: {at}: {first} | {second}", part.name())?;
        }
        let hidden = count - shown.len() as u64;
        if hidden > 0 {
            writeln!(out, "{}: and {hidden} more", part.name())?;
        }
    }
    let names = |equal: bool| {
        let parts = found.iter().filter(|differences| (differences.count == 0) == equal);
        parts.map(|differences| differences.part.name()).collect::<Vec<_>>().join(", ")
    };
    let [first, second] = [args.first.display(), args.second.display()];
    match (names(false), names(true)) {
        (different, equal) if different.is_empty() => writeln!(out, "{first} and {second} are equal in {equal}"),
        (different, equal) if equal.is_empty() => writeln!(out, "{first} and {second} differ in {different}"),
        (different, equal) => writeln!(out, "{first} and {second} differ in {different}; they are equal in {equal}"),
    }
}
