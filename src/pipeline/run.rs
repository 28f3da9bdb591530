//! Runs: sorted keys on disk, one run behind the other in one file, and reading them back from any termID on.
//!
//! A run is a sequence of frames of up to [`FRAME`] keys. A frame splits its keys into columns, each
//! bit-packed at one width per frame: the terms (for each distinct term its gap to the one before and
//! how many keys it has), the documents (gaps within a term), the frequencies (tf − 1). The directory
//! of first keys stays in memory, so that a merge can start at any termID. A run lives only as long
//! as the build that wrote it and is read by the program that wrote it, so it has no version.
//!
//! A frame is read into memory in one call and compared with its checksum before it is unpacked. So runs that somebody
//! truncates or overwrites end the build with a clear error. A map would save a copy of some 12 KB a frame, which is
//! little beside unpacking and merging its keys.
//!
//! General compression on top would make a run of a real crawl 1.9 times smaller (zstd level 1, 250 MB/s
//! a core). One thread spills, though, and at some GB/s of HTML the build would wait for it; so a run
//! takes about 3 bytes a key and no more time than its disk does.

use std::fs::File;
use std::io::{BufWriter, Seek as _, SeekFrom, Write};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use xxhash_rust::xxh3::xxh3_64;

use super::lists::Lists;
use crate::{Error, Result};

/// Keys in a frame. Small, because a merge of n runs holds n frames, and each merge task starts in
/// the middle of one frame of each run.
pub const FRAME: usize = 4096;

/// Takes a key apart: (termID, document within the block, tf).
#[inline]
pub fn unpack(key: u64) -> (u32, u32, u32) {
    ((key >> 32) as u32, (key >> 8) as u32 & 0x00ff_ffff, key as u32 & 0xff)
}

/// Puts a key together. `doc` is below 2^24, `tf` from 1 to 255.
#[inline]
pub fn pack(term: u32, doc: u32, tf: u32) -> u64 {
    u64::from(term) << 32 | u64::from(doc) << 8 | u64::from(tf)
}

/// Where a frame is and what it starts with.
#[derive(Clone, Copy, Debug)]
pub struct FrameEntry {
    /// The frame's first key.
    pub first_key: u64,
    /// Byte offset in the file of runs.
    pub offset: u64,
    /// Bytes there.
    pub bytes: u32,
    /// Number of keys.
    pub keys: u32,
    /// Checksum of the bytes.
    pub sum: u64,
}

/// The file of all runs of a build, and the first thing that went wrong when it was read.
#[derive(Debug)]
struct Spill {
    path: PathBuf,
    file: File,
    problem: OnceLock<Problem>,
}

/// What can go wrong with a run that was written.
#[derive(Debug)]
enum Problem {
    /// The system does not give its bytes.
    Unreadable(std::io::Error),
    /// The bytes from this offset on are others.
    Changed(u64),
}

/// A finished run.
#[derive(Debug)]
pub struct Run {
    spill: Arc<Spill>,
    /// The directory, in key order.
    pub frames: Vec<FrameEntry>,
    /// Global docID of the block's document 0.
    pub first_doc: u32,
    /// Bytes on disk.
    pub bytes: u64,
}

/// Appends `value`'s low `width` bits.
struct BitWriter<'a> {
    out: &'a mut Vec<u8>,
    acc: u64,
    filled: u32,
}

impl BitWriter<'_> {
    #[inline]
    fn put(&mut self, value: u32, width: u32) {
        self.acc |= u64::from(value) << self.filled;
        self.filled += width;
        if self.filled >= 32 {
            self.out.extend_from_slice(&(self.acc as u32).to_le_bytes());
            self.acc >>= 32;
            self.filled -= 32;
        }
    }

    fn finish(self) {
        self.out.extend_from_slice(&self.acc.to_le_bytes()[..self.filled.div_ceil(8) as usize]);
    }
}

/// Reads columns back; the frame is followed by at least 8 readable bytes.
struct BitReader<'a> {
    bytes: &'a [u8],
    bit: usize,
}

impl BitReader<'_> {
    #[inline]
    fn get(&mut self, width: u32) -> u32 {
        let at = self.bit >> 3;
        let word = u64::from_le_bytes(*self.bytes[at..].first_chunk().expect("8 bytes follow every column"));
        self.bit += width as usize;
        ((word >> ((self.bit - width as usize) & 7)) & ((1u64 << width) - 1)) as u32
    }

    fn align(&mut self) {
        self.bit = self.bit.next_multiple_of(8);
    }
}

fn width_of(values: &[u32]) -> u32 {
    32 - values.iter().fold(0, |all, &v| all | v).leading_zeros()
}

/// Columns of one frame, reused between frames.
#[derive(Default)]
struct Columns {
    term_gaps: Vec<u32>,
    term_keys: Vec<u32>,
    docs: Vec<u32>,
    tfs: Vec<u32>,
}

