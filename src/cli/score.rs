//! `gamut score`: the scores of given pairs of a query and a document.

use super::output::{Output, no_json_behind};
use super::query::run_file::{Form, RunFormat, put};
use super::ui::{self, Threads};
use crate::base::json;
use crate::base::means::Means;
use crate::bench::beside::takes_no_place;
use crate::index::Index;
use crate::index::read::ids::IdReader;
use crate::query::{
    Bm25, Collection, Hit, Pairs, Plan, Scores, Searcher, TopK, Topic, TopicReader, WithoutWords, without_words,
};
use crate::{Error, Result};
use anyhow::Context as _;
use rayon::prelude::*;
use serde::Serialize;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

/// Pairs that are scored before their lines are written.
const WINDOW: usize = 1 << 20;

/// Score given pairs of a query and a document.
///
/// The scores are those of `gamut query`, to the bit, for the same --k1, --b, --scores and --statistics. A document
/// without any word of its query scores 0. Each query's documents come as a run file, best first; documents of equal
/// score come in the order of the input. Scoring costs a look-up a pair and term, however large the index is: so
/// candidates of another ranker, or pools of judgements, get BM25 as a feature.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Forms of --pairs, by the number of columns of the first line:
  2   query document                             plain pairs
  3   query document rank                        a run of MS MARCO
  4   query iteration document relevance         judgements of TREC
  6   query Q0 document rank score tag           a run of TREC
Columns are parted by spaces and tabs. Lines may be in any order, and a pair that comes twice counts once. What gamut
wrote as %20 in a run file is a space in the id. Of several documents with one id, the first of the input counts. Pairs
of queries that the topics lack, and of documents that the index lacks, are left out, counted and named.

Examples:
  gamut score out/msmarco --topics queries.tsv --pairs top1000.run --run bm25.run
  gamut score out/robust04 --topics topics.txt --pairs qrels.txt --scores impacts > judged.run
  gamut score out/msmarco --topics queries.tsv --pairs pairs.tsv.gz -k 100 --run-format tsv --run best.tsv

Exit code: 0 if a pair was scored, 1 if none was, 2 on errors.")]
pub struct Args {
    /// Directory of the index
    index: PathBuf,
    /// File of queries, in any form of `gamut query --topics`; - is standard input
    #[arg(long, value_name = "FILE")]
    topics: PathBuf,
    /// File of pairs; - is standard input
    #[arg(long, value_name = "FILE")]
    pairs: PathBuf,
    /// File for the results. It appears when it is complete [default: standard output]
    #[arg(long, value_name = "FILE")]
    run: Option<PathBuf>,
    /// Format of the results
    #[arg(long, value_name = "FORMAT", value_enum, default_value = "trec")]
    run_format: RunFormat,
    /// Last column in TREC's format [default: gamut]
    #[arg(long)]
    tag: Option<String>,
    /// Print only the best N documents of each query [default: all]
    #[arg(short, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    k: Option<u32>,
    /// BM25's k1, 0 to 1000: how fast repetitions of a term saturate
    #[arg(long, default_value_t = Bm25::default().k1, allow_negative_numbers = true)]
    k1: f32,
    /// BM25's b, 0 to 1: how much the length of a document counts
    #[arg(long, default_value_t = Bm25::default().b, allow_negative_numbers = true)]
    b: f32,
    /// Kind of score: bm25 unless the index has weights. Impacts are integers that `gamut index --impacts` stores
    #[arg(long, value_enum)]
    scores: Option<Scores>,
    /// Score by the statistics in this file of `gamut stats --terms`; several are added up
    #[arg(long, value_name = "FILE")]
    statistics: Vec<PathBuf>,
    /// Codec of the index to read [default: the last codec of the index]
    #[arg(long, value_name = "NAME")]
    codec: Option<String>,
    #[command(flatten)]
    threads: Threads,
    /// Print no summary
    #[arg(short, long)]
    quiet: bool,
    /// Print the summary as one JSON object; --run-format json is for the scores
    #[arg(long, requires = "run")]
    json: bool,
}

/// What was done.
#[derive(Debug, Default)]
struct Done {
    pairs: usize,
    scored: u64,
    /// Queries of pairs that the topics lack, and their pairs.
    no_topic: Missing,
    /// Documents of pairs that the index lacks, and their pairs.
    no_document: Missing,
    /// Ids of several documents.
    several: Missing,
    without_words: WithoutWords,
}

