//! A file from front to back: plain, or as gzip or zstd inflate it. What it is shows in its first bytes.

use super::wire::{Bad, MAX_VARINT, varint};
use crate::base::gzip::Members;
use crate::base::map::Map;
use crate::base::text_file::is_zstd;
use crate::error::damaged;
use crate::{Error, Result};
use std::io::{self, BufRead, Read};
use std::path::Path;

/// Bytes that are asked for at a time.
const STEP: usize = 1 << 18;

/// Compressed bytes after which memory gives them back.
const RELEASE: usize = 8 << 20;

/// A file that can be read from its front any number of times.
pub(super) struct CiffFile {
    map: Map,
    path: std::path::PathBuf,
    compression: Compression,
}

/// How the file is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Compression {
    None,
    Gzip,
    Zstd,
}

impl CiffFile {
    pub(super) fn open(path: &Path) -> Result<Self> {
        let meta = std::fs::metadata(path).map_err(Error::io("open", path))?;
        if !meta.is_file() {
            let why = match meta.is_dir() {
                true => "is a directory; name a CIFF file",
                false => "is no file; a CIFF file is read twice, so write a pipe's content to a file first",
            };
            return Err(Error::Invalid { what: path.display().to_string(), why: why.to_owned() });
        }
        if meta.len() == 0 {
            return Err(damaged(path, 0, "the file is empty; a CIFF file begins with a header"));
        }
        let map = Map::open(path).map_err(Error::io("map", path))?;
        map.advise_sequential();
        let compression = match &map[..] {
            [0x1f, 0x8b, ..] => Compression::Gzip,
            start if is_zstd(start) => Compression::Zstd,
            _ => Compression::None,
        };
        Ok(Self { map, path: path.to_owned(), compression })
    }

    /// Bytes on disk.
    pub(super) fn bytes(&self) -> u64 {
        self.map.len() as u64
    }

    /// The whole content, if it is not compressed.
    pub(super) fn plain(&self) -> Option<&[u8]> {
        (self.compression == Compression::None).then_some(&self.map[..])
    }

    /// Reads from the front.
    pub(super) fn read(&self) -> Result<Source<'_>> {
        let input: Option<Box<dyn Read + Send + '_>> = match self.compression {
            Compression::None => None,
            Compression::Gzip => Some(Box::new(Members::new(Walk::new(&self.map)))),
            Compression::Zstd => {
                let decoder = zstd::stream::read::Decoder::with_buffer(Walk::new(&self.map));
                Some(Box::new(decoder.map_err(Error::io("inflate", &self.path))?))
            }
        };
        Ok(Source { file: self, input, buffer: Vec::new(), start: 0, end: 0, offset: 0 })
    }

    /// The error for something wrong at a byte of the content.
    pub(super) fn bad(&self, offset: u64, what: impl Into<String>) -> Error {
        let what = what.into();
        match self.compression {
            Compression::None => damaged(&self.path, offset, what),
            _ => damaged(&self.path, offset, format!("{what} (the byte is one of the inflated content)")),
        }
    }

    /// If the file is no longer what it was, that is the cause of any error.
    pub(super) fn cause(&self, error: Error) -> Error {
        self.map.watch().unchanged().err().map_or(error, Into::into)
    }

    /// A part of the content will not be read again soon, so it need not be in memory.
    pub(super) fn release(&self, from: u64, to: u64) {
        if self.plain().is_some() {
            self.map.release(from as usize, to as usize);
        }
    }

    /// Whether the file is what it was.
    pub(super) fn unchanged(&self) -> Result<()> {
        Ok(self.map.watch().unchanged()?)
    }
}

/// Walks through a compressed file. What lies behind it need not be in memory.
struct Walk<'a> {
    map: &'a Map,
    at: usize,
    released: usize,
}

impl<'a> Walk<'a> {
    fn new(map: &'a Map) -> Self {
        Self { map, at: 0, released: 0 }
    }
}

