//! An index → a CIFF file.
//!
//! Terms come in byte order and documents in docID order. Tasks of some terms, or of a part of a long list, become
//! bytes on any thread and are written in order; none needs much memory, however long a list is.

use super::messages::{Header, Record};
use super::pack::{Packer, Packing, Part as Packed};
use super::postings::{Part, write_head};
use super::wire::put_message;
use crate::base::in_order::in_order;
use crate::base::means::Means;
use crate::base::memory::peak_memory;
use crate::codec::MAX_BLOCK_LEN;
use crate::index::{CodecRef, Impacts, Index, TermInfo};
use crate::postings::{Blocks, List};
use crate::{Error, Result};
use std::io::Write;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Postings of a task.
const TASK: u64 = 1 << 18;
/// Terms that are read at a time.
const TERMS: usize = 1 << 17;
/// Blocks of the document table of a task.
const NAMES: usize = 64;
/// Bytes of memory that a task may take while threads work on it and while it waits.
const TASK_BYTES: u64 = 16 << 20;

/// How to export.
#[derive(Clone, Debug)]
pub struct ExportOptions {
    /// Write quantised impacts in place of frequencies.
    pub impacts: bool,
    /// The codec to read; the last one of the index if there is no name.
    pub codec: Option<String>,
    /// How the file is compressed.
    pub packing: Packing,
    /// What the work may use.
    pub means: Means,
}

/// What was exported.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Exported {
    /// The index.
    #[serde(serialize_with = "crate::base::json::path_field")]
    pub index: PathBuf,
    /// Documents.
    pub documents: u64,
    /// Terms, each with its list.
    pub terms: u64,
    /// Postings.
    pub postings: u64,
    /// Bytes of the content, before compression.
    pub content_bytes: u64,
    /// What the index has and the file has not.
    pub left_out: Vec<String>,
    /// Lists that other readers may refuse.
    pub warnings: Vec<String>,
    /// Seconds.
    pub seconds: f64,
    /// The most memory that the process held, in bytes.
    pub peak_memory: u64,
}

/// What becomes bytes at a time; terms by their places among those that were read.
enum Task {
    /// Lists of consecutive terms.
    Terms { terms: Range<usize>, postings: u64 },
    /// Some blocks of a long list.
    Part { term: usize, blocks: Range<usize>, postings: u64 },
}

/// Writes an index as a CIFF file. `out` should be buffered little or not: it gets large parts.
///
/// # Errors
/// [`Error::Limit`] for more documents or terms than CIFF numbers, or a number that is too great for it;
/// [`Error::Invalid`] for impacts that the index lacks; [`Error::Memory`], [`Error::Damaged`], [`Error::Changed`],
/// [`Error::Interrupted`]; [`Error::Io`] with `path`, the name of the file.
pub fn export(index: &Index, options: &ExportOptions, path: &Path, out: &mut dyn Write) -> Result<Exported> {
    exported(index, options, path, out).map_err(|error| index.cause(error))
}

