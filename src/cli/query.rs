//! `gamut query`: rank documents for one query, or for a file of them.

use crate::index::{DocName, Index};
use crate::query::{Bm25, Hit, Mode, Plan, Query, Scores, Searcher, Topic, parse_topics};
use crate::{Error, Result};
use anyhow::Context as _;
use rayon::prelude::*;
use std::collections::HashMap;
use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

/// Topics whose results are held in memory at a time.
const CHUNK: usize = 1024;

/// Rank documents by BM25.
///
/// The query is analysed as the documents were; nothing about the index has to be repeated. A term that
/// stands in the query twice counts twice. With --mode and, a term that no document has gives
/// no result; with --mode or it is passed over. Equal scores go in the order of the documents.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  gamut query out/gov2 oil industry history
  gamut query out/gov2 --mode and -k 3 --json oil history
  gamut query out/gov2 --topics topics.701-750.txt --run gov2.run -k 1000
  trec_eval qrels.701-750.txt gov2.run

Files of topics are told apart by content:
  TREC topics (the title only)    <top><num>Number: 701<title>oil history …
  Web Track and COVID XML         <topic number=\"1\"><query>family tree</query> …
  JSON lines                      {\"id\": \"q1\", \"query\": \"family tree\"}
  TSV                             1048585<tab>family tree
  Terabyte efficiency logs        42:family tree
  bare lines                      family tree            (numbered from 1)
gzip is undone; a line that is not UTF-8 is read as Windows-1252.

Exit code: 0 if something was found, 1 if nothing was, 2 on errors.")]
pub struct Args {
    /// Directory of the index.
    index: PathBuf,
    /// The query; words are joined by spaces.
    #[arg(required_unless_present = "topics", conflicts_with = "topics")]
    query: Vec<String>,
    /// Which documents match: those with all terms, with any, or with all and, if these are fewer than k, any.
    #[arg(long, value_enum, default_value = "or")]
    mode: Mode,
    /// How many documents to rank, for each query.
    #[arg(short, default_value_t = 10)]
    k: usize,
    /// BM25: how fast repetitions of a term saturate, 0 to 1000.
    #[arg(long, default_value_t = Bm25::default().k1)]
    k1: f32,
    /// BM25: how much the length of a document counts, 0 to 1.
    #[arg(long, default_value_t = Bm25::default().b)]
    b: f32,
    /// What scores are: BM25, or sums of the quantised impacts that `gamut index --impacts` stores (integers, the same on every
    /// engine; k1 and b are then those of the index, 0.9 and 0.4).
    #[arg(long, value_enum, default_value = "bm25")]
    scores: Scores,
    /// Read the postings of this codec of the index; the results are the same.
    #[arg(long)]
    codec: Option<String>,
    /// Write one JSON object instead of lines.
    #[arg(long, conflicts_with = "topics")]
    json: bool,
    /// Answer all queries of this file, on all cores.
    #[arg(long, value_name = "FILE", requires = "run")]
    topics: Option<PathBuf>,
    /// Write the results of --topics here, in TREC's format: query id, Q0, document id, rank, score, tag.
    #[arg(long, value_name = "FILE", requires = "topics")]
    run: Option<PathBuf>,
    /// Last column of the run file.
    #[arg(long, default_value = "gamut", requires = "run")]
    tag: String,
}

/// Runs the command.
///
/// # Errors
/// The index or the topics cannot be read, an option is out of range, the output cannot be written.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let index = Index::open(&args.index)?;
    let searcher = Searcher::new(&index, args.codec.as_deref(), Bm25 { k1: args.k1, b: args.b })?;
    let searcher = searcher.with_scores(args.scores)?;
    if args.k == 0 {
        anyhow::bail!("-k 0 asks for no document; give 1 or more");
    }
    if args.run.is_some() && args.topics.is_none() {
        anyhow::bail!("--run writes the results of --topics; without it there are none");
    }
    let found = match (&args.topics, &args.run) {
        (Some(topics), Some(run)) => run_topics(args, &searcher, topics, run)?,
        _ => run_query(args, &searcher)?,
    };
    Ok(if found { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

#[derive(serde::Serialize)]
struct JsonTerm<'a> {
    term: &'a str,
    count: u32,
    df: u32,
}

#[derive(serde::Serialize)]
struct JsonHit<'a> {
    rank: usize,
    score: f32,
    doc: u32,
    id: &'a str,
    url: &'a str,
    title: &'a str,
}

#[derive(serde::Serialize)]
struct JsonAnswer<'a> {
    query: &'a str,
    mode: Mode,
    k: usize,
    k1: f32,
    b: f32,
    scores: Scores,
    /// What an impact of 1 stands for, by impacts.
    #[serde(skip_serializing_if = "Option::is_none")]
    step: Option<f32>,
    codec: &'static str,
    terms: Vec<JsonTerm<'a>>,
    seconds: f64,
    hits: Vec<JsonHit<'a>>,
}

