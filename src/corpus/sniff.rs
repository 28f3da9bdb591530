//! The first look at a file.

use std::fs::File;
use std::io::{Read as _, Seek as _};
use std::path::Path;

use encoding_rs::{Encoding, UTF_16BE, UTF_16LE};

use super::format::{Cut, Format, Frame, Head};
use super::formats::text;
use super::members::{Compression, Dictionary, Stream, dictionary};
use crate::{Error, Result};

/// How much of a file is inflated to detect its format.
pub(super) const HEAD: usize = 64 << 10;

/// How much of a file is read to detect its format: bzip2 says nothing before a block of up to 900 kB; a dictionary may
/// be as large, and so may junk before the first record.
pub(super) const RAW: usize = 2 << 20;

/// How much of it is read first. More is seldom needed, and a crawl has tens of thousands of files.
const FIRST: usize = 2 * HEAD;

/// How many places behind junk are looked at.
const TRIES: usize = 64;

/// What a file starts with.
pub(super) struct Look {
    /// Size on disk.
    pub bytes: u64,
    pub compression: Compression,
    pub utf16: Option<&'static Encoding>,
    /// The first inflated bytes, as UTF-8 if the file is UTF-16.
    pub head: Vec<u8>,
    /// True if there are no more.
    pub complete: bool,
    /// Where the bytes behind the last damage begin there, if some is damaged: those before it may be anything.
    pub behind_damage: Option<usize>,
    /// Of a zstd file.
    pub dictionary: Option<Dictionary>,
    file: File,
}

/// Adds bytes of a file, up to so many in all.
fn read_to(file: &File, path: &Path, most: usize, raw: &mut Vec<u8>) -> Result<()> {
    let missing = most.saturating_sub(raw.len()) as u64;
    file.take(missing).read_to_end(raw).map(drop).map_err(Error::io("read", path))
}

/// Reads and inflates the first bytes of a file.
pub(super) fn look(path: &Path) -> Result<Look> {
    let file = File::open(path).map_err(Error::io("open", path))?;
    let bytes = file.metadata().map_err(Error::io("read", path))?.len();
    let mut raw = Vec::new();
    read_to(&file, path, FIRST, &mut raw)?;
    let compression = Compression::sniff(&raw);
    if matches!(compression, Compression::Zstd | Compression::Bzip2) {
        read_to(&file, path, RAW, &mut raw)?;
    }
    let dictionary = if compression == Compression::Zstd { dictionary(&raw) } else { None };
    let (head, mut complete, behind_damage) = match compression {
        Compression::None => (raw[..raw.len().min(HEAD)].to_vec(), raw.len() <= HEAD, None),
        coding => {
            let mut inflated = inflate(coding, dictionary.as_ref(), &raw);
            let read = raw.len();
            if inflated.0.len() < HEAD {
                read_to(&file, path, RAW, &mut raw)?;
            }
            if raw.len() > read {
                inflated = inflate(coding, dictionary.as_ref(), &raw);
            }
            inflated
        }
    };
    complete &= bytes == raw.len() as u64;
    let utf16 = match head.get(..2) {
        Some([0xff, 0xfe]) => Some(UTF_16LE),
        Some([0xfe, 0xff]) => Some(UTF_16BE),
        _ => None,
    };
    let head = match utf16 {
        Some(encoding) => encoding.decode(&head).0.into_owned().into_bytes(),
        None => head,
    };
    let behind_damage = behind_damage.filter(|_| utf16.is_none());
    Ok(Look { bytes, compression, utf16, head, complete, behind_damage, dictionary, file })
}

impl Look {
    /// Looks behind junk, in a file that begins with nothing known, for the first compressed member with records of one
    /// of the formats, or else for the first unmistakable record.
    ///
    /// # Errors
    /// [`Error::Io`] for the file at `path`, which is this one.
    pub(super) fn behind_junk(
        &self,
        path: &Path,
        formats: &[&'static dyn Format],
    ) -> Result<Option<(Compression, &'static dyn Format)>> {
        let mut raw = Vec::new();
        (&self.file).rewind().map_err(Error::io("read", path))?;
        read_to(&self.file, path, RAW, &mut raw)?;
        Ok(self.in_raw(&raw, formats))
    }

    fn in_raw(&self, raw: &[u8], formats: &[&'static dyn Format]) -> Option<(Compression, &'static dyn Format)> {
        let mut head = vec![0; HEAD];
        for coding in [Compression::Gzip, Compression::Zstd, Compression::Bzip2] {
            let mut from = 1;
            for _ in 0..TRIES {
                let Some(at) = coding.find_header(raw, from, raw.len()) else {
                    break;
                };
                let produced = match Stream::new(coding, None).pull(&raw[at..], &mut head) {
                    Ok(pulled) => pulled.produced,
                    Err(broken) => broken.produced,
                };
                let inner = Head { bytes: &head[..produced], complete: false };
                if let Some(format) = formats.iter().find(|format| format.cut() != Cut::File && format.sniff(&inner)) {
                    return Some((coding, *format));
                }
                from = at + 1;
            }
        }
        let is_text = text::looks_like_text(raw);
        formats.iter().filter(|format| format.is_unmistakable()).find_map(|&format| {
            let at = format.find_head(raw, raw.len())?;
            // A text may quote a head, but hardly a whole record.
            let at_end = raw.len() as u64 == self.bytes;
            let whole = || matches!(format.frame(&raw[at..], at_end, RAW), Frame::Record { .. });
            (!is_text || whole()).then_some((Compression::None, format))
        })
    }
}

/// The first inflated bytes, out of as many members as it takes, whether that is all, and where those behind the last
/// damage begin.
fn inflate(coding: Compression, dictionary: Option<&Dictionary>, raw: &[u8]) -> (Vec<u8>, bool, Option<usize>) {
    let mut head = vec![0; HEAD];
    let (mut at, mut filled) = (0, 0);
    let mut behind_damage = None;
    while coding.at_header(&raw[at..]) && filled < HEAD {
        match Stream::new(coding, dictionary).pull(&raw[at..], &mut head[filled..]) {
            Ok(pulled) => {
                filled += pulled.produced;
                at += pulled.used;
                if !pulled.done {
                    break;
                }
            }
            Err(broken) => {
                filled += broken.produced;
                behind_damage = Some(filled);
                match coding.find_header(raw, at + 1, raw.len()) {
                    Some(next) => at = next,
                    None => break,
                }
            }
        }
    }
    head.truncate(filled);
    (head, filled < HEAD && behind_damage.is_none(), behind_damage)
}
