//! `gamut stats`: what an index holds and how large its parts are.

use super::ui::printable;
use crate::base::json::document;
use crate::base::means::Means;
use crate::bench::beside::{named_file, takes_no_place};
use crate::index::read::lengths::class_name;
use crate::index::{DocName, Imported, Index, Statistics};
use crate::order::pagerank::highest_first;
use crate::pipeline::report::count as grouped;
use crate::query::Collection;
use anyhow::Context as _;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;

/// Show what an index holds and how large its parts are.
///
/// A codec's bits per posting include its two files: docIDs, skip entries, bounds of ranges if it has some, and the
/// table of lists. All codecs share the term frequencies and thresholds, which are counted apart. Bits by length of
/// list include all of a list but its row of that table (2K is 2048 postings). A term of one document has no list.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  gamut stats out/gov2
  gamut stats out/gov2 --top 50
  gamut stats out/gov2 --linearity --top 0
  gamut stats out/gov2 --pagerank 20
  gamut stats out/shard1 --terms shard1.tsv --top 0
  gamut stats out/gov2 --json | jq '.codecs[] | {name, bits_per_posting}'")]
pub struct Args {
    /// Directory of the index.
    index: PathBuf,
    /// Number of most frequent terms to show.
    #[arg(long, default_value_t = 10)]
    top: usize,
    /// Show how straight the lists are, by length. The lrc codecs and searches along a line need straight lists.
    #[arg(long)]
    linearity: bool,
    /// Also show the pages with the highest PageRank [10 if no number is given]
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "10")]
    pagerank: Option<usize>,
    /// Also write the number of documents and tokens, and the df of every term, to a new file, for `gamut query
    /// --statistics`
    #[arg(long, value_parser = named_file(), value_name = "FILE")]
    terms: Option<PathBuf>,
    /// Print one JSON object instead of lines.
    #[arg(long)]
    json: bool,
}

#[derive(serde::Serialize)]
struct CodecSize {
    name: &'static str,
    bytes: u64,
    bits_per_posting: f64,
    bits_per_posting_with_tf: f64,
    /// In the order of the report's list lengths.
    bits_per_posting_by_length: Vec<f64>,
}

#[derive(serde::Serialize)]
struct ListLength {
    lengths: String,
    lists: u64,
    postings: u64,
}

#[derive(serde::Serialize)]
struct TopTerm {
    term: String,
    df: u32,
    cf: u64,
}

#[derive(serde::Serialize)]
struct TopPage {
    pagerank: f32,
    doc: u32,
    id: String,
    url: String,
    title: String,
}

#[derive(serde::Serialize)]
struct Report {
    #[serde(serialize_with = "crate::base::json::path_field")]
    index: PathBuf,
    version: u32,
    gamut: String,
    analyzer: crate::text::AnalyzerSpec,
    order: String,
    statistics: Statistics,
    /// Where documents are deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    deleted: Option<DeletedDocuments>,
    /// Of an imported index: what its file says.
    #[serde(skip_serializing_if = "Option::is_none")]
    imported: Option<Imported>,
    mean_document_length: f64,
    bytes: u64,
    tf_bits_per_posting: f64,
    /// What an impact of 1 stands for, where there are impacts.
    #[serde(skip_serializing_if = "Option::is_none")]
    impact_step: Option<f32>,
    /// Where there are tables of long lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    tables: Option<Tables>,
    /// Where texts are stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    texts: Option<Texts>,
    list_lengths: Vec<ListLength>,
    codecs: Vec<CodecSize>,
    files: Vec<(String, u64)>,
    top_terms: Vec<TopTerm>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    linearity: Vec<Linearity>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_pages: Option<Vec<TopPage>>,
}

/// Documents that are in the files, and in no answer.
#[derive(serde::Serialize)]
struct DeletedDocuments {
    documents: u64,
    tokens: u64,
    postings: u64,
    terms: u64,
}

/// The tables of long lists.
#[derive(serde::Serialize)]
struct Tables {
    tables: u64,
    bytes_per_posting: f64,
}

/// The stored texts.
#[derive(serde::Serialize)]
struct Texts {
    bytes: u64,
    stored_bytes: u64,
}

/// The lists of one length, after Ao et al., table 1.
#[derive(serde::Serialize)]
struct Linearity {
    lengths: String,
    lists: u64,
    contraction_ratio: f64,
    r_squared: f64,
}

