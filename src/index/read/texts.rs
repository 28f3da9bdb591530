//! The stored texts of documents.

use super::reader::Index;
use crate::base::map::Map;
use crate::error::damaged;
use crate::index::format::HEADER_WORDS;
use crate::index::format::texts::{ENTRY, FOOTER, GOES_ON, LEN, MAX_FRAME};
use crate::{Error, Result};
use rayon::prelude::*;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use zstd::zstd_safe::{DCtx, DDict, find_frame_compressed_size, get_error_name};

/// `text.zst`, mapped.
pub(in crate::index) struct TextTable {
    path: PathBuf,
    map: Map,
    documents: u64,
    frames: usize,
    directory: usize,
    dictionary_end: usize,
    text_bytes: u64,
    /// The dictionary as zstd wants it, made when it is first needed; `None` if zstd does not take it.
    dictionary: OnceLock<Option<DDict<'static>>>,
    /// Decompressors that no thread uses now.
    idle: Mutex<Vec<DCtx<'static>>>,
}

const HEADER: usize = 4 * HEADER_WORDS;

/// Where a frame is and what is in it.
pub(in crate::index) struct Frame {
    bytes: std::ops::Range<usize>,
    /// Documents that begin before it, and before the next one.
    pub(in crate::index) begun: std::ops::Range<u32>,
    /// Its first part goes on with the document before.
    pub(in crate::index) goes_on: bool,
    /// Bytes that it inflates to.
    pub(in crate::index) inflated: usize,
}

impl Frame {
    /// Texts and parts of texts in it.
    fn parts(&self) -> usize {
        self.begun.len() + usize::from(self.goes_on)
    }
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().copied().map(u32::from_le_bytes)
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().copied().map(u64::from_le_bytes)
}

impl TextTable {
    /// The file with its footer checked; its header is the caller's to check.
    pub(in crate::index) fn new(path: PathBuf, map: Map, documents: u64) -> Result<Self> {
        let footer = map.len().checked_sub(FOOTER).filter(|&at| at >= HEADER);
        let footer = footer.ok_or_else(|| damaged(&path, 0, "the file is too short"))?;
        let number = |i: usize| u64_at(&map, footer + 8 * i).unwrap_or(0);
        let [n, frames, directory, dictionary, text_bytes] = [0, 1, 2, 3, 4].map(number);
        if n != documents {
            let what = format!("texts of {n} documents, but the manifest has {documents}");
            return Err(damaged(&path, footer as u64, what));
        }
        let fits = frames.checked_mul(ENTRY as u64).and_then(|len| len.checked_add(directory)) == Some(footer as u64)
            && dictionary.checked_add(HEADER as u64).is_some_and(|end| end <= directory)
            && (frames > 0) == (documents > 0);
        if !fits {
            return Err(damaged(&path, footer as u64 + 8, "the directory of frames is not where it must be"));
        }
        Ok(Self {
            path,
            documents,
            frames: frames as usize,
            directory: directory as usize,
            dictionary_end: HEADER + dictionary as usize,
            text_bytes,
            dictionary: OnceLock::new(),
            idle: Mutex::default(),
            map,
        })
    }

    fn entry(&self, i: usize) -> usize {
        self.directory + ENTRY * i
    }

    /// Documents that begin before frame `i`.
    fn begun(&self, i: usize) -> u32 {
        u32_at(&self.map, self.entry(i) + 8).unwrap_or(0)
    }

    /// How many frames there are.
    pub(in crate::index) fn frames(&self) -> usize {
        self.frames
    }

    /// Bytes of all texts.
    pub(in crate::index) fn text_bytes(&self) -> u64 {
        self.text_bytes
    }

    /// zstd's dictionary; empty if there is none.
    pub(in crate::index) fn dictionary(&self) -> &[u8] {
        &self.map[HEADER..self.dictionary_end]
    }

