//! `gamut demo`: a small index from nothing, and some answers from it.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::base::json;
use crate::base::means::Means;
use crate::cli::query::SCORE;
use crate::cli::ui;
use crate::index::change::reencode::{Change, PartChange, reencode};
use crate::index::{Index, verify};
use crate::pipeline::{BuildOptions, BuildReport};
use crate::query::{Bm25, Mode, Searcher};
use crate::{Error, Result, codec, pipeline};

/// Index a small crawl that comes with gamut, then verify, re-encode and query the index.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Directory of the new index; an old out/demo is replaced
    #[arg(short, long, value_name = "DIR", default_value = DEFAULT_OUTPUT)]
    output: PathBuf,
    /// Replace any other index, too
    #[arg(long)]
    force: bool,
    /// Print one JSON object instead of lines
    #[arg(long)]
    json: bool,
}

const DEFAULT_OUTPUT: &str = "out/demo";

/// Where the crawl lies in a checkout.
const CRAWL: &str = "corpora/small.warc.gz";

/// The same file, for everywhere else.
const EMBEDDED: &[u8] = include_bytes!("../../corpora/small.warc.gz");

/// What is asked, and what it shows.
const QUESTIONS: [(&str, Mode, &str); 5] = [
    ("fresnel lens", Mode::Or, "two words, ranked by BM25"),
    ("sun moon tide", Mode::And, "all three words must stand in the page"),
    ("why does rye bread need sourdough", Mode::Or, "common words weigh little"),
    ("ржаной хлеб", Mode::Or, "this page came as windows-1251"),
    ("灯台", Mode::Or, "and this one as Shift_JIS"),
];

/// The codec that the index is given besides.
const OTHER: &str = "simdbp";

/// Pages shown for each question.
const SHOWN: usize = 3;

/// Runs the demo; it prints what it does to standard output.
///
/// # Errors
/// The index cannot be built or read, or standard output cannot be written.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let carried = tempfile::tempdir().map_err(Error::io("create a directory in", std::env::temp_dir()))?;
    let crawl = crawl(carried.path())?;
    let mut out: Box<dyn Write> = if args.json { Box::new(io::sink()) } else { Box::new(io::stdout().lock()) };

    let means = ui::means(0, 0, true);
    let options = BuildOptions {
        force: args.force || args.output == Path::new(DEFAULT_OUTPUT),
        means: means.clone(),
        ..BuildOptions::new(vec![crawl.clone()], args.output.clone())
    };
    writeln!(out, "$ gamut index {} -o {}", shown_path(&crawl), args.output.display())?;
    let report = pipeline::build(&options)?;
    what_was_built(&mut out, &report)?;

    writeln!(out, "\n$ gamut verify {}", args.output.display())?;
    let verified = verify(&args.output)?;
    anyhow::ensure!(verified.problem_count == 0, "{}: {} problems", args.output.display(), verified.problem_count);
    writeln!(out, "sound: {} lists and {} postings decoded", verified.lists, verified.postings)?;

    writeln!(out, "\n$ gamut reencode {} --codec {OTHER}", args.output.display())?;
    let change = Change {
        add: codec::parse_list(OTHER)?,
        remove: Vec::new(),
        impacts: PartChange::Keep,
        tables: PartChange::Keep,
        from: None,
        output: None,
        gpu: None,
        means: Means { threads: 1, ..means },
    };
    let changed = reencode(&args.output, &change)?;
    let sizes = changed.written.iter().map(|(codec, bytes)| format!("{codec} takes {bytes} bytes")).collect::<Vec<_>>();
    writeln!(
        out,
        "{}, as written from {}; {} lists decoded again and compared",
        sizes.join(", "),
        changed.from,
        changed.lists
    )?;

    let index = Index::open(&args.output)?;
    let searcher = Searcher::new(&index, None, Bm25::default())?;
    let mut answers = Vec::new();
    for (words, mode, what) in QUESTIONS {
        let flag = if mode == Mode::And { "--mode and " } else { "" };
        writeln!(out, "\n$ gamut query {} -k {SHOWN} {flag}{words}    # {what}", args.output.display())?;
        let hits = answer(&mut out, &searcher, words, mode)?;
        answers.push(serde_json::json!({ "query": words, "mode": mode, "shows": what, "hits": hits }));
    }
    what_next(&mut out, &args.output)?;
    drop(out);
    if args.json {
        json::print(&serde_json::json!({
            "index": json::path(&args.output),
            "documents": report.documents,
            "tokens": report.tokens,
            "terms": report.terms,
            "postings": report.postings,
            "index_bytes": report.index_bytes,
            "seconds": report.seconds,
            "sorter": report.sorter,
            "skipped": report.skipped.total(),
            "lists_verified": verified.lists,
            "postings_verified": verified.postings,
            "reencoded": changed.written.iter().map(|(codec, bytes)| serde_json::json!({ "codec": codec, "bytes": bytes }))
                .collect::<Vec<_>>(),
            "answers": answers,
        }))?;
    }
    Ok(())
}