fn exported(index: &Index, options: &ExportOptions, path: &Path, out: &mut dyn Write) -> Result<Exported> {
    index.without_deleted("an export")?;
    let began = Instant::now();
    let (s, means) = (index.statistics(), &options.means);
    let header = header(index)?;
    let writer = Writer {
        index,
        codec: index.codec(options.codec.as_deref())?,
        impacts: impacts(index, options.impacts)?,
        packing: options.packing,
        path,
    };
    // Every thread has a task, and two wait.
    let bytes = |threads: usize| 4 * s.documents + 3 * threads as u64 * TASK_BYTES;
    let too_little = |needed| Error::Memory { given: means.memory, needed, what: "an export" };
    let own = Means { threads: means.threads_for(bytes).map_err(too_little)?, ..means.clone() };
    let io = |result: std::io::Result<()>| result.map_err(Error::io("write", path));
    let mut packer = Packer::new(options.packing, out).map_err(Error::io("write", path))?;
    let mut front = Vec::new();
    put_message(&mut front, &mut Vec::new(), |out| header.write(out));
    io(packer.write(&writer.packed(front)?))?;
    means.progress.begin(super::stage::EXPORT, s.postings);
    let (mut warnings, mut from) = (Vec::new(), Vec::new());
    loop {
        let terms = Terms::read(index, &mut from)?;
        if terms.0.is_empty() {
            break;
        }
        let tasks = terms.tasks(writer.codec.codec().block_len());
        let work = |task: usize| writer.lists(&terms, &tasks[task]);
        in_order(tasks.len(), &own, work, |(part, warning, postings): (Packed, Option<String>, u64)| {
            io(packer.write(&part))?;
            warnings.extend(warning);
            means.progress.advance(postings);
            Ok(())
        })?;
    }
    let blocks = index.name_blocks();
    let work = |task: usize| writer.documents(task * NAMES..blocks.min((task + 1) * NAMES));
    in_order(blocks.div_ceil(NAMES), &own, work, |part: Packed| io(packer.write(&part)))?;
    index.unchanged()?;
    let content_bytes = packer.written;
    io(packer.finish())?;
    Ok(Exported {
        index: index.dir().to_owned(),
        documents: s.documents,
        terms: s.terms,
        postings: s.postings,
        content_bytes,
        left_out: left_out(index, options.impacts),
        warnings,
        seconds: began.elapsed().as_secs_f64(),
        peak_memory: peak_memory(),
    })
}

fn header(index: &Index) -> Result<Header> {
    let (s, all) = (index.statistics(), index.collection());
    let int = |value: u64, what: &'static str| {
        let hint = "CIFF numbers them with 31 bits; export the indexes of parts of the collection";
        let error = Error::Limit { what, value, limit: super::MAX_INT, hint };
        u32::try_from(value).ok().filter(|_| value <= super::MAX_INT).ok_or(error)
    };
    let description = match &index.manifest().imported {
        Some(imported) => imported.description.clone(),
        None => {
            let analyzer = &index.manifest().analyzer;
            let stop =
                analyzer.stop_words.as_ref().map_or(String::new(), |words| format!(", {} stop words", words.len()));
            format!("gamut {}, analyzer {}{stop}", index.manifest().gamut, analyzer.name)
        }
    };
    Ok(Header {
        version: super::VERSION,
        lists: int(s.terms, "terms of a CIFF file")?,
        documents: int(s.documents, "documents of a CIFF file")?,
        total_lists: int(all.terms, "terms of a CIFF file")?,
        total_documents: int(all.documents, "documents of a CIFF file")?,
        total_terms: all.tokens,
        mean_length: all.mean_length,
        description,
    })
}

fn impacts(index: &Index, wanted: bool) -> Result<Option<Impacts<'_>>> {
    // Weights of another program are frequencies already.
    if !wanted || index.manifest().weights() {
        return Ok(None);
    }
    index.impacts().map(Some).ok_or_else(|| Error::Invalid {
        what: index.dir().display().to_string(),
        why: "has no impacts; `gamut reencode DIR --impacts` adds them".to_owned(),
    })
}

/// Some terms in byte order.
struct Terms(Vec<(Vec<u8>, TermInfo)>);

impl Terms {
    /// The next terms from `from` on, which moves on; fewer than could be only at the end.
    fn read(index: &Index, from: &mut Vec<u8>) -> Result<Self> {
        let (mut terms, mut failed) = (Vec::with_capacity(TERMS), Ok(()));
        index.each_term_from(from, |term, id| {
            match index.term(id) {
                Ok(info) => terms.push((term.to_vec(), info)),
                Err(error) => failed = Err(error),
            }
            failed.is_ok() && terms.len() < TERMS
        })?;
        failed?;
        if let Some((last, _)) = terms.last() {
            from.clone_from(last);
            from.push(0);
        }
        Ok(Self(terms))
    }

