//! A file of queries → a run file.

use super::answer::names;
use super::settings::Settings;
use crate::cli::output::Output;
use crate::query::engine::{Answers, Effort, Engine as _, Fallback};
use crate::query::{Hit, Plan, Topic, parse_topics, say_without_words, without_words};
use crate::{Error, Result};
use anyhow::Context as _;
use rayon::prelude::*;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Hits that are held in memory at a time.
const WINDOW_HITS: usize = 1 << 24;

/// Topics whose results are held in memory at a time: batches are made of these.
fn window(k: usize) -> usize {
    (WINDOW_HITS / k.max(1)).clamp(1024, 1 << 18)
}

/// Options of a file of topics.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "A file of queries")]
pub struct TopicFile {
    /// File of queries to answer, on all cores or in batches on a GPU.
    #[arg(long, value_name = "FILE", requires = "run")]
    topics: Option<PathBuf>,
    /// File for the results of --topics, in TREC's format: query id, Q0, document id, rank, score, tag.
    #[arg(long, value_name = "FILE", requires = "topics")]
    run: Option<PathBuf>,
    /// Last column of the run file.
    #[arg(long, default_value = "gamut", requires = "run")]
    tag: String,
    /// How to pack the queries for a GPU, see below [default: order:size=1024, or the preset's].
    #[arg(long, value_name = "NAME", requires = "topics")]
    batch: Option<String>,
}

impl TopicFile {
    /// The files of queries and of results, if they are asked for.
    ///
    /// # Errors
    /// One without the other.
    pub fn files(&self) -> Result<Option<(&Path, &Path)>> {
        match (&self.topics, &self.run) {
            (Some(topics), Some(run)) => Ok(Some((topics, run))),
            (None, None) => Ok(None),
            (topics, _) => {
                let (what, why) = match topics {
                    Some(_) => ("--topics", "needs a file for the results; name it by --run"),
                    None => ("--run", "is for the results of --topics; name a file of queries"),
                };
                Err(Error::Invalid { what: what.to_owned(), why: why.to_owned() })
            }
        }
    }
}

/// White space would split the column of the run file.
fn column(id: &str) -> String {
    let mut out = String::with_capacity(id.len());
    for c in id.chars() {
        if c.is_whitespace() || c.is_control() {
            let mut bytes = [0; 4];
            c.encode_utf8(&mut bytes).bytes().for_each(|byte| out.push_str(&format!("%{byte:02X}")));
        } else {
            out.push(c);
        }
    }
    out
}

/// Answers the queries of a file; returns whether any found something.
///
/// # Errors
/// The topics cannot be read, the index is damaged, the results cannot be written.
pub fn run(
    args: &TopicFile,
    settings: &Settings,
    engine: &mut Fallback<'_>,
    topics: &Path,
    run: &Path,
) -> anyhow::Result<bool> {
    if args.tag.is_empty() || args.tag.contains(char::is_whitespace) {
        let why = "must be one word, because it is a column of the run file".to_owned();
        return Err(Error::Invalid { what: format!("--tag \"{}\"", args.tag), why }.into());
    }
    let schedule = settings.schedule(args.batch.as_deref())?;
    let mut output = Output::create(run)?;
    let bytes = fs::read(topics).map_err(Error::io("read", topics))?;
    let (_, topics) = parse_topics(&bytes).with_context(|| format!("in {}", topics.display()))?;
    let start = Instant::now();
    let searcher = engine.searcher();
    let (mut answered, mut hits_written, mut by_cpu) = (0, 0, 0);
    let mut empty: Vec<&str> = Vec::new();
    for chunk in topics.chunks(window(settings.k)) {
        let plan = |topic: &Topic| -> Result<Plan> { searcher.plan(&searcher.query(topic)?) };
        let plans: Vec<Plan> = chunk.par_iter().map(plan).collect::<Result<_>>()?;
        empty.extend(without_words(chunk, &plans));
        let Answers { hits: answers, effort } = engine.search_all(&plans, settings.mode, settings.k, &schedule)?;
        if let Effort::Gpu(work) = effort {
            by_cpu += work.by_cpu;
        }
        let names = names(searcher.index(), answers.iter().flatten().map(|hit| hit.doc).collect())?;
        searcher.index().unchanged()?;
        for (topic, hits) in chunk.iter().zip(&answers) {
            for (rank, Hit { doc, score }) in (1..).zip(hits) {
                let id = column(&names[doc].id);
                output.line(format_args!("{} Q0 {id} {rank} {score} {}", topic.id, args.tag))?;
            }
            answered += usize::from(!hits.is_empty());
            hits_written += hits.len();
        }
    }
    output.finish()?;
    let mut err = io::stderr().lock();
    // A closed stderr is no reason to fail when the run file is written.
    let _ = writeln!(
        err,
        "{answered} of {} topics answered with {hits_written} documents in {:.2} s: {}",
        topics.len(),
        start.elapsed().as_secs_f64(),
        run.display()
    );
    if let Some(line) = say_without_words(&empty) {
        let _ = writeln!(err, "{line}");
    }
    if by_cpu > 0 {
        let _ = writeln!(err, "The CPU answered {by_cpu} of them: they do not fit the GPU.");
    }
    Ok(answered > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_columns_of_a_run_file_stay_one_word() {
        assert_eq!(column("http://a.test/x y\u{a0}z"), "http://a.test/x%20y%C2%A0z");
    }
}