/// Ids that are missing: how many, in how many pairs, and the first one.
#[derive(Debug, Default, Serialize)]
struct Missing {
    ids: u64,
    pairs: u64,
    /// Empty if there is none.
    first: String,
}

impl Missing {
    fn add(&mut self, id: &str, pairs: u64) {
        if self.ids == 0 {
            id.clone_into(&mut self.first);
        }
        self.ids += 1;
        self.pairs += pairs;
    }

    /// A line for a person, if any is missing: `one` or `many` of the ids, and what became of them.
    fn tell(&self, one: &str, many: &str, what: &str) {
        match self.ids {
            0 => {}
            1 => tell!("gamut: 1 {one} {what}: {}", ui::printable(&self.first)),
            n => tell!("gamut: {n} {many} {what}; the first is {}", ui::printable(&self.first)),
        }
    }
}

fn open(path: &Path) -> Result<(Box<dyn Read + Send>, String)> {
    if path.as_os_str() == "-" {
        return Ok((Box::new(io::stdin()), "standard input".to_owned()));
    }
    Ok((Box::new(File::open(path).map_err(Error::io("read", path))?), path.display().to_string()))
}

/// The results, in a file or on standard output.
enum Target {
    File(Output),
    Stdout(io::BufWriter<io::Stdout>),
}

impl Target {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        match self {
            Self::File(output) => output.write(bytes),
            Self::Stdout(out) => out.write_all(bytes).map_err(Error::io("write", Path::new("standard output"))),
        }
    }

    fn finish(self) -> Result<()> {
        match self {
            Self::File(output) => output.finish(),
            Self::Stdout(mut out) => out.flush().map_err(Error::io("write", Path::new("standard output"))),
        }
    }
}

/// Runs the command.
///
/// # Errors
/// The index, the topics or the pairs cannot be read; options are out of range or do not go together; the output
/// cannot be written.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let start = Instant::now();
    anyhow::ensure!(
        args.topics.as_os_str() != "-" || args.pairs.as_os_str() != "-",
        "standard input cannot have both topics and pairs; name a file for one of them"
    );
    args.threads.start()?;
    let form = Form::new(args.run_format, args.tag.as_deref())?;
    let index = Index::open(&args.index)?;
    if let Some(line) = index.manifest().analyzer.other_unicode() {
        tell!("gamut: warning: {line}");
    }
    let searcher = args.searcher(&index)?;
    if let Some(run) = &args.run {
        no_json_behind(run, args.json)?;
        let statistics = args.statistics.iter().map(|path| ("--statistics", &**path));
        let inputs = [("--topics", &*args.topics), ("--pairs", &*args.pairs)];
        takes_no_place(("--run", run), Some(&args.index), inputs.into_iter().chain(statistics))?;
    }
    let (file, name) = open(&args.topics)?;
    let topics = TopicReader::new(file).and_then(Iterator::collect::<Result<Vec<Topic>>>);
    let topics = topics.with_context(|| format!("in {name}"))?;
    let (file, name) = open(&args.pairs)?;
    let pairs = Pairs::read(file, &name)?;
    let mut target = match &args.run {
        Some(path) => Target::File(Output::create(path)?),
        None => Target::Stdout(io::BufWriter::new(io::stdout())),
    };
    let means = ui::means(rayon::current_num_threads(), 0, true);
    let done = score(&searcher, &topics, &pairs, args.k, &form, &means, &mut |bytes| target.write(bytes))
        .map_err(|error| index.unchanged().err().unwrap_or(error))?;
    target.finish()?;
    done.no_topic.tell("query of the pairs is", "queries of the pairs are", "not among the topics");
    done.no_document.tell("document of the pairs is", "documents of the pairs are", "not in the index");
    done.several.tell("id is", "ids are", "of several documents, and stands for the first of the input");
    if let Some(line) = done.without_words.line() {
        tell!("{line}");
    }
    let seconds = start.elapsed().as_secs_f64();
    if args.json {
        json::print(&serde_json::json!({
            "pairs": done.pairs, "scored": done.scored, "seconds": seconds,
            "queries_not_found": done.no_topic, "documents_not_found": done.no_document,
            "ids_of_several_documents": done.several, "queries_without_words": done.without_words,
        }))?;
    } else if !args.quiet {
        let to = args.run.as_ref().map_or_else(String::new, |path| format!(": {}", path.display()));
        tell!("{} of {} pairs scored in {seconds:.2} s{to}", done.scored, done.pairs);
    }
    Ok(if done.scored > 0 { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

impl Args {
    fn searcher<'a>(&self, index: &'a Index) -> Result<Searcher<'a>> {
        let bm25 = Bm25 { k1: self.k1, b: self.b };
        let scores = self.scores.unwrap_or_else(|| Scores::usual(index));
        let searcher = Searcher::new(index, self.codec.as_deref(), bm25)?.with_scores(scores)?;
        match &self.statistics[..] {
            [] => Ok(searcher),
            files => searcher.within(Arc::new(Collection::read_all(files)?), bm25),
        }
    }
}