    /// Cuts the work into tasks.
    fn tasks(&self, block_len: usize) -> Vec<Task> {
        let (mut tasks, mut open, mut postings) = (Vec::new(), 0..0, 0);
        for (i, (_, info)) in self.0.iter().enumerate() {
            let df = u64::from(info.df);
            if !open.is_empty() && postings + df > TASK {
                tasks.push(Task::Terms { terms: std::mem::take(&mut open), postings: std::mem::take(&mut postings) });
            }
            if df <= TASK {
                open = if open.is_empty() { i..i + 1 } else { open.start..i + 1 };
                postings += df;
                continue;
            }
            let (blocks, step) = ((df as usize).div_ceil(block_len), (TASK as usize / block_len).max(1));
            for first in (0..blocks).step_by(step) {
                let blocks = first..blocks.min(first + step);
                let postings = (df as usize).min(blocks.end * block_len) - first * block_len;
                tasks.push(Task::Part { term: i, blocks, postings: postings as u64 });
            }
        }
        if !open.is_empty() {
            tasks.push(Task::Terms { terms: open, postings });
        }
        tasks
    }
}

/// Turns tasks into bytes.
struct Writer<'a> {
    index: &'a Index,
    codec: CodecRef<'a>,
    impacts: Option<Impacts<'a>>,
    packing: Packing,
    path: &'a Path,
}

