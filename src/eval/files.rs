//! Qrels and run files, as trec_eval reads them.
//!
//! A line of qrels is `query iteration document relevance`, and nothing follows; of a run, `query Q0 document rank
//! score tag`, whatever follows. Fields are parted by spaces and tabs; empty lines and lines that begin with `#` are
//! nothing. Ranks are not read: a ranking goes by score, and by document number, the later one first, where scores tie.

use crate::base::text_file;
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io;
use std::path::Path;

/// Lines that are named at most.
const NAMED: usize = 20;

/// What is wrong with a file, line by line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadFile {
    /// Number of a line, and what is wrong with it; the first ones.
    pub lines: Vec<(u64, String)>,
    /// How many bad lines there are besides.
    pub more: u64,
}

impl BadFile {
    fn new() -> Self {
        Self { lines: Vec::new(), more: 0 }
    }

    fn add(&mut self, line: u64, what: impl FnOnce() -> String) {
        if self.lines.len() < NAMED { self.lines.push((line, what())) } else { self.more += 1 }
    }

    fn or<T>(self, file: T) -> Result<T, Self> {
        if self.lines.is_empty() { Ok(file) } else { Err(self) }
    }
}

/// The text of a file, which may be packed.
///
/// # Errors
/// The file cannot be read, or does not unpack.
pub fn read_text(path: &Path) -> io::Result<Vec<u8>> {
    text_file::read(File::open(path)?)
}

/// Judgements of queries.
#[derive(Clone, Debug, Default)]
pub struct Qrels<'a> {
    /// Of each query, by document: the relevance; below 0 for one that is in the pool and was not judged.
    pub queries: BTreeMap<&'a [u8], HashMap<&'a [u8], i64>>,
}

/// Rankings of queries.
#[derive(Clone, Debug, Default)]
pub struct Run<'a> {
    /// The sixth field of the file's last line.
    pub tag: &'a [u8],
    /// Of each query: documents and their scores, best first.
    pub queries: BTreeMap<&'a [u8], Vec<(&'a [u8], f64)>>,
}

/// Lines with something in them, by their numbers from 1.
fn lines(text: &[u8]) -> impl Iterator<Item = (u64, &[u8])> {
    let all = (1..).zip(text.split(|&byte| byte == b'\n'));
    all.map(|(number, line)| (number, line.trim_ascii())).filter(|(_, line)| !line.is_empty() && line[0] != b'#')
}

fn fields(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(u8::is_ascii_whitespace).filter(|field| !field.is_empty())
}

fn shown(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let short: String = text.chars().take(60).flat_map(char::escape_debug).collect();
    if text.chars().nth(60).is_some() { format!("\"{short}…\"") } else { format!("\"{short}\"") }
}

impl<'a> Qrels<'a> {
    /// Reads the text of a file.
    ///
    /// # Errors
    /// Lines of more or fewer than four fields, with a relevance that is no whole number, or of a document that the
    /// query had before.
    pub fn parse(text: &'a [u8]) -> Result<Self, BadFile> {
        let (mut all, mut bad) = (Self::default(), BadFile::new());
        for (number, line) in lines(text) {
            let mut fields = fields(line);
            let (Some(query), Some(_), Some(document), Some(relevance), None) =
                (fields.next(), fields.next(), fields.next(), fields.next(), fields.next())
            else {
                bad.add(number, || format!("not \"query iteration document relevance\": {}", shown(line)));
                continue;
            };
            let Some(relevance) = std::str::from_utf8(relevance).ok().and_then(|text| text.parse().ok()) else {
                bad.add(number, || format!("the relevance {} is no whole number", shown(relevance)));
                continue;
            };
            if all.queries.entry(query).or_default().insert(document, relevance).is_some() {
                bad.add(number, || format!("query {} has document {} already", shown(query), shown(document)));
            }
        }
        bad.or(all)
    }
}

impl<'a> Run<'a> {
    /// Reads the text of a file.
    ///
    /// # Errors
    /// Lines without six fields, with a score that is no number, or of a document that the query had before.
    pub fn parse(text: &'a [u8]) -> Result<Self, BadFile> {
        let (mut all, mut bad) = (Self::default(), BadFile::new());
        for (number, line) in lines(text) {
            let mut fields = fields(line);
            let (Some(query), Some(_), Some(document), Some(_), Some(score), Some(tag)) =
                (fields.next(), fields.next(), fields.next(), fields.next(), fields.next(), fields.next())
            else {
                bad.add(number, || format!("not \"query Q0 document rank score tag\": {}", shown(line)));
                continue;
            };
            let parsed = std::str::from_utf8(score).ok().and_then(|text| text.parse::<f64>().ok());
            let Some(value) = parsed.filter(|value| !value.is_nan()) else {
                bad.add(number, || format!("the score {} is no number", shown(score)));
                continue;
            };
            // -0 is 0, and ties with it
            all.queries.entry(query).or_default().push((document, value + 0.0));
            all.tag = tag;
        }
        for (query, ranking) in &mut all.queries {
            ranking.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then_with(|| b.0.cmp(a.0)));
            let mut seen: Vec<&[u8]> = ranking.iter().map(|&(document, _)| document).collect();
            seen.sort_unstable();
            for pair in seen.windows(2).filter(|pair| pair[0] == pair[1]) {
                // to find the line costs a pass over the file
                let line = if bad.lines.len() < NAMED { line_of(text, query, pair[0]) } else { 0 };
                bad.add(line, || format!("query {} has document {} already", shown(query), shown(pair[0])));
            }
        }
        bad.lines.sort();
        bad.or(all)
    }
}

/// The second line of a run that has a document for a query.
fn line_of(text: &[u8], query: &[u8], document: &[u8]) -> u64 {
    let is = |line: &[u8]| {
        let mut fields = fields(line);
        fields.next() == Some(query) && fields.nth(1) == Some(document) && fields.nth(2).is_some()
    };
    lines(text).filter(|(_, line)| is(line)).nth(1).map_or(0, |(number, _)| number)
}
