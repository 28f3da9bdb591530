//! `gamut bench`

use crate::bench::query::load;
use crate::bench::{build, codecs, intersect, query, sort};

/// Measure codecs, queries, queries under load, intersections, sorters and whole builds.
#[derive(clap::Subcommand, Debug)]
pub enum Command {
    #[allow(missing_docs, reason = "clap shows the doc comment of the arguments")]
    Codecs(Box<codecs::Args>),
    #[allow(missing_docs, reason = "clap shows the doc comment of the arguments")]
    Query(Box<query::Args>),
    #[allow(missing_docs, reason = "clap shows the doc comment of the arguments")]
    Load(Box<load::Args>),
    #[allow(missing_docs, reason = "clap shows the doc comment of the arguments")]
    Intersect(intersect::Args),
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
        Command::Codecs(args) => codecs::run(args),
        Command::Query(args) => query::run(args),
        Command::Load(args) => load::run(args),
        Command::Intersect(args) => intersect::run(args),
        Command::Sort(args) => sort::run(args),
        Command::Build(args) => build::run(args),
    }
}
