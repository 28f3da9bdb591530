//! `gamut dump`: the postings of one term, what the index has of one document, or its text.

use crate::base::json;
use crate::cli::ui::printable;
use crate::index::Index;
use crate::index::run_ids::on_a_line;
use crate::postings::{Cursor, END, Postings};
use crate::query::{Bm25, Searcher};
use anyhow::Context as _;
use std::io::{self, BufWriter, IsTerminal as _, Write};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::ExitCode;

/// Postings written between two looks into the document table.
const CHUNK: usize = 4096;

/// Print the postings of a term, one document, or its text.
///
/// A line has a posting: docID, term frequency and external id, between tabs. gamut looks TERM up as it stands. If the
/// index has no such term, gamut analyses TERM as it would a query.
///
/// With --id, a line has a field of the document and its value, with a tab between them: docID, id, URL, title, length
/// in tokens, and where the index stores them, PageRank and place in the input. If several documents have the id, gamut
/// prints all of them, with an empty line between two.
///
/// With --text, gamut prints the text of the document as it was analysed, if the index stores texts
/// (`gamut index --store`). A title that the container gives comes first, on a line of its own. If several documents
/// have the id, gamut prints the texts of all of them, with a line feed behind each. On a terminal, control characters
/// are left out.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  gamut dump out/gov2 kudzu
  gamut dump out/gov2 kudzu --limit 3
  gamut dump out/gov2 --id GX001-02-3456789
  gamut dump out/gov2 --text GX001-02-3456789
  gamut dump out/gov2 kudzu --codec vbyte | cmp - <(gamut dump out/gov2 kudzu --codec para-ef)

Exit code: 0 if the term or the document is there, 1 if not, 2 on errors.")]
pub struct Args {
    /// Directory of the index.
    index: PathBuf,
    /// Term to look up.
    #[arg(required_unless_present_any = ["id", "text"])]
    term: Option<String>,
    /// External id of a document to look up, as run files have it.
    #[arg(long, allow_hyphen_values = true, conflicts_with_all = ["term", "codec", "limit"])]
    id: Option<String>,
    /// External id of a document whose text to print.
    #[arg(long, value_name = "ID", allow_hyphen_values = true, conflicts_with_all = ["id", "term", "codec", "limit"])]
    text: Option<String>,
    /// Codec of the index to read the postings from.
    #[arg(long)]
    codec: Option<String>,
    /// Print at most this many postings.
    #[arg(long)]
    limit: Option<u64>,
    /// Print JSON, one object a line: a posting, a document, or a document's text.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
///
/// # Errors
/// The index cannot be read, the output cannot be written.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let index = Index::open(&args.index)?;
    let cause = |error| index.unchanged().err().map_or(error, Into::into);
    match (&args.id, &args.text, &args.term) {
        (Some(id), ..) => document(&index, id, args.json).map_err(cause),
        (_, Some(id), _) => text(&index, id, args.json).map_err(cause),
        (.., term) => postings(&index, args, term.as_deref().unwrap_or_default()),
    }
}

/// The documents with an id. Says on stderr if that takes long, or if there are none.
fn find(index: &Index, id: &str) -> crate::Result<Vec<u32>> {
    if !index.has_ids() {
        let documents = index.statistics().documents;
        let _ = writeln!(
            io::stderr(),
            "gamut: the index has no ids.bin, so all of its {documents} ids are read; `gamut reorder` adds it"
        );
    }
    let docs = index.find_ids_of_runs(&[id])?.concat();
    index.unchanged()?;
    if docs.is_empty() {
        let _ = writeln!(io::stderr(), "gamut: no document has the id \"{id}\"");
    }
    Ok(docs)
}

