//! The document table: `docs.bin` (lengths), `docs.zst` (external ids, URLs, titles), `pagerank.bin` (ranks),
//! `input.bin` (places in the input).
//!
//! # `docs.bin`
//! The header of 16 words, then one word per document: its length in tokens.
//!
//! # `pagerank.bin`
//! Only if links were followed. The header of 16 words, then one word per document: its PageRank, an IEEE 754 `f32`.
//! They add up to 1.
//!
//! # `input.bin`
//! Only in another order than the input's. The header of 16 words, then one word per document: its place in the input.
//!
//! # `docs.zst`
//! ```text
//! [header: 16 words] [zstd frame 0] [zstd frame 1] … [zeros up to a word]
//! [directory: per frame, byte offset in the file (2 words), first docID (1), inflated bytes (1)]
//! [footer: documents, frames, byte offset of the directory: 2 words each]
//! ```
//! A frame holds the records of consecutive documents; it is closed once it has 16 KiB. A record is three LEB128
//! numbers, `length of id`, `0 if the URL is the id, else its length + 1`, `length of title`, and then the bytes of the
//! three, UTF-8. Titles are cut at 4 KiB, ids and URLs at 64 KiB, at a character.

use super::ids;
use super::manifest::FileSpec;
use super::record::{self, Record, inflate};
use crate::base::map::Map;
use crate::error::damaged;
use crate::index::format::{self, Kind};
use crate::index::write::output::Output;
use crate::{Error, Result};
use std::fs::File;
use std::iter::Peekable;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use zstd::zstd_safe::{compress_bound, find_frame_compressed_size, get_frame_content_size};

pub(in crate::index) use super::record::Records;
pub use super::record::{DocName, NameBlock};

/// File of lengths.
pub(in crate::index) const LENGTHS: &str = "docs.bin";
/// File of ranks.
pub(in crate::index) const RANKS: &str = "pagerank.bin";
pub(in crate::index) const INPUT: &str = "input.bin";
/// File of names.
pub(in crate::index) const NAMES: &str = "docs.zst";

const FRAME: usize = 16 << 10;
const LEVEL: i32 = 3;
const MAX_ID: usize = 64 << 10;
const MAX_TITLE: usize = 4 << 10;
/// No frame inflates to more.
const MAX_FRAME: usize = FRAME + 2 * MAX_ID + MAX_TITLE + 16;
const FOOTER: usize = 24;
const ENTRY: usize = 16;

/// The lengths of all documents, complete.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DocTable {
    /// Length of each document in tokens.
    pub lens: Vec<u32>,
    /// Their sum.
    pub total_len: u64,
    /// Documents whose external id an earlier document has (compared by 64-bit hash).
    pub duplicates: u64,
}

/// Takes the documents in docID order. May live on a thread of its own.
///
/// Holds 12 bytes per document (length and hash of the id) and one frame; at the end another byte per document, and
/// 8 MB.
pub struct DocTableWriter {
    dir: PathBuf,
    with_ids: bool,
    lengths: Output,
    names: Output,
    zstd: zstd::bulk::Compressor<'static>,
    raw: Vec<u8>,
    packed: Vec<u8>,
    first: u32,
    directory: Vec<u8>,
    hashes: Vec<u64>,
    table: DocTable,
    files: Arc<Mutex<Vec<FileSpec>>>,
}

/// What is known of the documents that a build has so far, to go on behind them.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct DocMark {
    lengths: FileSpec,
    names: FileSpec,
    /// The records of the open frame, a character a byte.
    open: String,
}

/// The hashes of the ids of records that lie one behind the other.
fn hash_ids(mut records: &[u8], hashes: &mut Vec<u64>) -> Option<()> {
    while !records.is_empty() {
        hashes.push(ids::hash(std::str::from_utf8(record::read(&mut records)?.id).ok()?));
    }
    Some(())
}

