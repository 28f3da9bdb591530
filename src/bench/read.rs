//! `gamut bench read`: a crawl read by one thread, and made into text and words.
//!
//! **What is measured**: pages a second, and bytes of the files and of the pages. Three stages, each with those before:
//! `records` inflates, frames records and reads their heads; `text` undoes charsets and takes the text out of HTML;
//! `words` splits it and lower-cases the words, which nobody counts. **How**: in turn, after a first round that brings
//! the files into the page cache and is not counted; rounds take their median. One thread reads, and what it reads is
//! dropped. A file of a single large gzip member is inflated ahead by a second thread, as in a build.

use std::io::Write;
use std::path::PathBuf;

use crate::base::json;
use crate::bench::beside::named_file;
use crate::bench::outputs::Outputs;
use crate::corpus::{
    Corpus, CorpusOptions, Doc, DocSink, Handover, HandoverResult, Piece, PieceReader, Skip, format_named,
};
use crate::text::{Analyzer, AnalyzerSpec, Extractor, Keep, TermSink};

use super::median;
use super::rounds::{Ways, interleave};
use super::table::Table;

/// Read a crawl on one thread, and make text and words of it: how fast that goes before anything is indexed.
///
/// Each stage includes those before it. Rates are of one thread; `gamut index` does all of this on each of its threads,
/// and counts the words besides.
///
/// Example: gamut bench read crawl.warc.gz --rounds 3
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Files and directories
    #[arg(required = true, value_name = "INPUT")]
    inputs: Vec<PathBuf>,
    /// Format of the files, as of `gamut index` [default: each file's own]
    #[arg(long, value_name = "NAME")]
    format: Option<String>,
    /// Analyzer that splits into words, as of `gamut index`
    #[arg(long, value_name = "NAME", default_value = "simple")]
    analyzer: String,
    /// Counted rounds
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// Write the rounds of every stage as CSV, too
    #[arg(long, value_parser = named_file(), value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
}

/// How far a page goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Records,
    Text,
    Words,
}

const STAGES: [(Stage, &str); 3] = [(Stage::Records, "records"), (Stage::Text, "text"), (Stage::Words, "words")];

/// What one reading found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Found {
    documents: u64,
    /// Bytes of the documents as the files have them, without codings.
    body_bytes: u64,
    text_bytes: u64,
    words: u64,
    /// Records that were damaged.
    lost: u64,
}

/// Takes documents as far as its stage.
struct Sink {
    stage: Stage,
    extractor: Extractor,
    analyzer: Analyzer,
    found: Found,
}

/// Counts words.
struct Count(u64);

impl TermSink for Count {
    fn term(&mut self, _: &[u8]) {
        self.0 += 1;
    }

    fn padded_term(&mut self, _: &[u8], _: usize) {
        self.0 += 1;
    }
}

impl DocSink for Sink {
    fn doc(&mut self, doc: &Doc<'_>) {
        self.found.documents += 1;
        self.found.body_bytes += doc.body.len() as u64;
        if self.stage < Stage::Text {
            return;
        }
        let text = self.extractor.extract(doc).text;
        self.found.text_bytes += text.len() as u64;
        if self.stage == Stage::Words {
            let mut count = Count(0);
            self.analyzer.analyze(doc.title, &mut count);
            self.analyzer.analyze(text, &mut count);
            self.found.words += count.0;
        }
    }

    fn skip(&mut self, skip: Skip) {
        self.found.lost += u64::from(skip.kind.is_damage());
    }
}

/// The crawl, and a sink for each stage.
struct Reading {
    corpus: Corpus,
    sinks: Vec<Sink>,
}

impl Ways for Reading {
    fn prepare(&mut self, way: usize) -> anyhow::Result<()> {
        self.sinks[way].found = Found::default();
        Ok(())
    }

    fn run(&mut self, way: usize, _: usize) -> anyhow::Result<()> {
        let (mut reader, mut handover) = (self.corpus.reader(), Handover::new());
        let sink = &mut self.sinks[way];
        for piece in self.corpus.pieces(1) {
            read(&mut reader, &mut handover, piece, sink);
        }
        handover.finish(&self.corpus)?;
        Ok(())
    }
}

/// Reads a piece, again if the one before it ended elsewhere than it took for granted.
fn read(reader: &mut PieceReader, handover: &mut Handover, mut piece: Piece, sink: &mut Sink) {
    loop {
        let before = sink.found;
        let end = reader.read(&piece, sink);
        piece.free();
        match handover.check(&piece, &end) {
            HandoverResult::Accept => return,
            HandoverResult::Discard => return sink.found = before,
            HandoverResult::Lost(skip) => {
                sink.found = before;
                return sink.skip(skip);
            }
            HandoverResult::Redo(again) => (sink.found, piece) = (before, again),
        }
    }
}

