//! `gamut query`: rank documents for one query, for a file of them, or for one after the other at a prompt.
//!
//! | file | its one job |
//! |---|---|
//! | `settings` | the options that decide an answer, and the engine that they mean |
//! | `auto` | which engine answers, where that is left open |
//! | `devices` | the GPUs that there are, and those that were opened |
//! | `answer` | a query → an answer, as text or JSON |
//! | `explain` | the plan and the work of an answer, as a table |
//! | `steps` | where the steps of a query ran that moves between processors |
//! | `topics` | a file of queries → a run file |
//! | `prompt` | queries one after the other |
//! | `editor` | the prompt's line editor and its history |

mod answer;
mod auto;
mod devices;
mod editor;
mod explain;
mod prompt;
mod settings;
mod steps;
mod topics;

use super::ui::Threads;
use crate::index::Index;
use crate::query::engine::help;
#[cfg(test)]
pub use answer::ask;
pub use answer::{Asked, Found, Names, SCORE, names};
pub use auto::{Engines as AutoEngines, for_server, knowledge, may_pay};
pub use devices::Devices;
pub use settings::{EngineChoice, Settings};
use std::io::{self, IsTerminal as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;
pub(super) use topics::run_file;
pub use topics::{Engines, Form, RunFormat};

/// Rank documents by BM25.
///
/// gamut analyses the query as it analysed the documents. A term that stands in the query twice counts twice, and
/// `word^2.5` gives the terms of a word the weight 2.5; `word^-1` takes from scores. A term that no document contains
/// gives no result with --mode and, and is ignored with --mode or. Documents of equal score come in the order of the
/// input. Without a query, gamut reads queries from standard input, a line each, and opens a prompt on a terminal.
///
/// With --json, --snippets adds to each hit `snippet`: `text` is the passage, and `marks` has, for each marked word,
/// the number of characters (Unicode code points) before it and before its end. `begins` and `ends` tell whether the
/// text of the document begins or ends with the passage.
///
/// All engines and methods return the same documents, and differ in speed. By default gamut chooses the engine by what
/// queries are expected to cost, before it opens a GPU: one query is for the CPU, and a file of them for a GPU if that
/// makes up for opening it. --explain says why. `gamut calibrate` measures the costs; without it a rule stands for
/// them.
#[derive(Debug, clap::Args)]
#[command(after_long_help = after_help())]
pub struct Args {
    /// Directory of the index.
    index: PathBuf,
    /// Words of the query [default: queries from standard input, a line each].
    #[arg(conflicts_with = "topics")]
    query: Vec<String>,
    #[command(flatten)]
    settings: Settings,
    /// Print JSON: one object, or one object a line for queries from standard input; with --topics, --run-format json.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    topics: topics::TopicFile,
    #[command(flatten)]
    threads: Threads,
}

fn after_help() -> String {
    format!(
        "\
Examples:
  gamut query out/gov2 oil industry history
  gamut query out/gov2 --mode and -k 3 --json oil history
  gamut query out/gov2 'oil^2.5 industry history^0.5'        give words weights
  gamut query out/gov2 --explain oil industry history        print what was decoded and skipped
  gamut query out/gov2 --snippets oil industry history       print the best passage of each document
  gamut query out/gov2                                       a prompt; :help lists its commands
  gamut query out/gov2 < queries.txt                         a query a line
  gamut query out/gov2 --mode and --intersect gallop oil     choose a method
  gamut query out/gov2 --engine gpu --preload                load all lists into the GPU's memory first
  gamut query out/gov2 --engine griffin --mode and --explain --migrate ratio=64 oil industry history
  gamut query out/gov2 --topics topics.701-750.txt --run gov2.run -k 1000
  gamut query out/gov2 --topics 06.efficiency_topics --run gov2.run --preset ao --mode and --engine gpu
  gamut query out/gov2 --topics log.tsv.gz --run log.jsonl --run-format json --resume
  trec_eval qrels.701-750.txt gov2.run

Methods of --intersect, for documents with all terms. Parameters follow a colon, as in pmf:levels=2:{}

Methods of --or, for documents with any term:{}

Methods of --topk, for the best k documents:{}

When a query moves between the processors of --engine griffin, values of --migrate:{}

Values of --preset, a paper's codec and methods:{}

Values of --batch, how gamut packs a file of queries for a GPU:{}

Formats of --topics, which gamut detects by content:
  TREC topics (--topic-fields)    <top><num>Number: 701<title>oil history …
  Web Track and COVID XML         <topic number=\"1\"><query>family tree</query> …
  JSON lines                      {{\"id\": \"q1\", \"query\": \"family tree\"}}
  JSON lines, ready terms         {{\"id\": \"q1\", \"terms\": {{\"famili\": 2.5, \"tree\": 1}}}}
  TSV                             1048585<tab>family tree
  Terabyte efficiency logs        42:family tree
  Million Query, with priorities  20001:1:family tree
  bare lines                      family tree            (numbered from 1)
The file may be compressed with gzip, zstd or bzip2. Lines that are not UTF-8
are read as Windows-1252. Forms with a query a line may have any number of
lines, and their first 4 MiB decide the form: a line of another form and an id
that comes again are errors.

Exit code: 0 if something was found, 1 if nothing was found or, with --qrels, no
query has judgements, 2 on errors.",
        help::intersect(),
        help::or(),
        help::topk(),
        help::migrate(),
        help::presets(),
        help::batching()
    )
}

/// Runs the command.
///
/// # Errors
/// The index or the topics cannot be read, options are out of range or do not go together, the output cannot be
/// written.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let start = Instant::now();
    args.threads.start()?;
    let index = Index::open(&args.index)?;
    if let Some(line) = index.manifest().analyzer.other_unicode() {
        tell!("gamut: warning: {line}");
    }
    let mut devices = Devices::default();
    let settings = &args.settings;
    settings.check()?;
    let files = args.topics.files()?;
    let by_stdin = files.map_or(args.query.is_empty(), |(topics, _)| topics.as_os_str() == "-");
    if by_stdin && settings.within.as_ref().is_some_and(|ids| ids.as_os_str() == "-") {
        anyhow::bail!("--within - reads ids from standard input, from where the queries come; name a file");
    }
    let found = if let Some(files) = files {
        if settings.explain {
            anyhow::bail!("--explain explains one query, and --topics asks many; leave one of them out");
        }
        if settings.snippets {
            anyhow::bail!(
                "--snippets shows passages beside results, and a run file has no place for them; leave --snippets or --topics out"
            );
        }
        let searcher = settings.searcher(&index)?;
        let engines = auto::Engines::new(settings, &searcher, &mut devices);
        topics::run(&args.topics, settings, &searcher, engines, files, (args.json, start))
            .map_err(|error| index.unchanged().err().map_or(error, Into::into))?
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