/// Of several documents, the one that came first in the input.
pub fn first_of_input(index: &Index, docs: &[u32]) -> Option<u32> {
    let place = |doc: u32| index.input_places().and_then(|places| places.get(doc as usize).copied()).unwrap_or(doc);
    docs.iter().copied().min_by_key(|&doc| place(doc))
}

/// Scores all pairs and hands over their lines.
fn score(
    searcher: &Searcher<'_>,
    topics: &[Topic],
    pairs: &Pairs,
    k: Option<u32>,
    form: &Form,
    means: &Means,
    sink: &mut dyn FnMut(&[u8]) -> Result<()>,
) -> Result<Done> {
    let index = searcher.index();
    let places = index.input_places();
    let mut done = Done { pairs: pairs.count(), ..Done::default() };
    let found = index.find_ids_of_runs(&pairs.ids)?;
    let mut uses = vec![0u64; found.len()];
    pairs.queries.iter().flat_map(|(_, documents)| documents).for_each(|&id| uses[id as usize] += 1);
    for ((docs, id), &uses) in found.iter().zip(&pairs.ids).zip(&uses) {
        match docs.len() {
            0 => done.no_document.add(id, uses),
            1 => {}
            _ => done.several.add(id, uses),
        }
    }
    let first: Vec<Option<u32>> = found.iter().map(|docs| first_of_input(index, docs)).collect();
    drop(found);
    let mut by_id: HashMap<&str, &Topic> = HashMap::with_capacity(topics.len());
    topics.iter().rev().for_each(|topic| _ = by_id.insert(&topic.id, topic));

    let mut reader = IdReader::new(index, means.memory / 4);
    let mut rest = &pairs.queries[..];
    while !rest.is_empty() {
        means.go_on()?;
        let mut count = 0;
        let most = rest.iter().take_while(|(_, documents)| {
            count += documents.len();
            count <= WINDOW
        });
        let (window, behind) = rest.split_at(most.count().max(1));
        rest = behind;
        let mut asked: Vec<(Topic, &[u32])> = Vec::with_capacity(window.len());
        for (query, documents) in window {
            match by_id.get(query.as_str()) {
                Some(&topic) => asked.push((topic.clone(), documents)),
                None => done.no_topic.add(query, documents.len() as u64),
            }
        }
        let one = |(topic, documents): &(Topic, &[u32])| -> Result<((Plan, u64), Vec<Hit>)> {
            let plan = searcher.plan_of(topic)?;
            let mut docs: Vec<u32> = documents.iter().filter_map(|&id| first[id as usize]).collect();
            docs.sort_unstable();
            docs.dedup();
            let scores = searcher.score(&plan, &docs)?;
            let mut top = TopK::collecting(k.map_or(docs.len(), |k| k as usize).max(1), places);
            docs.iter().zip(scores).for_each(|(&doc, score)| top.push(Hit { doc, score }));
            Ok(((plan, docs.len() as u64), top.into_sorted()))
        };
        let answers: Vec<((Plan, u64), Vec<Hit>)> = asked.par_iter().map(one).collect::<Result<_>>()?;
        let topics: Vec<Topic> = asked.into_iter().map(|(topic, _)| topic).collect();
        let (plans, hits): (Vec<(Plan, u64)>, Vec<Vec<Hit>>) = answers.into_iter().unzip();
        let (plans, scored): (Vec<Plan>, Vec<u64>) = plans.into_iter().unzip();
        without_words(&topics, &plans).into_iter().for_each(|id| done.without_words.add(id));
        done.scored += scored.iter().sum::<u64>();
        put(&topics, &hits, &mut reader, searcher, form, means, sink)?;
    }
    Ok(done)
}