impl Columns {
    fn encode(&mut self, keys: &[u64], out: &mut Vec<u8>) {
        self.term_gaps.clear();
        self.term_keys.clear();
        self.docs.clear();
        self.tfs.clear();
        // The first term is in the directory.
        let (mut term, mut previous) = ((keys[0] >> 32) as u32, 0);
        self.term_gaps.push(0);
        self.term_keys.push(0);
        for &key in keys {
            let (t, doc, tf) = unpack(key);
            if t != term {
                self.term_gaps.push(t - term);
                self.term_keys.push(0);
                (term, previous) = (t, 0);
            }
            if let Some(n) = self.term_keys.last_mut() {
                *n += 1;
            }
            self.docs.push(doc - previous);
            previous = doc;
            self.tfs.push(tf.wrapping_sub(1) & 0xff);
        }
        out.extend_from_slice(&(self.term_gaps.len() as u32).to_le_bytes());
        let columns = [&self.term_gaps, &self.term_keys, &self.docs, &self.tfs];
        let widths = columns.map(|c| width_of(c));
        out.extend(widths.map(|w| w as u8));
        for (column, width) in columns.into_iter().zip(widths) {
            let mut bits = BitWriter { out, acc: 0, filled: 0 };
            for &value in column {
                bits.put(value, width);
            }
            bits.finish();
        }
    }
}

/// Writes runs.
pub struct RunWriter {
    spill: Arc<Spill>,
    file: BufWriter<File>,
    /// Bytes written.
    offset: u64,
    columns: Columns,
    buffer: Vec<u8>,
}

impl RunWriter {
    /// Creates the file; it must not exist.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn create(path: &Path) -> Result<Self> {
        let file = File::options().read(true).write(true).create_new(true).open(path);
        Self::with(path, file.map_err(Error::io("create", path))?)
    }

    fn with(path: &Path, file: File) -> Result<Self> {
        let reading = file.try_clone().map_err(Error::io("open", path))?;
        Ok(Self {
            spill: Arc::new(Spill { path: path.to_owned(), file: reading, problem: OnceLock::new() }),
            file: BufWriter::with_capacity(1 << 20, file),
            offset: 0,
            columns: Columns::default(),
            buffer: Vec::new(),
        })
    }

    /// Goes on behind the first `bytes` bytes of the file, which an earlier process wrote; the rest is cut off.
    ///
    /// # Errors
    /// [`Error::Damaged`] if the file is shorter; [`Error::Io`].
    pub fn reopen(path: &Path, bytes: u64) -> Result<Self> {
        let file = File::options().read(true).write(true).open(path).map_err(crate::error::gone(path))?;
        let len = file.metadata().map_err(Error::io("look at", path))?.len();
        if len < bytes {
            return Err(crate::error::damaged(path, len, format!("the file ends, but gamut wrote {bytes} bytes")));
        }
        let cut = file.set_len(bytes).and_then(|()| (&file).seek(SeekFrom::Start(bytes)));
        cut.map_err(Error::io("write to", path))?;
        Ok(Self { offset: bytes, ..Self::with(path, file)? })
    }

    /// A run that lies in the file already.
    pub fn known(&self, frames: Vec<FrameEntry>, first_doc: u32) -> Run {
        let bytes = frames.iter().map(|frame| u64::from(frame.bytes)).sum();
        Run { spill: self.spill.clone(), frames, first_doc, bytes }
    }

    /// Bytes of all runs.
    pub fn bytes(&self) -> u64 {
        self.offset
    }

    /// The file, to sync it.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn handle(&self) -> Result<File> {
        self.spill.file.try_clone().map_err(Error::io("open", &self.spill.path))
    }

    /// Writes a sorted block whose document 0 is the global docID `first_doc`.
    ///
    /// # Errors
    /// [`Error::Io`], a full disk for one.
    pub fn write(&mut self, keys: &[u64], first_doc: u32) -> Result<Run> {
        let (start, mut frames) = (self.offset, Vec::with_capacity(keys.len().div_ceil(FRAME)));
        for frame in keys.chunks(FRAME) {
            frames.push(self.frame(frame)?);
        }
        self.finish(start, frames, first_doc)
    }

    /// Writes the lists of a block, their terms sorted, as [`Self::write`] would write their keys.
    ///
    /// # Errors
    /// As of [`Self::write`].
    pub fn write_lists(&mut self, lists: &Lists, first_doc: u32) -> Result<Run> {
        let (start, mut frames) = (self.offset, Vec::with_capacity(lists.len().div_ceil(FRAME)));
        let (mut keys, mut frame) = (lists.keys(), Vec::with_capacity(FRAME));
        loop {
            frame.clear();
            frame.extend(keys.by_ref().take(FRAME));
            if frame.is_empty() {
                return self.finish(start, frames, first_doc);
            }
            frames.push(self.frame(&frame)?);
        }
    }

    fn frame(&mut self, keys: &[u64]) -> Result<FrameEntry> {
        self.buffer.clear();
        self.columns.encode(keys, &mut self.buffer);
        let (offset, bytes, sum) = (self.offset, self.buffer.len() as u32, xxh3_64(&self.buffer));
        self.file.write_all(&self.buffer).map_err(Error::io("write", &self.spill.path))?;
        self.offset += u64::from(bytes);
        Ok(FrameEntry { first_key: keys[0], offset, bytes, keys: keys.len() as u32, sum })
    }

    fn finish(&mut self, start: u64, frames: Vec<FrameEntry>, first_doc: u32) -> Result<Run> {
        self.file.flush().map_err(Error::io("write", &self.spill.path))?;
        Ok(Run { spill: self.spill.clone(), frames, first_doc, bytes: self.offset - start })
    }
}