/// `text`, or as many whole characters of it as fit `limit` bytes.
fn cut(text: &str, limit: usize) -> &str {
    let mut end = limit.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

impl DocTableWriter {
    pub(in crate::index) fn create(dir: &Path, files: Arc<Mutex<Vec<FileSpec>>>) -> Result<Self> {
        let mut lengths = Output::create(dir, LENGTHS)?;
        lengths.write_words(&format::header(Kind::DocLengths, 0))?;
        let mut names = Output::create(dir, NAMES)?;
        names.write_words(&format::header(Kind::DocNames, 0))?;
        Self::with(dir, files, lengths, names)
    }

    fn with(dir: &Path, files: Arc<Mutex<Vec<FileSpec>>>, lengths: Output, names: Output) -> Result<Self> {
        let zstd = zstd::bulk::Compressor::new(LEVEL).map_err(Error::io("compress", names.path()))?;
        Ok(Self {
            dir: dir.to_owned(),
            with_ids: true,
            lengths,
            names,
            zstd,
            raw: Vec::with_capacity(2 * FRAME),
            packed: Vec::new(),
            first: 0,
            directory: Vec::new(),
            hashes: Vec::new(),
            table: DocTable::default(),
            files,
        })
    }

    /// The same without `ids.bin`, for documents that nobody looks up by their ids.
    pub fn without_ids(self) -> Self {
        Self { with_ids: false, ..self }
    }

    /// Hands all documents to the system, and says what a later process needs to go on behind them.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn mark(&mut self) -> Result<DocMark> {
        let open = self.raw.iter().map(|&byte| char::from(byte)).collect();
        Ok(DocMark { lengths: self.lengths.mark()?, names: self.names.mark()?, open })
    }

    /// Its files, to sync them.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn handles(&self) -> Result<[File; 2]> {
        Ok([self.lengths.handle()?, self.names.handle()?])
    }

    /// Goes on behind a mark.
    pub(in crate::index) fn resume(dir: &Path, files: Arc<Mutex<Vec<FileSpec>>>, mark: &DocMark) -> Result<Self> {
        let (lengths, names) = (Output::reopen(dir, &mark.lengths)?, Output::reopen(dir, &mark.names)?);
        let map = |output: &Output| Map::open(output.path()).map_err(Error::io("map", output.path()));
        let (lens, frames) = (map(&lengths)?, map(&names)?);
        let mut writer = Self::with(dir, files, lengths, names)?;
        let lens = lens.get(4 * format::HEADER_WORDS..).unwrap_or_default().as_chunks().0;
        writer.table.lens.extend(lens.iter().map(|&len| u32::from_le_bytes(len)));
        writer.table.total_len = writer.table.lens.iter().map(|&len| u64::from(len)).sum();
        let bad = |at: usize| damaged(writer.names.path(), at as u64, "no frame of names begins here");
        let mut at = 4 * format::HEADER_WORDS;
        while at < frames.len() {
            let packed = find_frame_compressed_size(&frames[at..]).map_err(|_| bad(at))?;
            let packed = frames.get(at..at + packed).ok_or_else(|| bad(at))?;
            let bytes = get_frame_content_size(packed).ok().flatten().filter(|&bytes| bytes <= MAX_FRAME as u64);
            let bytes = bytes.ok_or_else(|| bad(at))? as usize;
            let text = inflate(packed, bytes).map_err(|_| bad(at))?;
            writer.directory.extend((at as u64).to_le_bytes());
            writer.directory.extend(writer.first.to_le_bytes());
            writer.directory.extend((bytes as u32).to_le_bytes());
            hash_ids(&text, &mut writer.hashes).ok_or_else(|| bad(at))?;
            writer.first = writer.hashes.len() as u32;
            at += packed.len();
        }
        writer.raw.extend(mark.open.chars().map(|c| c as u8));
        hash_ids(&writer.raw, &mut writer.hashes).ok_or_else(|| bad(at))?;
        if writer.hashes.len() != writer.table.lens.len() {
            return Err(bad(at));
        }
        Ok(writer)
    }

    /// The next document: external id, URL (may be empty), title (may be empty), length in tokens.
    ///
    /// # Errors
    /// [`Error::Limit`] at document 2^32 - 1; [`Error::Io`].
    pub fn push(&mut self, id: &str, url: &str, title: &str, len: u32) -> Result<()> {
        self.check_room(1)?;
        let (id, url, title) = (cut(id, MAX_ID), cut(url, MAX_ID), cut(title, MAX_TITLE));
        self.hashes.push(ids::hash(id));
        self.lengths.write_words(&[len])?;
        self.table.lens.push(len);
        self.table.total_len += u64::from(len);
        record::put(&mut self.raw, id, url, title);
        if self.raw.len() >= FRAME { self.close_frame() } else { Ok(()) }
    }

    /// The documents of a frame of another table, their lengths, and the frame as it lies there. It is copied if these
    /// documents alone make a frame here, too.
    pub(in crate::index) fn frame(&mut self, records: &Records, lens: &[u32], packed: &[u8]) -> Result<()> {
        self.check_room(lens.len() as u64)?;
        self.hashes.extend_from_slice(&records.hashes);
        self.lengths.write_words(lens)?;
        let whole = self.raw.is_empty() && records.text.len() >= FRAME;
        let mut start = 0;
        for (&end, &len) in records.ends.iter().zip(lens) {
            self.table.lens.push(len);
            self.table.total_len += u64::from(len);
            if !whole {
                self.raw.extend_from_slice(&records.text[start..end as usize]);
                start = end as usize;
                if self.raw.len() >= FRAME {
                    self.close_frame()?;
                }
            }
        }
        if whole { self.end_frame(packed, records.text.len() as u32) } else { Ok(()) }
    }

    /// Fails if so many documents more are too many.
    fn check_room(&self, more: u64) -> Result<()> {
        let value = self.table.lens.len() as u64 + more;
        if value <= format::MAX_DOCUMENTS {
            return Ok(());
        }
        let hint = "split the collection into several indexes";
        Err(Error::Limit { what: "documents", value, limit: format::MAX_DOCUMENTS, hint })
    }

    fn close_frame(&mut self) -> Result<()> {
        self.packed.clear();
        self.packed.resize(compress_bound(self.raw.len()), 0);
        let n = self
            .zstd
            .compress_to_buffer(&self.raw, &mut self.packed[..])
            .map_err(Error::io("compress", self.names.path()))?;
        let packed = std::mem::take(&mut self.packed);
        self.end_frame(&packed[..n], self.raw.len() as u32)?;
        self.packed = packed;
        self.raw.clear();
        Ok(())
    }

    /// Writes the frame of the documents since the last one, which inflates to so many bytes.
    fn end_frame(&mut self, packed: &[u8], bytes: u32) -> Result<()> {
        self.directory.extend(self.names.bytes().to_le_bytes());
        self.directory.extend(self.first.to_le_bytes());
        self.directory.extend(bytes.to_le_bytes());
        self.first = self.table.lens.len() as u32;
        self.names.write(packed)
    }

    /// Closes both files and writes `ids.bin`; the table goes to [`crate::index::IndexWriter::encoder`].
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn finish(mut self) -> Result<DocTable> {
        if !self.raw.is_empty() {
            self.close_frame()?;
        }
        let directory = self.names.bytes().next_multiple_of(4);
        self.names.pad_to(directory / 4)?;
        self.names.write(&self.directory)?;
        let documents = self.table.lens.len() as u64;
        self.names.write_wide(&[documents, (self.directory.len() / ENTRY) as u64, directory])?;
        let mut specs = vec![self.lengths.finish()?, self.names.finish()?];
        if self.with_ids {
            let mut table = Output::create(&self.dir, ids::IDS)?;
            ids::write(&self.hashes, |words| table.write_words(words))?;
            specs.push(table.finish()?);
        }
        self.hashes.sort_unstable();
        self.table.duplicates = self.hashes.windows(2).filter(|pair| pair[0] == pair[1]).count() as u64;
        self.files.lock().unwrap_or_else(std::sync::PoisonError::into_inner).extend(specs);
        Ok(self.table)
    }
}