/// Runs the command.
///
/// # Errors
/// The index cannot be read, the output cannot be written.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let index = Index::open(&args.index)?;
    if let Some(terms) = &args.terms {
        takes_no_place(("--terms", terms), Some(&args.index), [])?;
    }
    let report = index.settle(report_of(&index, args))?;
    args.terms.as_deref().map_or(Ok(()), |path| index.settle(Collection::write(&index, path)))?;
    if args.pagerank.is_some() && report.top_pages.is_none() {
        tell!("no PageRank: this index was built without links; `gamut index --links` stores it");
    }
    let mut out = BufWriter::new(io::stdout().lock());
    let result = if args.json { document(&mut out, &report) } else { write_report(&mut out, &report) };
    result.and_then(|()| out.flush()).context("cannot write the results")?;
    Ok(ExitCode::SUCCESS)
}

/// What an index holds, as `--json` prints it, with so many of its most frequent terms.
///
/// # Errors
/// The index cannot be read.
pub fn json(index: &Index, top: usize) -> crate::Result<String> {
    let report = index.settle(report(index, top))?;
    let failed = |error: serde_json::Error| crate::Error::Invalid { what: "the report".into(), why: error.to_string() };
    serde_json::to_string(&report).map_err(failed)
}

fn report_of(index: &Index, args: &Args) -> crate::Result<Report> {
    let mut report = report(index, args.top)?;
    if args.linearity {
        report.linearity = linearity(index)?;
    }
    report.top_pages = args.pagerank.map(|top| top_pages(index, top)).transpose()?.flatten();
    Ok(report)
}

fn report(index: &Index, top: usize) -> crate::Result<Report> {
    let manifest = index.manifest();
    let s = manifest.statistics;
    let bytes_of = |name: &str| manifest.file(name).map_or(0, |file| file.bytes);
    let bits = |bytes: u64| if s.postings == 0 { 0.0 } else { 8.0 * bytes as f64 / s.postings as f64 };
    let tf = bytes_of("tf.bin");
    let classes: Vec<_> = index.sizes_by_length()?.into_iter().enumerate().filter(|(_, c)| c.lists > 0).collect();
    let codecs = index.codecs().enumerate().map(|(i, codec)| {
        let name = codec.codec().name();
        let bytes = bytes_of(&format!("{name}/postings.bin")) + bytes_of(&format!("{name}/lists.bin"));
        CodecSize {
            name,
            bytes,
            bits_per_posting: bits(bytes),
            bits_per_posting_with_tf: bits(bytes + tf),
            bits_per_posting_by_length: classes
                .iter()
                .map(|(_, c)| 32.0 * c.words[i] as f64 / c.postings as f64)
                .collect(),
        }
    });
    let list_lengths = classes.iter().map(|(class, found)| ListLength {
        lengths: class_name(*class),
        lists: found.lists,
        postings: found.postings,
    });
    Ok(Report {
        index: index.dir().to_owned(),
        version: manifest.version,
        gamut: manifest.gamut.clone(),
        analyzer: manifest.analyzer.clone(),
        order: manifest.order.clone(),
        statistics: s,
        deleted: index.deleted().map(|deleted| DeletedDocuments {
            documents: deleted.documents(),
            tokens: deleted.tokens(),
            postings: deleted.postings(),
            terms: deleted.terms_gone(),
        }),
        imported: manifest.imported.clone(),
        mean_document_length: if s.documents == 0 { 0.0 } else { s.tokens as f64 / s.documents as f64 },
        bytes: manifest.files.iter().map(|file| file.bytes).sum(),
        tf_bits_per_posting: bits(tf),
        impact_step: index.impacts().map(|impacts| impacts.quantizer().step()),
        tables: index.list_tables().map(|tables| Tables {
            tables: tables.len() as u64,
            bytes_per_posting: bits(bytes_of("tables.bin")) / 8.0,
        }),
        texts: index.text_bytes().map(|bytes| Texts { bytes, stored_bytes: bytes_of("text.zst") }),
        list_lengths: list_lengths.collect(),
        codecs: codecs.collect(),
        files: manifest.files.iter().map(|file| (file.name.clone(), file.bytes)).collect(),
        top_terms: top_terms(index, top)?,
        linearity: Vec::new(),
        top_pages: None,
    })
}

fn linearity(index: &Index) -> crate::Result<Vec<Linearity>> {
    let classes = index.linearity(&Means::default())?;
    let classes = classes.into_iter().enumerate().filter(|(_, class)| class.lists > 0);
    Ok(classes
        .map(|(i, class)| Linearity {
            lengths: class_name(i),
            lists: class.lists,
            contraction_ratio: class.contraction_ratio,
            r_squared: class.r_squared,
        })
        .collect())
}