impl Writer<'_> {
    fn packed(&self, bytes: Vec<u8>) -> Result<Packed> {
        self.packing.part(bytes).map_err(Error::io("compress", self.path))
    }

    /// The bytes of a task, a warning, and how many postings there are.
    fn lists(&self, terms: &Terms, task: &Task) -> Result<(Packed, Option<String>, u64)> {
        let (mut out, mut warning) = (Vec::new(), None);
        let postings = match task {
            Task::Terms { terms: range, postings } => {
                let (mut docs, mut tfs) = (Vec::new(), Vec::new());
                for (term, info) in &terms.0[range.clone()] {
                    self.list(term, info, &mut docs, &mut tfs, &mut out)?;
                }
                *postings
            }
            Task::Part { term, blocks, postings } => {
                let (term, info) = &terms.0[*term];
                warning = self.part(term, info, blocks.clone(), &mut out)?;
                *postings
            }
        };
        Ok((self.packed(out)?, warning, postings))
    }

    /// A whole list.
    fn list(
        &self,
        term: &[u8],
        info: &TermInfo,
        docs: &mut Vec<u32>,
        tfs: &mut Vec<u32>,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let list = self.index.list(info, self.codec)?;
        docs.clear();
        match &list {
            List::Single { doc, .. } => docs.push(*doc),
            List::Blocks(words) => words.decode_all(docs)?,
        }
        self.tfs(info, &mut Blocks::new(list), 0, docs.len(), tfs)?;
        let part = Part { before: None, docs, tfs };
        let cf = tfs.iter().map(|&tf| u64::from(tf)).sum();
        write_head(term, info.df, cf, part.len(), out);
        part.write(out);
        self.in_range(term, tfs)
    }

    /// Replaces `tfs` by what stands for the frequencies of `len` postings from `at` on.
    fn tfs(&self, info: &TermInfo, blocks: &mut Blocks<'_>, at: usize, len: usize, tfs: &mut Vec<u32>) -> Result<()> {
        tfs.clear();
        match &self.impacts {
            Some(impacts) => {
                let impacts = impacts.list(info)?.get(at..at + len).unwrap_or_default();
                tfs.extend(impacts.iter().map(|&impact| u32::from(impact)));
            }
            None => {
                tfs.resize(len, 0);
                blocks.copy_tfs(at, tfs)?;
            }
        }
        Ok(())
    }

    fn in_range(&self, term: &[u8], tfs: &[u32]) -> Result<()> {
        match tfs.iter().max() {
            Some(&tf) if u64::from(tf) > super::MAX_INT => Err(Error::Invalid {
                what: format!("the frequency {tf} of \"{}\"", String::from_utf8_lossy(term)),
                why: "is over 2147483647, which CIFF cannot carry".to_owned(),
            }),
            _ => Ok(()),
        }
    }

    /// A part of a long list; the first one has the head of the message, for which the rest is measured.
    fn part(&self, term: &[u8], info: &TermInfo, wanted: Range<usize>, out: &mut Vec<u8>) -> Result<Option<String>> {
        let list = self.index.list(info, self.codec)?;
        let List::Blocks(words) = &list else { return Ok(None) };
        let mut blocks = Blocks::new(list.clone());
        let (mut docs, mut tfs, mut before) = ([0; MAX_BLOCK_LEN], Vec::new(), None);
        let mut each = |range: Range<usize>, visit: &mut dyn FnMut(Part<'_>)| -> Result<()> {
            before = None;
            if range.start > 0 {
                words.decode(range.start - 1, &mut docs)?;
                before = Some(docs[words.block_len(range.start - 1) - 1]);
            }
            for block in range {
                words.decode(block, &mut docs)?;
                let docs = &docs[..words.block_len(block)];
                let at = blocks.start(block);
                self.tfs(info, &mut blocks, at, docs.len(), &mut tfs)?;
                self.in_range(term, &tfs)?;
                visit(Part { before, docs, tfs: &tfs });
                before = docs.last().copied();
            }
            Ok(())
        };
        let mut warning = None;
        if wanted.start == 0 {
            let (mut len, mut cf) = (0, 0);
            each(0..words.blocks(), &mut |part| {
                len += part.len();
                cf += part.tfs.iter().map(|&tf| u64::from(tf)).sum::<u64>();
            })?;
            let bytes = write_head(term, info.df, cf, len, out);
            warning = (bytes > super::MAX_INT).then(|| {
                let term = String::from_utf8_lossy(term);
                format!("the list of \"{term}\" has {bytes} bytes, and most readers take messages of less than 2 GiB")
            });
        }
        each(wanted, &mut |part| part.write(out))?;
        Ok(warning)
    }

    /// The records of some blocks of the document table.
    fn documents(&self, blocks: Range<usize>) -> Result<Packed> {
        let (mut out, mut scratch) = (Vec::new(), Vec::new());
        let (lens, mut longest) = (self.index.lens(), (0, 0));
        for block in blocks {
            self.index.each_id(block, |docid, id| {
                let len = lens.get(docid as usize).copied().unwrap_or(0);
                longest = longest.max((len, docid));
                put_message(&mut out, &mut scratch, |out| Record { docid, id, len }.write(out));
            })?;
        }
        if u64::from(longest.0) > super::MAX_INT {
            let what = format!("the length {} of document {}", longest.0, longest.1);
            return Err(Error::Invalid { what, why: "is over 2147483647, which CIFF cannot carry".to_owned() });
        }
        self.packed(out)
    }
}

/// What the index has and a CIFF file cannot carry.
fn left_out(index: &Index, impacts: bool) -> Vec<String> {
    let manifest = index.manifest();
    let has = |name: &str| manifest.file(name).is_some();
    let codecs: Vec<&str> = manifest.codecs.iter().map(|codec| &codec.name[..]).collect();
    let mut out = Vec::new();
    if !manifest.analyzer.is_unknown() {
        out.push(format!("the analyzer, {}: a reader must know it", manifest.analyzer.name));
    }
    out.push(format!("codecs ({})", codecs.join(", ")));
    out.push("URLs and titles".to_owned());
    for (there, what) in [
        (has("input.bin"), "places in the input: documents of equal scores now rank by docID"),
        (has("pagerank.bin"), "ranks by links"),
        (has("text.zst"), "stored texts"),
        (has("tables.bin"), "tables of long lists"),
        (
            has("impacts.bin") && !impacts && !manifest.weights(),
            "impacts; --impacts writes them in place of frequencies",
        ),
        (impacts && !manifest.weights(), "frequencies: impacts stand in their place"),
    ] {
        if there {
            out.push(what.to_owned());
        }
    }
    out
}