    pub(in crate::index) fn frame(&self, i: usize) -> Result<Frame> {
        let at = self.entry(i);
        let start = u64_at(&self.map, at).unwrap_or(0);
        let size = u32_at(&self.map, at + 12).unwrap_or(0);
        let (end, last) = match i + 1 < self.frames {
            true => (u64_at(&self.map, at + ENTRY).unwrap_or(0), u64::from(self.begun(i + 1))),
            false => (self.directory as u64, self.documents),
        };
        let (first, goes_on, inflated) = (self.begun(i), size & GOES_ON != 0, (size & !GOES_ON) as usize);
        let sound = start >= self.dictionary_end as u64
            && start < end
            && end <= self.directory as u64
            && u64::from(first) <= last
            && last <= self.documents
            && inflated <= MAX_FRAME
            && (if i == 0 { first == 0 && !goes_on } else { first > 0 })
            && (goes_on || u64::from(first) < last);
        if !sound {
            return Err(damaged(&self.path, at as u64, "the entry of a frame is out of bounds"));
        }
        Ok(Frame { bytes: start as usize..end as usize, begun: first..last as u32, goes_on, inflated })
    }

    /// A frame as it lies in the file.
    pub(in crate::index) fn packed(&self, i: usize, frame: &Frame) -> Result<&[u8]> {
        let source = &self.map[frame.bytes.clone()];
        // Zeros up to a word follow the last frame.
        let len = if i + 1 < self.frames { Some(source.len()) } else { find_frame_compressed_size(source).ok() };
        let bad = || damaged(&self.path, frame.bytes.start as u64, "not a zstd frame");
        len.and_then(|len| source.get(..len)).ok_or_else(bad)
    }

    /// The texts of frame `i`, and behind them their lengths.
    pub(in crate::index) fn inflate(&self, i: usize, frame: &Frame) -> Result<Vec<u8>> {
        let start = frame.bytes.start as u64;
        let bad = |what: String| damaged(&self.path, start, what);
        let source = self.packed(i, frame)?;
        let dictionary = match self.dictionary_end {
            HEADER => None,
            end => {
                let made = self.dictionary.get_or_init(|| DDict::try_create(&self.map[HEADER..end]));
                Some(made.as_ref().ok_or_else(|| damaged(&self.path, HEADER as u64, "not a dictionary of zstd"))?)
            }
        };
        let lock = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = lock().pop();
        let mut zstd = match kept {
            Some(zstd) => zstd,
            None => DCtx::try_create().ok_or_else(|| bad("there is no memory to inflate it".to_owned()))?,
        };
        let mut bytes = Vec::with_capacity(frame.inflated);
        let result = match dictionary {
            Some(dictionary) => zstd.decompress_using_ddict(&mut bytes, source, dictionary),
            None => zstd.decompress(&mut bytes, source),
        };
        lock().push(zstd);
        result.map_err(|code| bad(format!("does not inflate: {}", get_error_name(code))))?;
        if bytes.len() != frame.inflated {
            return Err(bad(format!("inflates to {} bytes, not {}", bytes.len(), frame.inflated)));
        }
        if bytes.len() < LEN * frame.parts() {
            return Err(bad("has no room for its lengths".to_owned()));
        }
        Ok(bytes)
    }

    /// Calls `visit` with parts of frame `i`, by their number in it, until there are no more.
    fn parts(
        &self,
        i: usize,
        frame: &Frame,
        wanted: std::ops::Range<usize>,
        mut visit: impl FnMut(&str) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>> {
        let bytes = self.inflate(i, frame)?;
        let bad = |what: &str| damaged(&self.path, frame.bytes.start as u64, what);
        let (texts, lens) = bytes.split_at(bytes.len() - LEN * frame.parts());
        let (lens, _) = lens.as_chunks::<LEN>();
        let (mut rest, mut flow) = (texts, ControlFlow::Continue(()));
        for (part, &len) in lens.iter().enumerate() {
            let len = usize::from(u16::from_le_bytes(len));
            let (text, tail) = rest.split_at_checked(len).ok_or_else(|| bad("its lengths are more than it has"))?;
            rest = tail;
            if wanted.contains(&part) && flow.is_continue() {
                flow = visit(std::str::from_utf8(text).map_err(|_| bad("a text is not UTF-8"))?);
            }
        }
        if rest.is_empty() { Ok(flow) } else { Err(bad("its lengths are less than it has")) }
    }

    /// Calls `visit` with the parts of the document at a place of the input, until it breaks.
    pub(in crate::index) fn each_part(&self, place: u32, mut visit: impl FnMut(&str) -> ControlFlow<()>) -> Result<()> {
        // The last frame that begins with it or with one before it.
        let (mut low, mut high) = (0, self.frames);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.begun(middle) <= place { low = middle + 1 } else { high = middle }
        }
        let none = || damaged(&self.path, self.directory as u64, format!("no frame has the text of place {place}"));
        let mut i = low.checked_sub(1).ok_or_else(none)?;
        let mut frame = self.frame(i)?;
        if !frame.begun.contains(&place) {
            return Err(none());
        }
        let mut part = (place - frame.begun.start) as usize + usize::from(frame.goes_on);
        while self.parts(i, &frame, part..part + 1, &mut visit)?.is_continue() {
            i += 1;
            if part + 1 < frame.parts() || i == self.frames {
                break;
            }
            (frame, part) = (self.frame(i)?, 0);
            if !frame.goes_on {
                break;
            }
        }
        Ok(())
    }