/// `docs.zst`, mapped.
pub(in crate::index) struct NameTable {
    path: PathBuf,
    map: Map,
    documents: u64,
    frames: usize,
    directory: usize,
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

impl NameTable {
    pub(in crate::index) fn new(path: PathBuf, map: Map, documents: u64) -> Result<Self> {
        let bytes = &map[..];
        let footer = bytes.len().checked_sub(FOOTER).filter(|&at| at >= 4 * format::HEADER_WORDS);
        let Some(footer) = footer else {
            return Err(damaged(&path, 0, "the file is too short"));
        };
        let (n, frames, directory) = (u64_at(bytes, footer), u64_at(bytes, footer + 8), u64_at(bytes, footer + 16));
        if n != documents {
            let what = format!("names of {n} documents, but the manifest has {documents}");
            return Err(damaged(&path, footer as u64, what));
        }
        let fits = frames.checked_mul(ENTRY as u64).and_then(|len| len.checked_add(directory)) == Some(footer as u64)
            && directory >= 4 * format::HEADER_WORDS as u64
            && (frames > 0) == (documents > 0);
        if !fits {
            return Err(damaged(&path, footer as u64 + 8, "the directory of frames is not where it must be"));
        }
        Ok(Self { path, documents, frames: frames as usize, directory: directory as usize, map })
    }