/// The documents of the highest rank; none if the index has no ranks.
fn top_pages(index: &Index, top: usize) -> crate::Result<Option<Vec<TopPage>>> {
    let Some(ranks) = index.pagerank() else { return Ok(None) };
    let stays = |doc: &u32| index.deleted().is_none_or(|deleted| !deleted.has(*doc));
    let docs = highest_first(ranks).old_of_new().into_iter().filter(stays).take(top);
    let page = |doc: u32| {
        let DocName { id, url, title } = index.name(doc)?;
        Ok(TopPage { pagerank: ranks[doc as usize], doc, id, url, title })
    };
    docs.map(page).collect::<crate::Result<_>>().map(Some)
}

/// The terms of the most documents; of equal ones the first in termID order.
fn top_terms(index: &Index, top: usize) -> crate::Result<Vec<TopTerm>> {
    if top == 0 {
        return Ok(Vec::new());
    }
    let mut best = BinaryHeap::new();
    for id in 0..index.statistics().terms as u32 {
        let df = index.living_df(id, &index.term(id)?);
        if df == 0 {
            continue;
        }
        if best.len() < top {
            best.push(Reverse((df, Reverse(id))));
        } else if best.peek().is_some_and(|Reverse(worst)| *worst < (df, Reverse(id))) {
            best.pop();
            best.push(Reverse((df, Reverse(id))));
        }
    }
    let ids: Vec<u32> = best.into_sorted_vec().into_iter().map(|Reverse((_, Reverse(id)))| id).collect();
    let mut spelled: HashMap<u32, String> = ids.iter().map(|&id| (id, String::new())).collect();
    let mut left = spelled.len();
    index.each_term(|term, id| {
        if let Some(spelled) = spelled.get_mut(&id) {
            *spelled = String::from_utf8_lossy(term).into_owned();
            left -= 1;
        }
        left > 0
    })?;
    ids.into_iter()
        .map(|id| {
            let info = index.term(id)?;
            let df = index.living_df(id, &info);
            Ok(TopTerm { term: spelled.remove(&id).unwrap_or_default(), df, cf: info.cf })
        })
        .collect()
}

fn write_report(out: &mut impl Write, report: &Report) -> io::Result<()> {
    let s = &report.statistics;
    writeln!(out, "index          {}", report.index.display())?;
    writeln!(out, "format         version {}, written by gamut {}", report.version, report.gamut)?;
    let stop =
        report.analyzer.stop_words.as_ref().map_or(String::new(), |words| format!(", {} stop words", words.len()));
    let unicode = report.analyzer.unicode.as_ref().map_or(String::new(), |version| format!(", Unicode {version}"));
    writeln!(out, "analyzer       {}{stop}{unicode}", report.analyzer.name)?;
    writeln!(out, "order          {}", report.order)?;
    writeln!(
        out,
        "documents      {:>15}   {} with an id that an earlier one has",
        grouped(s.documents),
        grouped(s.duplicate_ids)
    )?;
    writeln!(
        out,
        "tokens         {:>15}   {:.1} in a document on average, {} in the longest",
        grouped(s.tokens),
        report.mean_document_length,
        grouped(s.longest_document)
    )?;
    writeln!(out, "terms          {:>15}   {} in one document only", grouped(s.terms), grouped(s.terms - s.lists))?;
    writeln!(out, "postings       {:>15}", grouped(s.postings))?;
    if let Some(DeletedDocuments { documents, tokens, postings, .. }) = &report.deleted {
        writeln!(
            out,
            "deleted        {:>15}   documents with {} tokens and {} postings; scores go without them",
            grouped(*documents),
            grouped(*tokens),
            grouped(*postings)
        )?;
    }
    if let Some(Imported { format, description, collection, weights, scale }) = &report.imported {
        if !weights {
            writeln!(
                out,
                "collection     {:>15}   documents, of {} tokens on average; BM25 goes by these numbers",
                grouped(collection.documents),
                collection.mean_length
            )?;
        }
        let times = scale.filter(|&scale| scale != 1.0).map_or(String::new(), |scale| format!(", times {scale}"));
        writeln!(out, "imported       {format}: {}{times}", printable(description))?;
    }
    let weights = report.imported.as_ref().is_some_and(|imported| imported.weights);
    if let Some(step) = report.impact_step.filter(|_| !weights) {
        writeln!(out, "impacts        {:>15}   of 8 bits; BM25 scores are sums of them times {step}", "1 to 255")?;
    }
    if weights {
        writeln!(out, "impacts        {:>15}   weights of another program; scores are sums of them", "1 to 255")?;
    }
    if let Some(Tables { tables, bytes_per_posting }) = &report.tables {
        writeln!(
            out,
            "tables         {:>15}   of long lists; {bytes_per_posting:.2} bytes a posting of the index",
            grouped(*tables)
        )?;
    }
    if let Some(Texts { bytes, stored_bytes }) = report.texts {
        // texts of no documents have a table all the same
        let share = if bytes == 0 { 100.0 } else { 100.0 * stored_bytes as f64 / bytes as f64 };
        writeln!(out, "text           {:>15}   bytes, stored in {share:.1} % of them", grouped(bytes))?;
    }
    writeln!(out, "bytes          {:>15}", grouped(report.bytes))?;
    for (name, bytes) in &report.files {
        writeln!(out, "  {name:<22} {:>15}", grouped(*bytes))?;
    }
    writeln!(out, "\nbits per posting       docIDs   with tf ({:.2})", report.tf_bits_per_posting)?;
    for codec in &report.codecs {
        writeln!(out, "  {:<18} {:>8.2} {:>9.2}", codec.name, codec.bits_per_posting, codec.bits_per_posting_with_tf)?;
    }
    write_lengths(out, report)?;
    if !report.linearity.is_empty() {
        writeln!(out, "\nlinearity       lists  contraction  R squared")?;
        for class in &report.linearity {
            let (lists, ratio) = (grouped(class.lists), class.contraction_ratio);
            writeln!(out, "  {:<10} {lists:>8} {ratio:>12.4} {:>10.4}", class.lengths, class.r_squared)?;
        }
    }
    if !report.top_terms.is_empty() {
        writeln!(out, "\nmost frequent terms  documents     occurrences")?;
        for term in &report.top_terms {
            let name = printable(&term.term);
            writeln!(out, "  {name:<16} {:>11} {:>15}", grouped(term.df.into()), grouped(term.cf))?;
        }
    }
    if let Some(pages) = &report.top_pages {
        writeln!(out, "\nhighest PageRank")?;
        for (i, page) in pages.iter().enumerate() {
            write!(out, "  {:>4} {:>12.4e}  {}", i + 1, page.pagerank, printable(&page.id))?;
            let url = if page.url == page.id { "" } else { page.url.as_str() };
            [url, &page.title]
                .iter()
                .filter(|text| !text.is_empty())
                .try_for_each(|text| write!(out, "  {}", printable(text)))?;
            writeln!(out)?;
        }
    }
    Ok(())
}