    /// Inflates every frame; tells each problem.
    fn check(&self, problem: &(dyn Fn(Error) + Sync)) {
        let bytes = AtomicU64::new(0);
        let frames: Vec<usize> = (0..self.frames).collect();
        frames.into_par_iter().for_each(|i| {
            let count = |text: &str| {
                bytes.fetch_add(text.len() as u64, Ordering::Relaxed);
                ControlFlow::Continue(())
            };
            let checked = self.frame(i).and_then(|frame| self.parts(i, &frame, 0..usize::MAX, count));
            if let Err(error) = checked {
                problem(error);
            }
        });
        let bytes = bytes.into_inner();
        if bytes != self.text_bytes {
            let what = format!("texts of {bytes} bytes, but the footer says {}", self.text_bytes);
            problem(damaged(&self.path, (self.map.len() - 8) as u64, what));
        }
    }
}

impl Index {
    /// Whether the index stores the texts of its documents.
    pub fn has_texts(&self) -> bool {
        self.texts.is_some()
    }

    /// Bytes of all texts, if the index stores them.
    pub fn text_bytes(&self) -> Option<u64> {
        self.texts.as_ref().map(|texts| texts.text_bytes)
    }

    /// Calls `visit` with the text of a document, in parts of whole characters, until it breaks. The text is what was
    /// analysed: a title that the container gives and a line feed, and then the text of the document.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the index stores no texts, [`Error::Damaged`], also for a docID that does not exist.
    pub fn each_text_part(&self, doc: u32, visit: impl FnMut(&str) -> ControlFlow<()>) -> Result<()> {
        let texts = self.texts.as_ref().ok_or_else(|| self.no_texts())?;
        let place = match self.input_places() {
            Some(places) => places.get(doc as usize).copied(),
            None => Some(doc).filter(|&doc| u64::from(doc) < self.statistics().documents),
        };
        texts.each_part(place.ok_or_else(|| self.names.no_document(doc))?, visit)
    }

    /// The text of a document, or its first parts that have `most` bytes together (at most 32 KiB more), and whether
    /// that is all of it.
    ///
    /// # Errors
    /// As of [`Self::each_text_part`].
    pub fn text_start(&self, doc: u32, most: usize) -> Result<(String, bool)> {
        let (mut text, mut whole) = (String::new(), true);
        self.each_text_part(doc, |part| {
            if text.len() >= most && !part.is_empty() {
                whole = false;
                return ControlFlow::Break(());
            }
            text.push_str(part);
            ControlFlow::Continue(())
        })?;
        Ok((text, whole))
    }

    /// The text of a document.
    ///
    /// # Errors
    /// As of [`Self::each_text_part`].
    pub fn text(&self, doc: u32) -> Result<String> {
        Ok(self.text_start(doc, usize::MAX)?.0)
    }

    /// The error of whoever needs texts where there are none.
    pub fn no_texts(&self) -> Error {
        let why = match self.manifest().weights() {
            true => "has weights of terms, and no texts",
            false => "stores no texts; build it again with `gamut index --store`",
        };
        Error::Invalid { what: self.dir().display().to_string(), why: why.to_owned() }
    }

    /// Inflates all texts; for `verify`.
    pub(in crate::index) fn check_texts(&self, problem: &(dyn Fn(Error) + Sync)) {
        if let Some(texts) = &self.texts {
            texts.check(problem);
        }
    }
}
