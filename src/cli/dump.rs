//! `gamut dump`: the postings of one term.

use crate::index::Index;
use crate::postings::{Cursor, END, Postings};
use crate::query::{Bm25, Searcher};
use anyhow::Context as _;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;

/// Postings written between two looks into the document table.
const CHUNK: usize = 4096;

/// Print the postings of a term: docID, term frequency and external id, between tabs.
///
/// gamut looks TERM up as it stands. If the index has no such term, gamut analyses TERM as it would a query.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  gamut dump out/gov2 kudzu
  gamut dump out/gov2 kudzu --limit 3
  gamut dump out/gov2 kudzu --codec vbyte | cmp - <(gamut dump out/gov2 kudzu --codec para-ef)

Exit code: 0 if the term is there, 1 if not, 2 on errors.")]
pub struct Args {
    /// Directory of the index.
    index: PathBuf,
    /// Term to look up.
    term: String,
    /// Codec of the index to read the postings from.
    #[arg(long)]
    codec: Option<String>,
    /// Print at most this many postings.
    #[arg(long)]
    limit: Option<u64>,
}

/// Runs the command.
///
/// # Errors
/// The index cannot be read, the output cannot be written.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let index = Index::open(&args.index)?;
    let codec = index.codec(args.codec.as_deref())?;
    let mut id = index.lookup(args.term.as_bytes())?;
    if id.is_none() {
        let query = Searcher::new(&index, args.codec.as_deref(), Bm25::default())?.parse(&args.term)?;
        if let [(term, _)] = &query.terms[..] {
            id = index.lookup(term.as_bytes())?;
        }
    }
    let Some(id) = id else {
        // The exit code says it too, so a closed stderr does not matter.
        let _ = writeln!(io::stderr(), "gamut: no document has the term \"{}\"", args.term);
        return Ok(ExitCode::from(1));
    };
    let mut cursor = Cursor::new(index.list(&index.term(id)?, codec)?);
    let mut out = BufWriter::new(io::stdout().lock());
    dump(&index, &mut cursor, args.limit.unwrap_or(u64::MAX), &mut out)
        .map_err(|error| index.unchanged().err().map_or(error, Into::into))?;
    out.flush().context("cannot write the postings")?;
    Ok(ExitCode::SUCCESS)
}

fn dump(index: &Index, cursor: &mut Cursor<'_>, limit: u64, out: &mut impl Write) -> anyhow::Result<()> {
    let mut left = limit;
    while left > 0 && cursor.doc() != END {
        let (mut docs, mut tfs) = (Vec::with_capacity(CHUNK), Vec::with_capacity(CHUNK));
        while left > 0 && docs.len() < CHUNK && cursor.doc() != END {
            docs.push(cursor.doc());
            tfs.push(cursor.tf());
            cursor.advance();
            left -= 1;
        }
        if let Some(damage) = cursor.damage() {
            return Err(damage.into());
        }
        let names = index.names(&docs)?;
        index.unchanged()?;
        for ((doc, tf), name) in docs.iter().zip(&tfs).zip(names) {
            writeln!(out, "{doc}\t{tf}\t{}", name.id).context("cannot write the postings")?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::tests::{Plan, build};

    #[test]
    fn test_postings_are_written_up_to_the_limit() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("index");
        build(&target, &[("a", "", "", "x x"), ("b", "", "", "y"), ("c", "", "", "x")], &Plan::default()).unwrap();
        let index = Index::open(&target).unwrap();
        let info = index.term(index.lookup(b"x").unwrap().unwrap()).unwrap();
        for (limit, expected) in [(0, ""), (1, "0\t2\ta\n"), (9, "0\t2\ta\n2\t1\tc\n")] {
            let mut cursor = index.cursor(&info, index.codec(None).unwrap()).unwrap();
            let mut out = Vec::new();
            dump(&index, &mut cursor, limit, &mut out).unwrap();
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        }
    }
}
