//! The first look at a file.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use encoding_rs::{Encoding, UTF_16BE, UTF_16LE};

use super::members::{Compression, Dictionary, Stream, dictionary};
use crate::{Error, Result};

/// How much of a file is inflated to see what it is.
const HEAD: usize = 64 << 10;

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
    /// Of a zstd file.
    pub dictionary: Option<Dictionary>,
}

/// Reads and inflates the first bytes of a file.
pub(super) fn look(path: &Path) -> Result<Look> {
    let file = File::open(path).map_err(Error::io("open", path))?;
    let bytes = file.metadata().map_err(Error::io("read", path))?.len();
    let mut raw = Vec::new();
    // bzip2 needs a block of up to 900 kB to say anything; a dictionary may be as large.
    file.take(2 << 20).read_to_end(&mut raw).map_err(Error::io("read", path))?;
    let compression = Compression::sniff(&raw);
    let dictionary = if compression == Compression::Zstd { dictionary(&raw) } else { None };
    let (head, mut complete) = match compression {
        Compression::None => (raw[..raw.len().min(HEAD)].to_vec(), raw.len() <= HEAD),
        coding => inflate(coding, dictionary.as_ref(), &raw),
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
    Ok(Look { bytes, compression, utf16, head, complete, dictionary })
}

/// The first inflated bytes, out of as many members as it takes, and whether that is all.
fn inflate(coding: Compression, dictionary: Option<&Dictionary>, raw: &[u8]) -> (Vec<u8>, bool) {
    let mut head = vec![0; HEAD];
    let (mut at, mut filled) = (0, 0);
    let mut damaged = false;
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
                damaged = true;
                match coding.find_header(raw, at + 1, raw.len()) {
                    Some(next) => at = next,
                    None => break,
                }
            }
        }
    }
    head.truncate(filled);
    (head, filled < HEAD && !damaged)
}