    pub(in crate::index) fn frames(&self) -> usize {
        self.frames
    }

    /// Byte range, docID range and inflated size of a frame.
    fn frame(&self, i: usize) -> Result<(Range<usize>, Range<u32>, usize)> {
        let at = self.directory + ENTRY * i;
        let (start, first, raw) = (u64_at(&self.map, at), u32_at(&self.map, at + 8), u32_at(&self.map, at + 12));
        let (end, last) = if i + 1 < self.frames {
            (u64_at(&self.map, at + ENTRY), u64::from(u32_at(&self.map, at + ENTRY + 8)))
        } else {
            (self.directory as u64, self.documents)
        };
        let sound = start >= 4 * format::HEADER_WORDS as u64
            && start < end
            && end <= self.directory as u64
            && u64::from(first) < last
            && last <= self.documents
            && raw as usize <= MAX_FRAME
            && (i > 0 || first == 0);
        if !sound {
            return Err(damaged(&self.path, at as u64, "the entry of a frame is out of bounds"));
        }
        Ok((start as usize..end as usize, first..last as u32, raw as usize))
    }

    /// How many documents frame `i` has, and bytes of their records.
    pub(in crate::index) fn frame_size(&self, i: usize) -> Result<(usize, usize)> {
        let (_, docs, bytes) = self.frame(i)?;
        Ok((docs.len(), bytes))
    }

    /// The documents of frame `i`.
    pub(in crate::index) fn frame_docs(&self, i: usize) -> Result<Range<u32>> {
        Ok(self.frame(i)?.1)
    }

    /// Frame `i` as it lies in the file.
    pub(in crate::index) fn packed(&self, i: usize) -> Result<&[u8]> {
        let (bytes, ..) = self.frame(i)?;
        let start = bytes.start as u64;
        let source = &self.map[bytes];
        // Zeros up to a word follow the last frame.
        let len = if i + 1 < self.frames { Some(source.len()) } else { find_frame_compressed_size(source).ok() };
        len.and_then(|len| source.get(..len)).ok_or_else(|| damaged(&self.path, start, "not a zstd frame"))
    }

    /// The records of frame `i`, in docID order.
    pub(in crate::index) fn read_frame(&self, i: usize) -> Result<Vec<DocName>> {
        let mut names = Vec::new();
        self.each_record(i, |record| {
            names.push(record.name()?);
            Some(())
        })?;
        Ok(names)
    }

    /// The records of frame `i` as they are, in docID order.
    pub(in crate::index) fn records(&self, i: usize) -> Result<Records> {
        let (text, docs, start) = self.inflated(i)?;
        let bad = || damaged(&self.path, start, "a record is damaged, or the frame has more or fewer of them");
        Records::new(text, docs.len()).ok_or_else(bad)
    }

    /// Calls `visit` with the id of each document of frame `i`, in docID order.
    pub(in crate::index) fn each_id(&self, i: usize, visit: impl FnMut(&str)) -> Result<()> {
        self.ids_of(i, self.frame(i)?.1, visit)
    }

