//! The command line: one file per subcommand, each with its arguments and a `run`.
//!
//! stdout carries results, stderr everything else. Exit codes: 0 done (warnings included), 1 nothing
//! found, or damage under `--strict`, 2 error. A closed pipe ends a command quietly with 0.

use std::process::ExitCode;

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

pub mod append;
pub mod bench;
pub mod compare;
pub mod completions;
pub mod delete;
pub mod demo;
pub mod devices;
pub mod dump;
pub mod eval;
pub mod export;
mod help;
mod ids;
pub mod import;
pub mod index;
pub mod man;
pub mod merge;
pub mod output;
pub mod partial;
pub mod query;
pub mod reencode;
pub mod reorder;
pub mod schema;
pub mod score;
pub mod serve;
pub mod stats;
pub mod synth;
pub mod ui;
pub mod values;
pub mod verify;

/// Turns a web crawl into a compressed inverted index, and answers queries from it.
#[derive(Parser, Debug)]
#[command(
    name = "gamut",
    version,
    after_help = "Try it:\n  \
    gamut demo                                build and query a small index\n  \
    gamut index crawl/*.warc.gz -o out/crawl  index a crawl\n  \
    gamut query out/crawl lighthouse keeper   query it\n\n\
    Results go to stdout, everything else to stderr.\n\
    Exit codes: 0 done; 1 nothing found, a difference, or damage (verify, --strict); 2 error."
)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    Index(Box<index::Args>),
    Query(Box<query::Args>),
    Score(score::Args),
    Reencode(reencode::Args),
    Reorder(reorder::Args),
    Import(import::Args),
    Export(export::Args),
    Compare(compare::Args),
    Merge(merge::Args),
    Append(append::Args),
    Delete(delete::Args),
    Stats(stats::Args),
    Dump(dump::Args),
    Serve(Box<serve::Args>),
    Eval(eval::Args),
    Verify(verify::Args),
    Devices(devices::Args),
    Synth(synth::Args),
    Demo(demo::Args),
    #[allow(missing_docs, reason = "clap shows the doc comment of the arguments")]
    Calibrate(Box<crate::bench::calibrate::Args>),
    #[command(subcommand)]
    Bench(bench::Command),
    Completions(completions::Args),
    Man(man::Args),
    Schema(schema::Args),
}

/// The command line as clap knows it, with the help texts as they are printed.
pub fn command() -> clap::Command {
    let mut command = Cli::command();
    command.build();
    help::polished(command)
}

/// What `main` does: parse, run, map the outcome to an exit code.
pub fn main() -> ExitCode {
    crate::base::guard::show_no_answers();
    ui::allow_open_files();
    ui::outlive_long_files();
    main_of(std::env::args_os())
}

/// As [`main`], with the arguments of a process that another program started: first the name of this one.
pub fn main_of(args: impl IntoIterator<Item = std::ffi::OsString>) -> ExitCode {
    let parsed = command().try_get_matches_from(args).and_then(|matches| Cli::from_arg_matches(&matches));
    let cli = match parsed {
        Ok(cli) => cli,
        Err(error) => {
            let printed = error.print();
            return match printed {
                // help and versions are results
                Err(lost) if !error.use_stderr() => failed(&lost.into()),
                _ => ExitCode::from(if error.use_stderr() { 2 } else { 0 }),
            };
        }
    };
    let outcome = match &cli.command {
        Command::Index(args) => index::run(args),
        Command::Query(args) => query::run(args),
        Command::Score(args) => score::run(args),
        Command::Reencode(args) => reencode::run(args),
        Command::Reorder(args) => reorder::run(args),
        Command::Import(args) => import::run(args),
        Command::Export(args) => export::run(args),
        Command::Compare(args) => compare::run(args),
        Command::Merge(args) => merge::run(args),
        Command::Append(args) => append::run(args),
        Command::Delete(args) => delete::run(args),
        Command::Stats(args) => stats::run(args),
        Command::Dump(args) => dump::run(args),
        Command::Serve(args) => serve::run(args),
        Command::Eval(args) => eval::run(args),
        Command::Verify(args) => verify::run(args),
        Command::Devices(args) => devices::run(args).map(|()| ExitCode::SUCCESS),
        Command::Synth(args) => synth::run(args).map(|()| ExitCode::SUCCESS),
        Command::Demo(args) => demo::run(args).map(|()| ExitCode::SUCCESS),
        Command::Calibrate(args) => crate::bench::calibrate::run(args).map(|()| ExitCode::SUCCESS),
        Command::Bench(command) => bench::run(command).map(|()| ExitCode::SUCCESS),
        Command::Completions(args) => completions::run(args, &mut command()).map(|()| ExitCode::SUCCESS),
        Command::Man(args) => man::run(args, &command()).map(|()| ExitCode::SUCCESS),
        Command::Schema(args) => schema::run(args).map(|()| ExitCode::SUCCESS),
    };
    outcome.unwrap_or_else(|error| failed(&error))
}

/// Tells an error.
fn failed(error: &anyhow::Error) -> ExitCode {
    if is_broken_pipe(error) {
        return ExitCode::SUCCESS;
    }
    tell!("gamut: {}", message(error));
    ExitCode::from(2)
}

/// The error and its causes on one line, without repeating a cause that the error above it quotes.
fn message(error: &anyhow::Error) -> String {
    let mut line = String::new();
    // files are named where they are written
    if error.downcast_ref::<std::io::Error>().is_some_and(|error| error.kind() == std::io::ErrorKind::StorageFull) {
        line.push_str("cannot write to standard output");
    }
    for cause in error.chain() {
        let text = cause.to_string();
        if !line.contains(&text) {
            if !line.is_empty() {
                line.push_str(": ");
            }
            line.push_str(&text);
        }
    }
    #[cfg(unix)]
    if error.chain().filter_map(|e| e.downcast_ref::<std::io::Error>()).any(|e| e.raw_os_error() == Some(libc::EMFILE))
    {
        line.push_str("; allow more of them with `ulimit -n`, or give fewer files at a time");
    }
    // it may name an id or a file of a stranger
    ui::printable(&line)
}

/// True if the reader of our output went away (`gamut dump … | head`): no error of ours.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().filter_map(|e| e.downcast_ref::<std::io::Error>()).any(|e| e.kind() == std::io::ErrorKind::BrokenPipe)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_said_once() {
        let io = || std::io::Error::other("the disk is full");
        assert_eq!(message(&crate::Error::io("write", "a")(io()).into()), "cannot write a: the disk is full");
        assert_eq!(message(&anyhow::Error::from(io()).context("cannot go on")), "cannot go on: the disk is full");
        #[cfg(unix)]
        {
            let full = std::io::Error::from_raw_os_error(libc::EMFILE);
            let line = message(&crate::Error::io("open", "a")(full).into());
            assert!(line.starts_with("cannot open a: ") && line.contains("ulimit -n"), "{line}");
        }
    }

    #[test]
    fn the_command_line_is_consistent() {
        command().debug_assert();
    }
}
