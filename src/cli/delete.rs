//! `gamut delete`: a finished index without some of its documents, at once or written anew.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use clap::ArgGroup;
use serde_json::json;

use super::{ids, ui};
use crate::base::json::{document, path};
use crate::index::Index;
use crate::index::change::delete::{Delete, Deleted, Done, Marked, Pattern, Which, delete};
use crate::index::run_ids::on_a_line;
use crate::order::Order;

/// Delete documents from a finished index.
///
/// At once gamut marks the documents in a file of their own, deleted.bin, and corrects number of documents, mean length
/// and df. Documents then have the scores that they have in an index that never had the deleted ones. This costs one
/// pass over the docIDs of one codec. The deleted documents stay in the other files until the index is written anew:
/// by --purge, `gamut merge` or `gamut append`. It then has the bytes that `gamut index` would have written without
/// them. Only the frames of stored texts may end elsewhere. Ranks by links are left out then, since only a build knows
/// the links.
///
/// The new index takes the place of the old one in one step. Whatever ends gamut before that leaves the old one as it
/// was.
#[derive(Debug, clap::Args)]
#[command(group(ArgGroup::new("documents").required(true).multiple(true).args(["ids", "patterns", "purge"])))]
#[command(after_long_help = "\
Examples:
  gamut delete out/crawl --ids gone.txt
  gamut delete out/crawl --match 'url=http://example.org/private/*'
  gamut delete out/crawl --match 'title=404*' --dry-run     print which they are, and change nothing
  gamut delete out/crawl --purge                            write the index anew without what is deleted
  gamut delete out/crawl --ids private.txt --purge          both: nothing of them is left on the disk
  gamut delete out/crawl --ids spam.txt --purge -o out/clean    write a new index

Until a purge, queries by impacts, `gamut export`, `reorder` and `compare` refuse an index with deleted documents.