/// Prints the texts of the documents with an id.
fn text(index: &Index, id: &str, json: bool) -> anyhow::Result<ExitCode> {
    if !index.has_texts() {
        return Err(index.no_texts().into());
    }
    let docs = find(index, id)?;
    let terminal = io::stdout().is_terminal();
    let mut out = BufWriter::new(io::stdout().lock());
    for &doc in &docs {
        match json {
            true => write_json_text(index, doc, &index.name(doc)?.id, &mut out)?,
            false => write_text(index, doc, terminal, &mut out)?,
        }
    }
    out.flush().context("cannot write the text")?;
    Ok(if docs.is_empty() { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

/// Writes the text of a document, part by part: it may be large.
fn write_text(index: &Index, doc: u32, terminal: bool, out: &mut impl Write) -> anyhow::Result<()> {
    let mut written: anyhow::Result<()> = Ok(());
    index.each_text_part(doc, |part| {
        let put = |text: &str, out: &mut dyn Write| out.write_all(text.as_bytes()).context("cannot write the text");
        written = index.unchanged().map_err(Into::into).and_then(|()| match terminal {
            true => put(&part.split('\n').map(printable).collect::<Vec<_>>().join("\n"), out),
            false => put(part, out),
        });
        if written.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    written?;
    writeln!(out).context("cannot write the text")
}

/// The text of a document as a JSON object on a line, written part by part, too.
fn write_json_text(index: &Index, doc: u32, id: &str, out: &mut impl Write) -> anyhow::Result<()> {
    let begin = serde_json::json!({ "doc": doc, "id": id }).to_string();
    let put = |bytes: &[u8], out: &mut dyn Write| out.write_all(bytes).context("cannot write the text");
    put(begin.trim_end_matches('}').as_bytes(), out)?;
    put(b",\"text\":\"", out)?;
    let mut written: anyhow::Result<()> = Ok(());
    index.each_text_part(doc, |part| {
        let quoted = serde_json::Value::from(part).to_string();
        written = index.unchanged().map_err(Into::into);
        if written.is_ok() {
            written = put(&quoted.as_bytes()[1..quoted.len() - 1], out);
        }
        if written.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    written?;
    put(b"\"}\n", out)
}

/// Prints the documents with an id.
fn document(index: &Index, id: &str, json: bool) -> anyhow::Result<ExitCode> {
    let docs = find(index, id)?;
    let mut text = Vec::new();
    for (i, &doc) in docs.iter().enumerate() {
        if json {
            json::line(&mut text, &description(index, doc)?).context("cannot write the document")?;
            continue;
        }
        if i > 0 {
            text.push(b'\n');
        }
        describe(index, doc, &mut text)?;
    }
    index.unchanged()?;
    if docs.is_empty() {
        return Ok(ExitCode::from(1));
    }
    let mut out = io::stdout().lock();
    out.write_all(&text).and_then(|()| out.flush()).context("cannot write the document")?;
    Ok(ExitCode::SUCCESS)
}

/// What the index has of a document, for `--json`.
fn description(index: &Index, doc: u32) -> anyhow::Result<serde_json::Value> {
    let name = index.name(doc)?;
    let at = doc as usize;
    Ok(serde_json::json!({
        "doc": doc,
        "id": name.id,
        "url": name.url,
        "title": name.title,
        "length": index.lens().get(at).copied().unwrap_or(0),
        "pagerank": index.pagerank().and_then(|ranks| ranks.get(at)),
        "input_place": index.input_places().and_then(|places| places.get(at)),
    }))
}

/// Writes a line a field.
fn describe(index: &Index, doc: u32, out: &mut impl Write) -> anyhow::Result<()> {
    let name = index.name(doc)?;
    let length = index.lens().get(doc as usize).copied().unwrap_or(0);
    let texts = [("id", &name.id), ("URL", &name.url), ("title", &name.title)];
    writeln!(out, "docID\t{doc}")?;
    for (field, text) in texts {
        writeln!(out, "{field}\t{}", printable(text))?;
    }
    writeln!(out, "length\t{length}")?;
    if let Some(rank) = index.pagerank().and_then(|ranks| ranks.get(doc as usize)) {
        writeln!(out, "PageRank\t{rank}")?;
    }
    if let Some(place) = index.input_places().and_then(|places| places.get(doc as usize)) {
        writeln!(out, "place in the input\t{place}")?;
    }
    Ok(())
}

fn postings(index: &Index, args: &Args, term: &str) -> anyhow::Result<ExitCode> {
    let codec = index.codec(args.codec.as_deref())?;
    let mut id = index.lookup(term.as_bytes())?;
    if id.is_none() {
        let query = Searcher::new(index, args.codec.as_deref(), Bm25::default())?.parse(term)?;
        if let [(term, _)] = &query.terms[..] {
            id = index.lookup(term.as_bytes())?;
        }
    }
    let living = |id: &u32| -> crate::Result<bool> { Ok(index.living_df(*id, &index.term(*id)?) > 0) };
    let Some(id) = id.filter(|id| living(id).unwrap_or(true)) else {
        // The exit code says it too, so a closed stderr does not matter.
        let _ = writeln!(io::stderr(), "gamut: no document has the term \"{term}\"");
        return Ok(ExitCode::from(1));
    };
    let mut cursor = Cursor::new(index.list(&index.term(id)?, codec)?);
    let mut out = BufWriter::new(io::stdout().lock());
    dump(index, &mut cursor, args.limit.unwrap_or(u64::MAX), args.json, &mut out)
        .map_err(|error| index.unchanged().err().map_or(error, Into::into))?;
    out.flush().context("cannot write the postings")?;
    Ok(ExitCode::SUCCESS)
}

fn dump(index: &Index, cursor: &mut Cursor<'_>, limit: u64, json: bool, out: &mut impl Write) -> anyhow::Result<()> {
    let mut left = limit;
    let deleted = index.deleted();
    while left > 0 && cursor.doc() != END {
        let (mut docs, mut tfs) = (Vec::with_capacity(CHUNK), Vec::with_capacity(CHUNK));
        while left > 0 && docs.len() < CHUNK && cursor.doc() != END {
            if deleted.is_none_or(|deleted| !deleted.has(cursor.doc())) {
                docs.push(cursor.doc());
                tfs.push(cursor.tf());
                left -= 1;
            }
            cursor.advance();
        }
        if let Some(damage) = cursor.damage() {
            return Err(damage.into());
        }
        let names = index.names(&docs)?;
        index.unchanged()?;
        for ((doc, tf), name) in docs.iter().zip(&tfs).zip(names) {
            match json {
                true => json::line(out, &serde_json::json!({ "doc": doc, "tf": tf, "id": name.id })),
                false => writeln!(out, "{doc}\t{tf}\t{}", on_a_line(&name.id)),
            }
            .context("cannot write the postings")?;
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
            dump(&index, &mut cursor, limit, false, &mut out).unwrap();
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        }
    }

    #[test]
    fn test_documents_are_described_field_by_field() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("index");
        let docs = [("a", "u", "t", "x x"), ("b\u{7}", "b\u{7}", "one\ttwo", "y")];
        let plan = Plan { ranks: Some(vec![0.25, 0.75]), ..Plan::default() };
        build(&target, &docs, &plan).unwrap();
        let of = |index: &Index, doc: u32| {
            let mut out = Vec::new();
            describe(index, doc, &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        let index = Index::open(&target).unwrap();
        assert_eq!(of(&index, 0), "docID\t0\nid\ta\nURL\tu\ntitle\tt\nlength\t2\nPageRank\t0.25\n");
        assert_eq!(of(&index, 1), "docID\t1\nid\tb \nURL\tb \ntitle\tone two\nlength\t1\nPageRank\t0.75\n");
        crate::index::tests::reordered(&target, &crate::order::Permutation::new(vec![1, 0]));
        let index = Index::open(&target).unwrap();
        assert!(of(&index, 0).ends_with("PageRank\t0.75\nplace in the input\t1\n"));
        let found = |id: &str| index.find_id(id).unwrap();
        assert_eq!((found("a"), found("b\u{7}"), found("c")), (vec![1], vec![0], vec![]));
    }
}
