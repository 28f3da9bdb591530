//! `gamut bench`

use crate::bench::{build, sort};

/// Measure: sorters, whole builds.
#[derive(clap::Subcommand, Debug)]
pub enum Command {
    #[allow(missing_docs, reason = "clap shows the doc comment of the arguments")]
    Sort(sort::Args),
    #[allow(missing_docs, reason = "clap shows the doc comment of the arguments")]
    Build(build::Args),
}

/// Measures.
///
/// # Errors
/// What the measurement returns.
pub fn run(command: &Command) -> anyhow::Result<()> {
    match command {
        Command::Sort(args) => sort::run(args),
        Command::Build(args) => build::run(args),
    }
}