/// The crawl of the checkout we stand in, else the one in the program, written into `dir`.
fn crawl(dir: &Path) -> Result<PathBuf> {
    let here = PathBuf::from(CRAWL);
    if here.is_file() {
        return Ok(here);
    }
    let path = dir.join("small.warc.gz");
    std::fs::write(&path, EMBEDDED).map_err(Error::io("write", &path))?;
    Ok(path)
}

fn shown_path(crawl: &Path) -> String {
    if crawl == Path::new(CRAWL) { CRAWL.to_owned() } else { "(the crawl inside this program)".to_owned() }
}

fn what_was_built(out: &mut impl Write, report: &BuildReport) -> io::Result<()> {
    writeln!(
        out,
        "{} pages, {} words, {} distinct; {} postings in {} bytes; {:.2} s, sorted by {}",
        report.documents,
        report.tokens,
        report.terms,
        report.postings,
        report.index_bytes,
        report.seconds,
        report.sorter
    )?;
    writeln!(
        out,
        "{} records of the crawl are no pages, but requests, redirects, pictures and so on",
        report.skipped.total()
    )
}

/// Answers, and returns the hits for `--json`.
fn answer(
    out: &mut impl Write,
    searcher: &Searcher<'_>,
    words: &str,
    mode: Mode,
) -> anyhow::Result<Vec<serde_json::Value>> {
    let mut shown = Vec::new();
    let hits = searcher.search(&searcher.plan(&searcher.parse(words)?)?, mode, SHOWN)?;
    for (rank, hit) in (1..).zip(&hits) {
        let name = searcher.index().name(hit.doc)?;
        writeln!(out, "{rank:>3}  {:<SCORE$}  {}  {}", hit.score.to_string(), name.id, name.title)
            .context("cannot write the answer")?;
        // a JSON value holds no f32, and its shortest decimal is what all others print
        let score: f64 = hit.score.to_string().parse().context("a score is no number")?;
        shown.push(serde_json::json!({ "rank": rank, "score": score, "id": name.id, "title": name.title }));
    }
    if hits.is_empty() {
        writeln!(out, "  (nothing)")?;
    }
    Ok(shown)
}

fn what_next(out: &mut impl Write, index: &Path) -> io::Result<()> {
    let index = index.display();
    let steps = [
        (format!("gamut query {index} WORDS"), "ask about lighthouses, tides, bread, bees, bridges, clocks"),
        (format!("gamut stats {index}"), "what is in the index, and what it costs"),
        (format!("gamut dump {index} lens"), "the list of one word"),
        (format!("gamut reencode {index} --estimate"), "what it would take in every codec"),
        ("gamut index CRAWL -o out/crawl".into(), "a crawl of yours: WARC, ARC, TRECWEB, JSON lines, HTML files"),
        ("gamut synth crawl -n 100000".into(), "none at hand? 3 GB of made-up pages"),
    ];
    writeln!(out, "\nNext:")?;
    steps.iter().try_for_each(|(command, what)| writeln!(out, "  {command:34} {what}"))
}
