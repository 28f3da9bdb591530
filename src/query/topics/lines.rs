//! Bytes → decoded lines, as they come.

use crate::base::text_file::{self, TextFile};
use crate::{Error, Result};
use std::io::{self, BufRead, Read};

/// Most bytes of a line.
const MAX_LINE: u64 = 64 << 20;

/// Lines of a file, without gzip, zstd or bzip2. Each is UTF-8, or else Windows-1252; a byte order mark decides for the
/// whole file.
pub(super) struct Lines<'a> {
    file: TextFile<'a>,
    raw: Vec<u8>,
    /// Of the last line that was read, from 1.
    number: u64,
}

/// An error of the whole file.
pub(super) fn bad(why: String) -> Error {
    Error::Invalid { what: "the file of topics".to_owned(), why }
}

impl<'a> Lines<'a> {
    /// # Errors
    /// [`Error::Invalid`] if the first bytes cannot be read.
    pub(super) fn new(source: impl Read + Send + 'a) -> Result<Self> {
        let file = text_file::open(source).map_err(|(packed, error)| unread(&error, packed))?;
        Ok(Self { file, raw: Vec::new(), number: 0 })
    }

    /// Appends the next line with its end; false if there is none.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the file cannot be read, if it does not unpack, or for a line of more than 64 MiB.
    pub(super) fn append_to(&mut self, text: &mut String) -> Result<bool> {
        self.raw.clear();
        let read = self.file.text.by_ref().take(MAX_LINE + 1).read_until(b'\n', &mut self.raw);
        let read = read.map_err(|error| unread(&error, self.file.packed))?;
        if read as u64 > MAX_LINE {
            return Err(bad(format!("has more than {MAX_LINE} bytes in line {}", self.number + 1)));
        }
        self.number += u64::from(read > 0);
        text.push_str(&text_file::line(&self.raw));
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