impl Spill {
    /// The bytes of a frame as they were written, and 8 more, because a reader fetches 8 at a time.
    fn frame(&self, entry: &FrameEntry) -> std::result::Result<Vec<u8>, Problem> {
        let len = entry.bytes as usize;
        let mut bytes = vec![0; len + 8];
        match self.file.read_exact_at(&mut bytes[..len], entry.offset) {
            Ok(()) if xxh3_64(&bytes[..len]) == entry.sum => Ok(bytes),
            Err(error) if error.kind() != std::io::ErrorKind::UnexpectedEof => Err(Problem::Unreadable(error)),
            _ => Err(Problem::Changed(entry.offset)),
        }
    }
}

impl Run {
    /// Whether all that was read is what was written. To be asked before what was read is used.
    ///
    /// # Errors
    /// [`Error::Changed`], [`Error::Io`].
    pub fn sound(&self) -> Result<()> {
        match self.spill.problem.get() {
            None => Ok(()),
            Some(Problem::Unreadable(error)) => {
                let again = std::io::Error::new(error.kind(), error.to_string());
                Err(Error::io("read", &self.spill.path)(again))
            }
            Some(Problem::Changed(offset)) => {
                let what = format!("its bytes from {offset} on are not what gamut wrote there");
                Err(Error::Changed { path: self.spill.path.clone(), what })
            }
        }
    }

    /// Decodes frame `i` into `keys` (cleared first), as (termID, global docID, tf); nothing, if it cannot be read.
    fn decode(&self, i: usize, out: &mut Vec<Posting>) {
        out.clear();
        let entry = self.frames[i];
        let bytes = match self.spill.frame(&entry) {
            Ok(bytes) => bytes,
            Err(problem) => {
                // Another thread may have found one before.
                let _ = self.spill.problem.set(problem);
                return;
            }
        };
        let bytes = &bytes[..];
        let terms = u32::from_le_bytes(*bytes.first_chunk().expect("a frame has a header")) as usize;
        let widths: [u32; 4] = std::array::from_fn(|c| u32::from(bytes[4 + c]));
        let mut gaps = BitReader { bytes, bit: 64 };
        let after = |bits: &BitReader<'_>, n: usize, width: u32| {
            let mut next = BitReader { bytes, bit: bits.bit + n * width as usize };
            next.align();
            next
        };
        let mut counts = after(&gaps, terms, widths[0]);
        let mut docs = after(&counts, terms, widths[1]);
        let mut tfs = after(&docs, entry.keys as usize, widths[2]);
        let mut term = (entry.first_key >> 32) as u32;
        for _ in 0..terms {
            term += gaps.get(widths[0]);
            let mut doc = self.first_doc;
            for _ in 0..counts.get(widths[1]) {
                doc += docs.get(widths[2]);
                out.push(Posting { term, doc, tf: tfs.get(widths[3]) + 1 });
            }
        }
    }

    /// A cursor at the first posting whose termID is at least `term`.
    pub fn seek(&self, term: u32) -> RunCursor<'_> {
        let key = u64::from(term) << 32;
        // The frame before the first one that starts at or after the key may hold it.
        let frame = self.frames.partition_point(|f| f.first_key < key).saturating_sub(1);
        let mut cursor = RunCursor { run: self, next_frame: frame, postings: Vec::with_capacity(FRAME), at: 0 };
        while cursor.peek().is_some_and(|p| p.term < term) {
            cursor.at += 1;
        }
        cursor
    }
}

/// One decoded key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Posting {
    /// TermID.
    pub term: u32,
    /// Global docID.
    pub doc: u32,
    /// 1 to 255; larger frequencies take several postings.
    pub tf: u32,
}

/// Walks a run from some termID on.
pub struct RunCursor<'a> {
    run: &'a Run,
    next_frame: usize,
    postings: Vec<Posting>,
    at: usize,
}

impl RunCursor<'_> {
    /// The posting here, or `None` at the run's end.
    #[inline]
    pub fn peek(&mut self) -> Option<Posting> {
        if self.at == self.postings.len() {
            if self.next_frame == self.run.frames.len() {
                return None;
            }
            self.run.decode(self.next_frame, &mut self.postings);
            self.next_frame += 1;
            self.at = 0;
        }
        self.postings.get(self.at).copied()
    }

    /// Steps past all postings of `term`, handing each to `take`.
    #[inline]
    pub fn drain_term(&mut self, term: u32, mut take: impl FnMut(u32, u32)) {
        while self.peek().is_some_and(|p| p.term == term) {
            let rest = &self.postings[self.at..];
            let mut n = 0;
            for posting in rest {
                if posting.term != term {
                    break;
                }
                take(posting.doc, posting.tf);
                n += 1;
            }
            self.at += n;
        }
    }
}

#[cfg(test)]
mod tests;