/// Tells on stderr why nothing was found.
#[allow(clippy::print_stderr, reason = "a remark to the user, who sees no result")]
fn say_why(searcher: &Searcher<'_>, query: &Query) {
    let unknown = |term: &&String| matches!(searcher.index().lookup(term.as_bytes()), Ok(None));
    let missing: Vec<&str> = query.terms.iter().map(|(term, _)| term).filter(unknown).map(String::as_str).collect();
    match (query.terms.is_empty(), missing.is_empty()) {
        (true, _) => eprintln!("gamut: nothing found: the query has no terms"),
        (_, false) => eprintln!("gamut: nothing found: no document has {}", missing.join(", ")),
        _ => eprintln!("gamut: nothing found: no document has all terms; --mode or asks for any"),
    }
}

fn run_query(args: &Args, searcher: &Searcher<'_>) -> anyhow::Result<bool> {
    let text = args.query.join(" ");
    let start = Instant::now();
    let query = searcher.parse(&text)?;
    let plan = searcher.plan(&query)?;
    let hits = searcher.search(&plan, args.mode, args.k)?;
    let seconds = start.elapsed().as_secs_f64();
    let names = names(searcher.index(), hits.iter().map(|hit| hit.doc).collect())?;
    let mut out = BufWriter::new(io::stdout().lock());
    let result = if args.json {
        write_json(&mut out, args, searcher, &text, &query, &plan, &hits, &names, seconds)
    } else {
        write_hits(&mut out, args.scores, &hits, &names)
    };
    result.and_then(|()| out.flush()).context("cannot write the results")?;
    if hits.is_empty() {
        say_why(searcher, &query);
    }
    Ok(!hits.is_empty())
}

/// What a terminal must not get from a page's title is replaced.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