/// Measures, and prints a table or JSON.
///
/// # Errors
/// The files cannot be read, or have no document.
pub fn run(args: &Args) -> anyhow::Result<()> {
    if let Some(format) = &args.format {
        format_named(format)?;
    }
    let outputs = Outputs::open(args.csv.as_ref(), None, args.inputs.iter().map(|path| ("the input", &**path)))?;
    let options = CorpusOptions { format: args.format.clone(), ..CorpusOptions::default() };
    let spec = AnalyzerSpec::parse(&args.analyzer, None)?;
    let sink = |(stage, _)| -> crate::Result<Sink> {
        let (extractor, analyzer) = (Extractor::new(Keep::default()), Analyzer::new(&spec)?);
        Ok(Sink { stage, extractor, analyzer, found: Found::default() })
    };
    let corpus = Corpus::open(&args.inputs, &options)?;
    let file_bytes: u64 = corpus.files().iter().map(|file| file.bytes).sum();
    let mut reading = Reading { corpus, sinks: STAGES.map(sink).into_iter().collect::<crate::Result<_>>()? };
    let seconds = interleave(STAGES.len(), 1, args.rounds, &mut reading)?;
    let rows: Vec<(&str, Found, Vec<f64>)> = STAGES
        .iter()
        .zip(&reading.sinks)
        .zip(seconds)
        .map(|((stage, sink), seconds)| (stage.1, sink.found, seconds.concat()))
        .collect();
    anyhow::ensure!(rows[0].1.documents > 0, "the input has no document; `gamut index` says why");
    outputs.write_csv(|mut out| write_csv(&mut out, &rows))?;
    if args.json {
        let row = |(stage, found, seconds): &(&str, Found, Vec<f64>)| {
            serde_json::json!({
                "stage": stage,
                "documents": found.documents,
                "body_bytes": found.body_bytes,
                "text_bytes": found.text_bytes,
                "words": found.words,
                "lost": found.lost,
                "seconds": seconds,
                "documents_per_second": found.documents as f64 / median(seconds),
            })
        };
        return Ok(json::print(&serde_json::json!({
            "file_bytes": file_bytes,
            "rows": rows.iter().map(row).collect::<Vec<_>>(),
        }))?);
    }
    table(file_bytes, &rows).write(&mut std::io::stdout().lock())?;
    match rows[0].1.lost {
        0 => {}
        lost => super::say(&format!("{lost} records were damaged; `gamut index` names them")),
    }
    Ok(())
}

fn write_csv(out: &mut impl Write, rows: &[(&str, Found, Vec<f64>)]) -> std::io::Result<()> {
    writeln!(out, "stage,round,documents,body_bytes,text_bytes,words,lost,seconds")?;
    for (stage, found, seconds) in rows {
        let Found { documents, body_bytes, text_bytes, words, lost } = found;
        for (round, seconds) in seconds.iter().enumerate() {
            writeln!(out, "{stage},{round},{documents},{body_bytes},{text_bytes},{words},{lost},{seconds}")?;
        }
    }
    out.flush()
}

fn table(file_bytes: u64, rows: &[(&str, Found, Vec<f64>)]) -> Table {
    let found = rows[0].1;
    let cells = |(stage, found, seconds): &(&str, Found, Vec<f64>)| {
        let seconds = median(seconds);
        let mega = |bytes: u64| format!("{:.0}", bytes as f64 / seconds / 1e6);
        let pages = format!("{:.0}", found.documents as f64 / seconds);
        vec![(*stage).to_owned(), format!("{seconds:.2}"), pages, mega(file_bytes), mega(found.body_bytes)]
    };
    Table {
        title: format!("{} documents of {:.1} MB, one thread", found.documents, found.body_bytes as f64 / 1e6),
        names: 1,
        head: ["stage", "seconds", "pages/s", "MB/s of files", "MB/s of pages"].map(str::to_owned).to_vec(),
        rows: rows.iter().map(cells).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each stage finds what the one before found, and what a build finds.
    #[test]
    fn test_stages_find_the_same_documents() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.jsonl");
        let line = |i: usize| format!("{{\"id\": \"d{i}\", \"title\": \"T\", \"text\": \"{}\"}}\n", "ab Cd ".repeat(i));
        std::fs::write(&path, (0..100).map(line).collect::<String>() + "no JSON\n").unwrap();
        let options = CorpusOptions { piece_bytes: 500, ..CorpusOptions::default() };
        let spec = AnalyzerSpec::parse("simple", None).unwrap();
        let sink = |(stage, _)| Sink {
            stage,
            extractor: Extractor::new(Keep::default()),
            analyzer: Analyzer::new(&spec).unwrap(),
            found: Found::default(),
        };
        let corpus = Corpus::open(&[path], &options).unwrap();
        let mut reading = Reading { corpus, sinks: STAGES.map(sink).into() };
        let seconds = interleave(3, 1, 2, &mut reading).unwrap();
        assert!(seconds.iter().all(|way| way[0].len() == 2));
        let found: Vec<Found> = reading.sinks.iter().map(|sink| sink.found).collect();
        // a title of one word, and texts of 0, 2, 4 … words
        assert_eq!(found[2].words, 100 + 2 * 4950);
        assert!(found.iter().all(|found| (found.documents, found.body_bytes, found.lost) == (100, 6 * 4950, 1)));
        assert_eq!([0, 1, 2].map(|i| found[i].text_bytes > 0), [false, true, true]);
        let rows: Vec<_> = STAGES.iter().zip(&found).map(|(stage, found)| (stage.1, *found, vec![0.5, 2.0])).collect();
        let shown = table(1000, &rows).rows;
        assert_eq!(shown[0][..3], ["records", "2.00", "50"]);
        let mut csv = Vec::new();
        write_csv(&mut csv, &rows).unwrap();
        let csv = String::from_utf8(csv).unwrap();
        assert_eq!(csv.lines().count(), 1 + 3 * 2);
        assert_eq!(csv.lines().nth(6), Some(&*format!("words,1,100,29700,{},10000,1,2", found[2].text_bytes)));
    }
}