/// Bits per posting of each codec by length of list.
fn write_lengths(out: &mut impl Write, report: &Report) -> io::Result<()> {
    if report.list_lengths.is_empty() {
        return Ok(());
    }
    write!(out, "\n{:<16}", "by list length")?;
    report.list_lengths.iter().try_for_each(|class| write!(out, " {:>8}", class.lengths))?;
    write!(out, "\n  {:<14}", "postings, %")?;
    for class in &report.list_lengths {
        write!(out, " {:>8.1}", 100.0 * class.postings as f64 / report.statistics.postings as f64)?;
    }
    writeln!(out)?;
    for codec in &report.codecs {
        write!(out, "  {:<14}", codec.name)?;
        codec.bits_per_posting_by_length.iter().try_for_each(|bits| write!(out, " {bits:>8.2}"))?;
        writeln!(out)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::tests::{Plan, build};

    #[test]
    fn test_report_counts_what_is_there() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("index");
        let texts = [("a", "", "", "x y y"), ("b", "", "", "x z"), ("a", "", "", "x y")];
        build(&target, &texts, &Plan { impacts: Some(1), tables: Some(1), ..Plan::default() }).unwrap();
        let report = report(&Index::open(&target).unwrap(), 2).unwrap();
        let top: Vec<_> = report.top_terms.iter().map(|term| (term.term.as_str(), term.df, term.cf)).collect();
        assert_eq!(top, [("x", 3, 3), ("y", 2, 3)]);
        assert_eq!(report.statistics.duplicate_ids, 1);
        let size = |name: &str| report.files.iter().find(|file| file.0 == name).unwrap().1;
        let vbyte = size("vbyte/postings.bin") + size("vbyte/lists.bin");
        assert_eq!((report.list_lengths[0].lengths.as_str(), report.list_lengths[0].postings), ("2-7", 5));
        let codec = |name: &str| report.codecs.iter().find(|codec| codec.name == name).unwrap();
        assert_eq!(codec("vbyte").bits_per_posting, 8.0 * vbyte as f64 / 6.0);
        // a word per posting; lists of one block have no skip entries
        assert_eq!(codec("raw").bits_per_posting_by_length, [32.0]);
        let mut text = Vec::new();
        write_report(&mut text, &report).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert!(text.contains("documents                    3   1 with"), "{text}");
        assert!(
            text.contains("tables                       2   of long lists") && text.contains("tables.bin"),
            "{text}"
        );
        assert!(text.contains("of 8 bits") && text.contains("impacts.bin"), "{text}");
    }
}