impl BufRead for Walk<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        let end = self.map.len().min(self.at + STEP);
        Ok(&self.map[self.at..end])
    }

    fn consume(&mut self, used: usize) {
        self.at = self.map.len().min(self.at + used);
        if self.at - self.released >= RELEASE {
            self.map.release(self.released, self.at);
            self.released = self.at;
        }
    }
}

impl Read for Walk<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let read = self.fill_buf()?.read(out)?;
        self.consume(read);
        Ok(read)
    }
}

/// The content of a file, as far as it was read.
pub(super) struct Source<'a> {
    file: &'a CiffFile,
    input: Option<Box<dyn Read + Send + 'a>>,
    /// What was inflated and is not used yet: from `start` to `end`.
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// Where the next byte is, in the content.
    offset: u64,
}

/// A message: where its content is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Message {
    /// Where its length stands.
    pub at: u64,
    /// Where its content begins.
    pub start: u64,
    /// Bytes of its content.
    pub len: u64,
}

impl<'a> Source<'a> {
    /// Where the next byte is, in the content.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// The next `n` bytes, which are not used up; fewer only at the end of the content. Memory grows with what is
    /// there, not with what is asked for.
    pub(super) fn peek(&mut self, n: usize) -> Result<&[u8]> {
        let Some(input) = &mut self.input else {
            let rest = self.file.map.get(self.offset as usize..).unwrap_or_default();
            return Ok(&rest[..n.min(rest.len())]);
        };
        if self.end - self.start < n {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
            while self.end < n {
                if self.buffer.len() < self.end + STEP {
                    self.buffer.resize(self.end + STEP.max(self.end / 2), 0);
                }
                match input.read(&mut self.buffer[self.end..]) {
                    Ok(0) => break,
                    Ok(read) => self.end += read,
                    Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                    Err(error) => {
                        let at = self.offset + self.end as u64;
                        return Err(self.file.bad(at, format!("the compressed data is damaged or cut short: {error}")));
                    }
                }
            }
        }
        Ok(&self.buffer[self.start..self.end.min(self.start + n)])
    }

    /// Uses up `n` bytes; returns how many there were.
    pub(super) fn skip(&mut self, n: u64) -> Result<u64> {
        if self.input.is_none() {
            let skipped = n.min(self.file.map.len() as u64 - self.offset);
            self.offset += skipped;
            return Ok(skipped);
        }
        let mut left = n;
        while left > 0 {
            let there = self.peek(left.min(STEP as u64) as usize)?.len();
            if there == 0 {
                break;
            }
            self.start += there;
            self.offset += there as u64;
            left -= there as u64;
        }
        Ok(n - left)
    }

    /// The length of the next message, used up; `None` at the end of the content. Its content may be cut short.
    pub(super) fn message(&mut self) -> Result<Option<Message>> {
        let at = self.offset;
        let head = self.peek(MAX_VARINT)?;
        if head.is_empty() {
            return Ok(None);
        }
        let mut used = 0;
        let read = varint(head, &mut used);
        let len = read.map_err(|Bad { what, .. }| self.file.bad(at, format!("the length of a message: {what}")))?;
        self.skip(used as u64)?;
        Ok(Some(Message { at, start: self.offset, len }))
    }

    /// The whole content of a message that was begun, not used up; the error says what is there.
    pub(super) fn content(&mut self, message: Message) -> Result<&[u8]> {
        let file = self.file;
        let wanted = usize::try_from(message.len).unwrap_or(usize::MAX);
        let found = self.peek(wanted)?;
        if found.len() < wanted {
            return Err(file.cut_short(message, found.len() as u64));
        }
        Ok(found)
    }
}

impl CiffFile {
    /// The error for a message of which there are only so many bytes.
    pub(super) fn cut_short(&self, message: Message, there: u64) -> Error {
        let len = message.len;
        self.bad(message.at, format!("a message of {len} bytes begins here, but the file ends {there} bytes behind it"))
    }
}
