//! `gamut append`: new documents for a finished index.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;

use super::ui;
use crate::base::json::{self, document};
use crate::corpus::{CorpusOptions, Weights};
use crate::index::change::merge::OnDuplicate;
use crate::pipeline::BuildOptions;
use crate::pipeline::append::{Appended, append};
use crate::sort::SorterChoice;

/// Append documents to a finished index.
///
/// gamut builds an index of the new documents only, with the analyzer, codecs and options of the index, and merges
/// both. The result has the bytes that `gamut index` would have written for the old inputs and then the new ones. It
/// takes the place of the index in one step: whatever ends gamut before that leaves the old index as it was, and
/// readers of the old one are not disturbed. `gamut serve --watch` takes up the new one by itself. An append costs the
/// build of the new documents, one pass over the whole index, and for its time the disk space of a second index. So
/// append many files at once, not one at a time. Ranks by links are left out, since only a build knows the links.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  gamut append out/crawl crawl-2026-11-23.warc.gz
  gamut append out/crawl today/ --on-duplicate keep-last    new versions of pages replace old ones
  gamut append out/beir more.jsonl --id-field docid --text-field body

Exit code: 0 if done, 1 with --strict if any input was damaged. 2 if not done; the index then stays as it was.")]
pub struct Args {
    /// Directory of the index
    index: PathBuf,
    /// Files and directories to append
    #[arg(required = true, value_name = "INPUT")]
    inputs: Vec<PathBuf>,
    /// What to do with documents of the same external id: keep-all, keep-first, keep-last, or fail
    #[arg(long, value_name = "CHOICE", default_value_t = OnDuplicate::KeepAll)]
    on_duplicate: OnDuplicate,
    /// Format of all files, as in `gamut index` [default: each file's own, by its content]
    #[arg(long, value_name = "NAME")]
    format: Option<String>,
    /// JSON field that contains the external id, as in `gamut index`
    #[arg(long, value_name = "NAME")]
    id_field: Option<String>,
    /// JSON fields that contain the text, separated by commas, as in `gamut index`
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    text_field: Option<Vec<String>>,
    /// JSON field that contains the title, as in `gamut index`
    #[arg(long, value_name = "NAME")]
    title_field: Option<String>,
    /// JSON field with terms and their weights, as in `gamut index`
    #[arg(long, value_name = "NAME", conflicts_with = "text_field")]
    vector_field: Option<String>,
    /// Multiply weights before they are rounded [default: as those of the index, or by 1 if it does
    /// not say; if it does, another scale is refused]
    #[arg(long, value_name = "X", requires = "vector_field")]
    vector_scale: Option<f64>,
    /// Do not store URLs of the new documents
    #[arg(long)]
    no_urls: bool,
    /// Do not store titles of the new documents
    #[arg(long)]
    no_titles: bool,
    #[command(flatten)]
    threads: ui::Threads,
    #[command(flatten)]
    memory: ui::Memory,
    /// Exit with 1 if any input was damaged
    #[arg(long)]
    strict: bool,
    /// Print no progress
    #[arg(short, long)]
    quiet: bool,
    /// Print one JSON object instead of lines
    #[arg(long)]
    json: bool,
}

/// Runs the command.
///
/// # Errors
/// See [`append`]; the output cannot be written.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let defaults = CorpusOptions::default();
    let options = BuildOptions {
        corpus: CorpusOptions {
            format: args.format.clone(),
            id_field: args.id_field.clone().or(defaults.id_field.clone()),
            text_field: args.text_field.clone().or(defaults.text_field.clone()),
            title_field: args.title_field.clone(),
            weights: args.vector_field.clone().map(|field| Weights::new(field, args.vector_scale)).transpose()?,
            ..defaults
        },
        sorter: SorterChoice::parse("cpu")?,
        store_urls: !args.no_urls,
        store_titles: !args.no_titles,
        means: ui::means(args.threads.start()?, args.memory.bytes(), args.quiet),
        ..BuildOptions::new(args.inputs.clone(), args.index.clone())
    };
    let done = append(&args.index, &options, args.on_duplicate)?;
    drop(options);
    if let Some(line) = done.new.unread() {
        tell!("gamut: {line}");
    }
    if done.union.ranks_gone {
        tell!("gamut: {}", super::merge::RANKS_GONE);
    }
    write_done(&mut io::stdout().lock(), args, &done).context("cannot write the result")?;
    Ok(if args.strict && done.new.skipped.damage() > 0 { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

/// What was done, as JSON.
pub fn report(index: &Path, Appended { new, union }: &Appended) -> serde_json::Value {
    serde_json::json!({
        "index": json::path(index),
        "appended": new.documents,
        "damaged": new.skipped.damage(),
        "skipped": new.skipped,
        "build_seconds": new.seconds,
        "union": super::merge::report(union),
    })
}

fn write_done(out: &mut impl Write, args: &Args, done: &Appended) -> io::Result<()> {
    let (new, union, s) = (&done.new, &done.union, done.union.statistics);
    if args.json {
        return document(out, &report(&args.index, done));
    }
    writeln!(
        out,
        "{}: {:+} documents, now {} documents, {} terms, {} postings in {} bytes",
        args.index.display(),
        new.documents.cast_signed() - union.left_out.cast_signed(),
        s.documents,
        s.terms,
        s.postings,
        union.bytes
    )?;
    out.write_all(new.skipped.lines(&"what --json prints").as_bytes())?;
    new.warnings.iter().try_for_each(|warning| writeln!(out, "warning   {warning}"))?;
    if args.on_duplicate != OnDuplicate::KeepAll {
        writeln!(out, "{} documents left out that had the id of another one", union.left_out)?;
    }
    writeln!(out, "new documents built in {:.2} s; {}", new.seconds, super::merge::times(union))
}