Exit code: 0 if done, 1 if there was no document to delete. 2 if not done. With 1 and 2 the index stays as it was.")]
pub struct Args {
    /// Directory of the index
    index: PathBuf,
    /// File of external ids, one a line, or - for the standard input. Every document of an id is deleted
    #[arg(long, value_name = "FILE")]
    ids: Option<PathBuf>,
    /// Delete the documents whose id, url or title matches. * stands for any characters, ? for one
    #[arg(long = "match", id = "patterns", value_name = "FIELD=GLOB")]
    patterns: Vec<Pattern>,
    /// Write the index anew, without the documents and without those deleted before. This takes the disk space of a
    /// second index while it lasts
    #[arg(long)]
    purge: bool,
    /// With --purge: write the new index to this directory and leave the old one as it is
    #[arg(short, long, value_name = "DIR", requires = "purge")]
    output: Option<PathBuf>,
    /// With --purge: the order of the documents [default: that of the index, made again for those that stay]
    #[arg(long, value_name = "ORDER", requires = "purge")]
    order: Option<Order>,
    /// Print the ids of the documents, one a line, and change nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    threads: ui::Threads,
    #[command(flatten)]
    memory: ui::Memory,
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
/// See [`delete`]; the file of ids cannot be read; the output cannot be written.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let ids = args.ids.as_deref().map_or_else(|| Ok(Vec::new()), ids::read)?;
    let which = Which { ids, patterns: args.patterns.clone() };
    if args.dry_run {
        return print_found(args, &which);
    }
    let change = Delete {
        which: &which,
        purge: args.purge,
        output: args.output.as_deref(),
        order: args.order.clone(),
        means: ui::means(args.threads.start()?, args.memory.bytes(), args.quiet),
    };
    let done = delete(&args.index, &change)?;
    drop(change);
    ids::tell_unknown(done.unknown.len(), done.unknown.first());
    if matches!(&done.done, Done::Purged(rest) if rest.ranks_gone) {
        tell!("gamut: {}", super::merge::RANKS_GONE);
    }
    write_done(&mut io::stdout().lock(), args, &done).context("cannot write the result")?;
    Ok(if matches!(done.done, Done::Nothing) { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

fn print_found(args: &Args, which: &Which) -> anyhow::Result<ExitCode> {
    let (ids, unknown, deleted) = found(&args.index, which)?;
    let purged = if args.purge { deleted } else { 0 };
    ids::tell_unknown(unknown.len(), unknown.first());
    let mut out = io::BufWriter::new(io::stdout().lock());
    match args.json {
        true => document(&mut out, &found_report(&args.index, &ids)),
        false => ids.iter().try_for_each(|id| writeln!(out, "{}", on_a_line(id))),
    }
    .context("cannot write the result")?;
    out.flush().context("cannot write the result")?;
    match purged {
        0 if ids.is_empty() => tell!("gamut: {}: no document to delete", args.index.display()),
        0 => {}
        _ => {
            tell!("gamut: {}: {purged} documents that are deleted already would be dropped, too", args.index.display())
        }
    }
    Ok(if ids.is_empty() && purged == 0 { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

/// The ids of the documents that a deletion would delete, those that no document has, and how many documents are
/// deleted already.
fn found(index: &Path, which: &Which) -> crate::Result<(Vec<String>, Vec<String>, u64)> {
    let index = Index::open(index)?;
    let found = index.settle(which.find(&index))?;
    let gone: Vec<u32> = (0..).zip(&found.marks).filter(|&(_, &gone)| gone).map(|(doc, _)| doc).collect();
    let names = index.settle(index.names(&gone))?;
    let deleted = index.deleted().map_or(0, |deleted| deleted.documents());
    Ok((names.into_iter().map(|name| name.id).collect(), found.unknown, deleted))
}

fn found_report(index: &Path, ids: &[String]) -> serde_json::Value {
    json!({ "index": path(index), "ids": ids })
}

/// What `--dry-run` prints, as JSON.
///
/// # Errors
/// See [`Which::find`].
pub fn would_go(index: &Path, which: &Which) -> crate::Result<serde_json::Value> {
    Ok(found_report(index, &found(index, which)?.0))
}

/// What was done to the index, or to its copy, as JSON.
pub fn report(index: &Path, done: &Deleted) -> serde_json::Value {
    let marked = match &done.done {
        Done::Marked(marked) => json!({
            "documents": marked.documents,
            "tokens": marked.tokens,
            "terms": marked.terms,
            "corrected_terms": marked.corrected,
            "check_seconds": marked.check_seconds,
            "count_seconds": marked.count_seconds,
            "write_seconds": marked.write_seconds,
        }),
        Done::Nothing | Done::Purged(_) => serde_json::Value::Null,
    };
    let rest = match &done.done {
        Done::Purged(rest) => super::merge::report(rest),
        Done::Nothing | Done::Marked(_) => serde_json::Value::Null,
    };
    json!({
        "index": path(index),
        "deleted": done.documents,
        "deleted_before": done.before,
        "unknown_ids": done.unknown,
        "marked": marked,
        "rest": rest,
    })
}

fn write_done(out: &mut impl Write, args: &Args, done: &Deleted) -> io::Result<()> {
    let purged = matches!(done.done, Done::Purged(_));
    let index = args.output.as_ref().filter(|_| purged).unwrap_or(&args.index);
    if args.json {
        return document(out, &report(index, done));
    }
    let path = index.display();
    match &done.done {
        Done::Nothing => writeln!(out, "{path}: no document to delete; the index stays as it is"),
        Done::Marked(Marked { documents, terms, corrected, check_seconds, count_seconds, write_seconds, .. }) => {
            let all = done.documents + done.before;
            writeln!(
                out,
                "{path}: {} documents deleted, {documents} documents and {terms} terms are left; {all} deleted ones are \
                 still in the files, until --purge\ncorrected the df of {corrected} terms; checksums {check_seconds:.2} s, \
                 counting {count_seconds:.2} s, writing {write_seconds:.2} s",
                done.documents,
            )
        }
        Done::Purged(rest) => {
            let s = rest.statistics;
            writeln!(
                out,
                "{path}: {} documents deleted, {} purged, {} documents, {} terms, {} postings in {} bytes\n{}",
                done.documents,
                done.documents + done.before,
                s.documents,
                s.terms,
                s.postings,
                rest.bytes,
                super::merge::times(rest)
            )
        }
    }
}
