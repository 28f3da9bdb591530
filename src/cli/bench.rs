//! `gamut bench`

use crate::bench::query::load;
use crate::bench::{build, codecs, inflate, intersect, papers, query, read, sort, transfer};

/// Measure codecs, queries, load, intersections, transfers, sorters, reading, inflating and whole builds, and make the
/// papers' figures.
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
    Transfer(transfer::Args),
    #[allow(missing_docs, reason = "clap shows the doc comment of the arguments")]
    Sort(sort::Args),
    #[allow(missing_docs, reason = "clap shows the doc comment of the arguments")]
    Read(read::Args),
    #[allow(missing_docs, reason = "clap shows the doc comment of the arguments")]
    Inflate(inflate::Args),
    #[allow(missing_docs, reason = "clap shows the doc comment of the arguments")]
    Build(build::Args),
    #[allow(missing_docs, reason = "clap shows the doc comment of the arguments")]
    Papers(papers::Args),
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
        Command::Transfer(args) => transfer::run(args),
        Command::Sort(args) => sort::run(args),
        Command::Read(args) => read::run(args),
        Command::Inflate(args) => inflate::run(args),
        Command::Build(args) => build::run(args),
        Command::Papers(args) => papers::run(args),
    }
}
