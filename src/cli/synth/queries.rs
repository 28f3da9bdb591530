//! A query log for a synthetic index.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::Error;
use crate::base::json;
use crate::cli::output::{Output, no_json_behind};
use crate::index::Index;
use crate::pipeline::synthetic;
use crate::pipeline::synthetic::{By, SyntheticLog};
use crate::query::{Topic, parse_topics};
use crate::text::{Analyzer, AnalyzerSpec, TermSink};

/// Options of a query log.
#[derive(Clone, Debug, clap::Args)]
#[group(skip)]
#[command(next_help_heading = "A query log for such an index")]
pub(super) struct Args {
    /// Write this many queries for the index DIR, or with --like "all" of that log
    #[arg(long, value_name = "N", value_parser = super::parse_amount, requires = "output",
        conflicts_with_all = ["postings", "documents", "threads", "vocabulary", "zipf", "mean_length", "sigma", "repeat", "files", "level"])]
    pub(super) queries: Option<super::Amount>,
    /// File for the queries, one a line: id, tab, terms. `gamut query --topics` reads it
    #[arg(short, long, value_name = "FILE", requires = "queries")]
    output: Option<PathBuf>,
    /// Log in a format of `gamut query --topics`, whose words are mapped to terms of DIR
    #[arg(long, value_name = "LOG", requires = "queries")]
    like: Option<PathBuf>,
    /// Index in which words of --like are looked up: a word becomes a term with the same share of documents. Without
    /// it, words are mapped by their rank in the log
    #[arg(long, value_name = "INDEX", requires = "like", conflicts_with = "mean_postings")]
    reference: Option<PathBuf>,
    /// Mean number of postings of a query [default: 14.8 % of the documents]
    #[arg(long, value_name = "P", value_parser = super::parse_count, requires = "queries")]
    mean_postings: Option<u64>,
}

#[derive(Default)]
struct Words(Vec<String>);

impl TermSink for Words {
    fn term(&mut self, term: &[u8]) {
        self.0.push(String::from_utf8_lossy(term).into_owned());
    }
}

/// The queries of a log as terms of an analyzer.
fn read(path: &Path, most: usize, spec: &AnalyzerSpec) -> anyhow::Result<Vec<(String, Vec<String>)>> {
    let bytes = fs::read(path).map_err(Error::io("read", path))?;
    let (_, topics) = parse_topics(&bytes).with_context(|| format!("in {}", path.display()))?;
    let mut analyzer = Analyzer::new(spec)?;
    let mut words = |text: &str| {
        let mut words = Words::default();
        analyzer.analyze(text, &mut words);
        words.0
    };
    let terms = |topic: Topic| match topic.terms.is_empty() {
        true => (topic.id, words(&topic.text)),
        false => (topic.id, topic.terms.into_iter().map(|(term, _)| term).collect()),
    };
    Ok(topics.into_iter().take(most).map(terms).collect())
}

/// Writes the log and says what is in it: on standard output, unless that has the log.
pub(super) fn run(args: &super::Args, queries: super::Amount) -> anyhow::Result<()> {
    let own = &args.queries;
    let output = own.output.as_deref().context("--queries needs --output")?;
    if output.exists() && !args.force {
        return Err(Error::Exists { path: output.to_owned() }.into());
    }
    no_json_behind(output, args.json)?;
    let index = Index::open(&args.out_dir)?;
    let mean = own.mean_postings.map(|mean| mean as f64);
    let (log, how) = match (&own.like, queries) {
        (None, super::Amount::All) => {
            anyhow::bail!("--queries all needs a log; name one with --like, or give a number")
        }
        (_, super::Amount::Count(0)) => anyhow::bail!("--queries 0 asks for no query; give 1 or more"),
        (None, super::Amount::Count(count)) => (synthetic::draw(&index, count, mean, args.seed)?, "drawn".to_owned()),
        (Some(like), queries) => {
            let most = match queries {
                super::Amount::All => usize::MAX,
                super::Amount::Count(count) => usize::try_from(count).unwrap_or(usize::MAX),
            };
            let reference = own.reference.as_deref().map(Index::open).transpose()?;
            let spec = reference.as_ref().map_or(&index, |reference| reference).manifest().analyzer.clone();
            let queries = read(like, most, &spec)?;
            let by = reference.as_ref().map_or(By::Log(mean), By::Reference);
            let how = match &own.reference {
                Some(reference) => format!("like {}, words by their share of {}", like.display(), reference.display()),
                None => format!("like {}, words by their rank in it", like.display()),
            };
            let log = synthetic::like(&index, &queries, by)?;
            reference.as_ref().map_or(Ok(()), Index::unchanged)?;
            (log, how)
        }
    };
    index.unchanged()?;
    anyhow::ensure!(!log.queries.is_empty(), "no query has a word; see `gamut query --help` for the formats of logs");
    let mut file = Output::create(output)?;
    log.queries.iter().try_for_each(|(id, text)| file.line(format_args!("{id}\t{text}")))?;
    file.finish()?;
    if args.json {
        return Ok(json::print(&serde_json::json!({
            "file": json::path(output),
            "queries": log.queries.len(),
            "terms": log.terms,
            "postings": log.postings,
            "shortest_postings": log.shortest,
            "unknown_words": log.unknown,
        }))?);
    }
    if output.as_os_str() != "-" {
        writeln!(std::io::stdout().lock(), "{}: {}", output.display(), summary(&log, &how))?;
    } else if !args.quiet {
        tell!("{}", summary(&log, &how));
    }
    Ok(())
}

fn summary(log: &SyntheticLog, how: &str) -> String {
    let each = |sum: u64| sum as f64 / log.queries.len() as f64;
    let unknown = match log.unknown {
        0 => String::new(),
        n => format!("; {n} distinct words that the reference lacks got a term of one document"),
    };
    format!(
        "{} queries, {how}; a query has {:.2} terms and {:.0} postings on average, {:.0} in its shortest list{unknown}",
        log.queries.len(),
        each(log.terms),
        each(log.postings),
        each(log.shortest),
    )
}
