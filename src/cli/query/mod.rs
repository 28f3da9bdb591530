//! `gamut query`: rank documents for one query, for a file of them, or for one after the other at a prompt.
//!
//! | file | its one job |
//! |---|---|
//! | `settings` | the options that decide an answer, and the engine that they mean |
//! | `answer` | a query → an answer, as text or JSON |
//! | `explain` | the plan and the work of an answer, as a table |
//! | `topics` | a file of queries → a run file |
//! | `prompt` | queries one after the other |
//! | `editor` | the prompt's line editor and its history |

mod answer;
mod editor;
mod explain;
mod prompt;
mod settings;
mod topics;

use crate::index::Index;
use crate::query::engine::help;
use settings::{Devices, Settings};
use std::io::{self, IsTerminal as _};
use std::path::PathBuf;
use std::process::ExitCode;

/// Rank documents by BM25.
///
/// The query is analysed as the documents were; nothing about the index has to be repeated. A term that
/// stands in the query twice counts twice. With --mode and, a term that no document has gives
/// no result; with --mode or it is passed over. Equal scores go in the order of the documents.
/// Without a query, queries are read from standard input, a line each: at a prompt, if that is a terminal.
///
/// Every engine and every method gives the same documents; they differ in speed. By default the CPU
/// answers with the fastest methods: a query then takes a fraction of a millisecond for millions of postings. A GPU pays
/// where queries come in batches (--topics) or lists are very long.
#[derive(Debug, clap::Args)]
#[command(after_long_help = after_help())]
pub struct Args {
    /// Directory of the index.
    index: PathBuf,
    /// The query; words are joined by spaces [default: queries from standard input, a line each].
    #[arg(conflicts_with = "topics")]
    query: Vec<String>,
    #[command(flatten)]
    settings: Settings,
    /// Write JSON instead of lines: one object, or one a line for queries from standard input.
    #[arg(long, conflicts_with = "topics")]
    json: bool,
    #[command(flatten)]
    topics: topics::TopicFile,
}

fn after_help() -> String {
    format!(
        "\
Examples:
  gamut query out/gov2 oil industry history
  gamut query out/gov2 --mode and -k 3 --json oil history
  gamut query out/gov2 --explain oil industry history        what was decoded, what was skipped
  gamut query out/gov2                                       a prompt; :help there says more
  gamut query out/gov2 < queries.txt                         a query a line
  gamut query out/gov2 --mode and --intersect gallop oil     by a method of your choice
  gamut query out/gov2 --engine gpu --preload                every list in the GPU's memory first
  gamut query out/gov2 --topics topics.701-750.txt --run gov2.run -k 1000
  gamut query out/gov2 --topics 06.efficiency_topics --run gov2.run --preset ao --mode and --engine gpu
  trec_eval qrels.701-750.txt gov2.run

--intersect, documents that have all terms; parameters follow a colon, as in pmf:levels=2:{}

--or, documents that have any term:{}

--topk, the best of them:{}

--preset, a paper's codec and methods:{}

--batch, how a file of queries is packed for a GPU:{}

Files of topics are told apart by content:
  TREC topics (the title only)    <top><num>Number: 701<title>oil history …
  Web Track and COVID XML         <topic number=\"1\"><query>family tree</query> …
  JSON lines                      {{\"id\": \"q1\", \"query\": \"family tree\"}}
  TSV                             1048585<tab>family tree
  Terabyte efficiency logs        42:family tree
  bare lines                      family tree            (numbered from 1)
gzip is undone; a line that is not UTF-8 is read as Windows-1252.

Exit code: 0 if something was found, 1 if nothing was, 2 on errors.",
        help::intersect(),
        help::or(),
        help::topk(),
        help::presets(),
        help::batching()
    )
}

/// Runs the command.
///
/// # Errors
/// The index or the topics cannot be read, options are out of range or do not go together, the output cannot be written.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let index = Index::open(&args.index)?;
    let mut devices = Devices::default();
    let settings = &args.settings;
    settings.check()?;
    let found = if let Some((topics, run)) = args.topics.files()? {
        if settings.explain {
            anyhow::bail!("--explain tells about one query, and --topics asks many; leave one of them out");
        }
        let searcher = settings.searcher(&index)?;
        let mut engine = settings.engine(&searcher, &mut devices)?;
        topics::run(&args.topics, settings, &mut engine, topics, run)?
    } else if !args.query.is_empty() {
        let searcher = settings.searcher(&index)?;
        let mut engine = settings.engine(&searcher, &mut devices)?;
        answer::once(settings, &mut engine, &args.query.join(" "), args.json)?
    } else if io::stdin().is_terminal() && io::stdout().is_terminal() && !args.json {
        return prompt::run(&index, settings.clone(), devices);
    } else {
        return prompt::lines(&index, settings, devices, args.json);
    };
    Ok(if found { ExitCode::SUCCESS } else { ExitCode::from(1) })
}