    /// Calls `visit` with the id of each `wanted` document of frame `i`; they ascend.
    pub(in crate::index) fn ids_of(
        &self,
        i: usize,
        wanted: impl Iterator<Item = u32>,
        mut visit: impl FnMut(&str),
    ) -> Result<()> {
        self.each_wanted(i, &mut wanted.peekable(), |record| {
            visit(std::str::from_utf8(record.id).ok()?);
            Some(())
        })
    }

    /// As [`Self::ids_of`], with records; takes those off `wanted`. `visit` returns `None` for a damaged one.
    fn each_wanted(
        &self,
        i: usize,
        wanted: &mut Peekable<impl Iterator<Item = u32>>,
        mut visit: impl FnMut(&Record<'_>) -> Option<()>,
    ) -> Result<()> {
        let mut at = self.frame(i)?.1.start;
        // a frame has some hundred records, of which few are wanted
        self.each_record(i, |record| {
            while wanted.next_if_eq(&at).is_some() {
                visit(&record)?;
            }
            at += 1;
            Some(())
        })
    }

    /// The records of frame `i` as they are, one behind the other.
    fn inflated(&self, i: usize) -> Result<(Vec<u8>, Range<u32>, u64)> {
        let (bytes, docs, raw) = self.frame(i)?;
        let start = bytes.start as u64;
        let bad = |what: String| damaged(&self.path, start, what);
        let source = self.packed(i)?;
        let text = inflate(source, raw).map_err(|error| bad(format!("does not inflate: {error}")))?;
        if text.len() != raw {
            return Err(bad(format!("inflates to {} bytes, not {raw}", text.len())));
        }
        Ok((text, docs, start))
    }

    /// Frame `i` as a block whose records can be read one by one.
    pub(in crate::index) fn block(&self, i: usize) -> Result<NameBlock> {
        let (text, docs, start) = self.inflated(i)?;
        let bad = || damaged(&self.path, start, "a record is damaged, or the frame has more or fewer of them");
        NameBlock::new(text, docs).ok_or_else(bad)
    }

    /// Calls `visit` with each record of frame `i`, in docID order; it returns `None` for a damaged one.
    fn each_record(&self, i: usize, mut visit: impl FnMut(Record<'_>) -> Option<()>) -> Result<()> {
        let (text, docs, start) = self.inflated(i)?;
        let bad = |what: String| damaged(&self.path, start, what);
        let mut rest = &text[..];
        for doc in docs.clone() {
            let record = record::read(&mut rest).and_then(&mut visit);
            record.ok_or_else(|| bad(format!("the record of document {doc} is damaged")))?;
        }
        if !rest.is_empty() {
            return Err(bad(format!("{} bytes after the record of document {}", rest.len(), docs.end - 1)));
        }
        Ok(())
    }

    /// The names of a document.
    pub(in crate::index) fn name(&self, doc: u32) -> Result<DocName> {
        Ok(self.names(&[doc])?.pop().unwrap_or_default())
    }

    /// The names of documents in ascending order.
    pub(in crate::index) fn names(&self, docs: &[u32]) -> Result<Vec<DocName>> {
        let mut names = Vec::with_capacity(docs.len());
        let mut wanted = docs.iter().copied().peekable();
        while let Some(&doc) = wanted.peek() {
            let frame = self.frame_of(doc)?;
            self.each_wanted(frame, &mut wanted, |record| {
                names.push(record.name()?);
                Some(())
            })?;
            if wanted.peek() == Some(&doc) {
                return Err(self.no_document(doc));
            }
        }
        Ok(names)
    }

    pub(in crate::index) fn no_document(&self, doc: u32) -> Error {
        damaged(&self.path, self.directory as u64, format!("no frame has document {doc}"))
    }

    /// The number of a document's frame.
    pub(in crate::index) fn frame_of(&self, doc: u32) -> Result<usize> {
        let (mut low, mut high) = (0, self.frames);
        while low < high {
            let middle = (low + high) / 2;
            if self.frame(middle)?.1.end <= doc { low = middle + 1 } else { high = middle }
        }
        if low < self.frames { Ok(low) } else { Err(self.no_document(doc)) }
    }
}