fn write_hits(out: &mut impl Write, scores: Scores, hits: &[Hit], names: &HashMap<u32, DocName>) -> io::Result<()> {
    let digits = if scores == Scores::Impacts { 0 } else { 4 };
    for (rank, hit) in (1..).zip(hits) {
        let name = &names[&hit.doc];
        let line = format!("{rank:>3}  {:8.digits$}  {}  {}", hit.score, printable(&name.id), printable(&name.title));
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}

#[allow(clippy::too_many_arguments, reason = "the parts of one answer, used in this one place")]
fn write_json(
    out: &mut impl Write,
    args: &Args,
    searcher: &Searcher<'_>,
    text: &str,
    query: &Query,
    plan: &Plan,
    hits: &[Hit],
    names: &HashMap<u32, DocName>,
    seconds: f64,
) -> io::Result<()> {
    let mut known = plan.terms.iter();
    let terms = query.terms.iter().map(|(term, count)| {
        let found = searcher.index().lookup(term.as_bytes()).ok().flatten().and_then(|_| known.next());
        JsonTerm { term, count: *count, df: found.map_or(0, |term| term.info.df) }
    });
    let answer = JsonAnswer {
        query: text,
        mode: args.mode,
        k: args.k,
        k1: args.k1,
        b: args.b,
        scores: args.scores,
        step: searcher.impacts().map(|impacts| impacts.quantizer().step()),
        codec: searcher.codec().codec().name(),
        terms: terms.collect(),
        seconds,
        hits: (1..)
            .zip(hits)
            .map(|(rank, hit)| {
                let DocName { id, url, title } = &names[&hit.doc];
                JsonHit { rank, score: hit.score, doc: hit.doc, id, url, title }
            })
            .collect(),
    };
    serde_json::to_writer_pretty(&mut *out, &answer)?;
    writeln!(out)
}

/// The names of some documents; every block of the document table is unpacked at most once, on all cores.
fn names(index: &Index, mut docs: Vec<u32>) -> Result<HashMap<u32, DocName>> {
    docs.sort_unstable();
    docs.dedup();
    let parts: Result<Vec<_>> = docs.par_chunks(64).map(|docs| index.names(docs)).collect();
    Ok(docs.into_iter().zip(parts?.into_iter().flatten()).collect())
}

/// A file that takes its name only once it is complete.
struct Output {
    file: BufWriter<tempfile::NamedTempFile>,
    path: PathBuf,
}

impl Output {
    fn create(path: &Path) -> Result<Self> {
        if path.is_dir() {
            let why = "is a directory; give the name of a file".to_owned();
            return Err(Error::Invalid { what: path.display().to_string(), why });
        }
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut builder = tempfile::Builder::new();
        builder.prefix(".gamut-run-");
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let file = builder.tempfile_in(parent).map_err(Error::io("create a file beside", path))?;
        Ok(Self { file: BufWriter::new(file), path: path.to_owned() })
    }

    fn finish(self) -> Result<()> {
        let file = self.file.into_inner().map_err(|error| Error::io("write", &self.path)(error.into_error()))?;
        file.persist(&self.path).map_err(|error| Error::io("rename to", &self.path)(error.error))?;
        Ok(())
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

fn run_topics(args: &Args, searcher: &Searcher<'_>, topics: &Path, run: &Path) -> anyhow::Result<bool> {
    if args.tag.is_empty() || args.tag.contains(char::is_whitespace) {
        let why = "must be one word: it is a column of the run file".to_owned();
        return Err(Error::Invalid { what: format!("--tag \"{}\"", args.tag), why }.into());
    }
    let mut output = Output::create(run)?;
    let bytes = fs::read(topics).map_err(Error::io("read", topics))?;
    let (_, topics) = parse_topics(&bytes).with_context(|| format!("in {}", topics.display()))?;
    let start = Instant::now();
    let (mut answered, mut hits_written) = (0, 0);
    for chunk in topics.chunks(CHUNK) {
        let answer = |topic: &Topic| -> Result<Vec<Hit>> {
            searcher.search(&searcher.plan(&searcher.parse(&topic.text)?)?, args.mode, args.k)
        };
        let answers: Vec<Vec<Hit>> = chunk.par_iter().map(answer).collect::<Result<_>>()?;
        let names = names(searcher.index(), answers.iter().flatten().map(|hit| hit.doc).collect())?;
        for (topic, hits) in chunk.iter().zip(&answers) {
            for (rank, Hit { doc, score }) in (1..).zip(hits) {
                let id = column(&names[doc].id);
                writeln!(output.file, "{} Q0 {id} {rank} {score} {}", topic.id, args.tag)
                    .map_err(Error::io("write", run))?;
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
    Ok(answered > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_columns_of_a_run_file_stay_one_word() {
        assert_eq!(column("http://a.test/x y\u{a0}z"), "http://a.test/x%20y%C2%A0z");
        assert_eq!(printable("a\u{1b}[31mb\n"), "a [31mb ");
    }

    #[test]
    fn test_output_appears_only_when_finished() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run");
        drop(Output::create(&path).unwrap());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
        let mut output = Output::create(&path).unwrap();
        writeln!(output.file, "x").unwrap();
        assert!(!path.exists());
        output.finish().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "x\n");
        assert!(Output::create(dir.path()).is_err(), "a directory");
        assert!(Output::create(&dir.path().join("no/such/run")).is_err());
    }
}
