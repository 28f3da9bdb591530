//! Bytes → decoded lines, as they come.

use crate::{Error, Result};
use encoding_rs::{CoderResult, Decoder, Encoding, WINDOWS_1252};
use std::io::{self, BufRead, BufReader, Read};

/// Most bytes of a line.
const MAX_LINE: u64 = 64 << 20;

/// Bytes that are read at a time.
const BUFFER: usize = 256 << 10;

/// Lines of a file, without gzip, zstd or bzip2. Each is UTF-8, or else Windows-1252; a byte order mark decides for the
/// whole file.
pub(super) struct Lines<'a> {
    source: Box<dyn BufRead + Send + 'a>,
    packed: Option<&'static str>,
    raw: Vec<u8>,
    /// Of the last line that was read, from 1.
    number: u64,
}

/// An error of the whole file.
pub(super) fn bad(why: String) -> Error {
    Error::Invalid { what: "the file of topics".to_owned(), why }
}

/// The first `count` bytes, or all if there are fewer, and everything from the start.
fn peek<'a>(mut source: impl Read + Send + 'a, count: u64) -> io::Result<(Vec<u8>, impl Read + Send + 'a)> {
    let mut start = Vec::new();
    source.by_ref().take(count).read_to_end(&mut start)?;
    Ok((start.clone(), io::Cursor::new(start).chain(source)))
}

/// The content, and by what it was packed.
fn unpacked<'a>(source: impl Read + Send + 'a) -> io::Result<(Option<&'static str>, Box<dyn Read + Send + 'a>)> {
    let (start, source) = peek(source, 4)?;
    Ok(match start[..] {
        [0x1f, 0x8b, ..] => (Some("gzip"), Box::new(flate2::read::MultiGzDecoder::new(source))),
        [0x28, 0xb5, 0x2f, 0xfd] => (Some("zstd"), Box::new(zstd::stream::read::Decoder::new(source)?)),
        [b'B', b'Z', b'h', b'1'..=b'9'] => (Some("bzip2"), Box::new(bzip2::read::MultiBzDecoder::new(source))),
        _ => (None, Box::new(source)),
    })
}

fn decoded<'a>(source: impl Read + Send + 'a) -> io::Result<Box<dyn BufRead + Send + 'a>> {
    let (start, mut source) = peek(source, 3)?;
    let Some((encoding, mark)) = Encoding::for_bom(&start) else {
        return Ok(Box::new(BufReader::with_capacity(BUFFER, source)));
    };
    io::copy(&mut source.by_ref().take(mark as u64), &mut io::sink())?;
    Ok(Box::new(BufReader::with_capacity(BUFFER, Decoded::new(source, encoding))))
}

impl<'a> Lines<'a> {
    /// # Errors
    /// [`Error::Invalid`] if the first bytes cannot be read.
    pub(super) fn new(source: impl Read + Send + 'a) -> Result<Self> {
        let source = BufReader::with_capacity(BUFFER, source);
        let (packed, source) = unpacked(source).map_err(|error| unread(&error, None))?;
        let source = decoded(source).map_err(|error| unread(&error, packed))?;
        Ok(Self { source, packed, raw: Vec::new(), number: 0 })
    }

    /// Appends the next line with its end; false if there is none.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the file cannot be read, if it does not unpack, or for a line of more than 64 MiB.
    pub(super) fn append_to(&mut self, text: &mut String) -> Result<bool> {
        self.raw.clear();
        let read = self.source.by_ref().take(MAX_LINE + 1).read_until(b'\n', &mut self.raw);
        let read = read.map_err(|error| unread(&error, self.packed))?;
        if read as u64 > MAX_LINE {
            return Err(bad(format!("has more than {MAX_LINE} bytes in line {}", self.number + 1)));
        }
        self.number += u64::from(read > 0);
        match std::str::from_utf8(&self.raw) {
            Ok(line) => text.push_str(line),
            Err(_) => text.push_str(&WINDOWS_1252.decode_without_bom_handling(&self.raw).0),
        }
        Ok(read > 0)
    }

    /// The number of the last line, from 1.
    pub(super) fn number(&self) -> u64 {
        self.number
    }
}

fn unread(error: &io::Error, packed: Option<&str>) -> Error {
    match packed {
        Some(packed) => bad(format!("is {packed} that does not unpack: {error}")),
        None => bad(format!("cannot be read: {error}")),
    }
}

/// Another encoding as UTF-8.
struct Decoded<R> {
    source: R,
    decoder: Decoder,
    raw: Vec<u8>,
    /// The part of `raw` that is not decoded yet.
    left: std::ops::Range<usize>,
    text: Vec<u8>,
    /// The part of `text` that nobody took yet.
    ready: std::ops::Range<usize>,
    /// `source` has no more.
    ended: bool,
    /// The decoder has given everything.
    done: bool,
}

impl<R: Read> Decoded<R> {
    fn new(source: R, encoding: &'static Encoding) -> Self {
        let decoder = encoding.new_decoder_without_bom_handling();
        let [raw, text] = [vec![0; BUFFER], vec![0; BUFFER]];
        Self { source, decoder, raw, left: 0..0, text, ready: 0..0, ended: false, done: false }
    }
}

impl<R: Read> Read for Decoded<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.ready.is_empty() && !self.done {
            if self.left.is_empty() && !self.ended {
                self.left = 0..self.source.read(&mut self.raw)?;
                self.ended = self.left.is_empty();
            }
            let raw = &self.raw[self.left.clone()];
            let (result, read, written, _) = self.decoder.decode_to_utf8(raw, &mut self.text, self.ended);
            self.left.start += read;
            self.ready = 0..written;
            self.done = self.ended && result == CoderResult::InputEmpty;
        }
        let count = out.len().min(self.ready.len());
        out[..count].copy_from_slice(&self.text[self.ready.start..][..count]);
        self.ready.start += count;
        Ok(count)
    }
}
