//! The file of a share: encoded lists on their way from one process to another.
//!
//! ```text
//! [8 bytes: "gamutls2"] [header: 14 words] [XXH3 of both: 2 words]
//! per batch: [words that follow: 2] [XXH3 of them: 2] [words]
//! ```
//!
//! The header: what the lists were made of (4 words), the share's number and how many there are, first termID and the
//! one behind the last, batches (2), postings (2), and 2 words of 0. A batch: first termID, numbers of rows, of words
//! of frequencies and of codecs; 8 words for each row; the frequencies; and for each codec numbers of words, lists and
//! skip entries, and then these: words, words of each list, skip entries, and how many each list has.
//!
//! Words are little-endian. The file is not synced: what a crash leaves of it does not match its checksums.

use super::share::Share;
use crate::codec::Skip;
use crate::error::damaged;
use crate::index::EncodedLists;
use crate::index::format::tables::TermRow;
use crate::index::write::encode::EncodedCodec;
use crate::score::bound::Bound;
use crate::{Error, Result};
use std::fs::File;
use std::io::{ErrorKind, Read as _, Write as _};
use std::ops::Range;
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::xxh3_64;

const MAGIC: &[u8; 8] = b"gamutls2";
const HEADER: usize = 8 + 56 + 8;
/// Words of a row.
const ROW: usize = 8;

/// What a file says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Header {
    /// What the lists were made of.
    pub identity: u128,
    pub share: Share,
    pub terms: Range<u32>,
    pub batches: u64,
    pub postings: u64,
}

impl Header {
    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(self.identity.to_le_bytes());
        for number in [self.share.number(), self.share.of(), self.terms.start, self.terms.end] {
            bytes.extend(number.to_le_bytes());
        }
        for number in [self.batches, self.postings, 0] {
            bytes.extend(number.to_le_bytes());
        }
        let sum = xxh3_64(&bytes);
        bytes.extend(sum.to_le_bytes());
        bytes
    }

    /// Reads what [`Self::to_bytes`] gives; `None` if it is something else.
    fn of_bytes(bytes: &[u8; HEADER]) -> Option<Self> {
        let (rest, sum) = bytes.split_last_chunk()?;
        if u64::from_le_bytes(*sum) != xxh3_64(rest) {
            return None;
        }
        let (identity, rest) = rest.strip_prefix(MAGIC)?.split_first_chunk()?;
        let (numbers, rest) = rest.split_first_chunk::<16>()?;
        let [number, of, start, end] = std::array::from_fn(|i| word(&numbers[4 * i..]));
        let [batches, postings] = std::array::from_fn(|i| wide(&rest[8 * i..]));
        let identity = u128::from_le_bytes(*identity);
        Some(Self { identity, share: Share::new(number, of).ok()?, terms: start..end, batches, postings })
    }
}

fn word(bytes: &[u8]) -> u32 {
    bytes.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

fn wide(bytes: &[u8]) -> u64 {
    bytes.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// Writes a file.
pub(super) struct Writer {
    path: PathBuf,
    file: File,
    /// Of a batch.
    words: Vec<u32>,
    pub bytes: u64,
}

impl Writer {
    pub(super) fn create(path: &Path, header: &Header) -> Result<Self> {
        let mut file = File::create(path).map_err(Error::io("create", path))?;
        let bytes = header.to_bytes();
        file.write_all(&bytes).map_err(Error::io("write", path))?;
        Ok(Self { path: path.to_owned(), file, words: Vec::new(), bytes: bytes.len() as u64 })
    }

    pub(super) fn append(&mut self, lists: &EncodedLists) -> Result<()> {
        let words = &mut self.words;
        words.clear();
        put(lists, words);
        words.iter_mut().for_each(|word| *word = word.to_le());
        let bytes: &[u8] = bytemuck::cast_slice(words);
        let frame = [(words.len() as u64).to_le_bytes(), xxh3_64(bytes).to_le_bytes()].concat();
        let written = self.file.write_all(&frame).and_then(|()| self.file.write_all(bytes));
        self.bytes += (frame.len() + bytes.len()) as u64;
        written.map_err(Error::io("write", &self.path))
    }
}

fn put(lists: &EncodedLists, out: &mut Vec<u32>) {
    out.extend([lists.first_term, lists.rows.len() as u32, lists.tf.len() as u32, lists.codecs.len() as u32]);
    for row in &lists.rows {
        let TermRow { df, tf_max, cf, bound, doc, tf_at } = *row;
        out.extend([df, tf_max, cf as u32, (cf >> 32) as u32, bound.0, doc, tf_at as u32, (tf_at >> 32) as u32]);
    }
    out.extend_from_slice(&lists.tf);
    for codec in &lists.codecs {
        let EncodedCodec { words, lens, skips, skip_lens } = codec;
        out.extend([words.len() as u32, lens.len() as u32, skips.len() as u32]);
        [&words[..], lens, bytemuck::cast_slice(skips), skip_lens]
            .iter()
            .for_each(|words| out.extend_from_slice(words));
    }
}

/// The lists of a batch; `None` if they do not fit each other.
fn take(mut words: &[u32]) -> Option<EncodedLists> {
    let mut next = |count: usize| words.split_off(..count);
    let &[first_term, rows, tf, codecs] = next(4)?.first_chunk()?;
    let wide = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
    let rows = next(ROW.checked_mul(rows as usize)?)?.as_chunks::<ROW>().0.iter();
    let rows: Vec<TermRow> = rows
        .map(|&[df, tf_max, cf, more, bound, doc, tf_at, high]| TermRow {
            df,
            tf_max,
            cf: wide(cf, more),
            bound: Bound(bound),
            doc,
            tf_at: wide(tf_at, high),
        })
        .collect();
    let tf = next(tf as usize)?.to_vec();
    let mut lists = EncodedLists { first_term, rows, tf, codecs: Vec::new() };
    for _ in 0..codecs {
        let &[words, count, skips] = next(3)?.first_chunk()?;
        let words = next(words as usize)?.to_vec();
        let lens = next(count as usize)?.to_vec();
        let skips = bytemuck::cast_slice::<u32, Skip>(next(3usize.checked_mul(skips as usize)?)?).to_vec();
        let skip_lens = next(count as usize)?.to_vec();
        lists.codecs.push(EncodedCodec { words, lens, skips, skip_lens });
    }
    (words.is_empty() && fits(&lists)).then_some(lists)
}

/// Whether the numbers of a batch say of its parts what these have, so that they can be appended.
fn fits(lists: &EncodedLists) -> bool {
    let long = lists.rows.iter().filter(|row| row.df > 1);
    let count = long.clone().count();
    let sum = |lens: &[u32]| lens.iter().map(|&len| u64::from(len)).sum::<u64>();
    let tf = long.fold(0u64, |sum, row| sum.saturating_add(row.tf_at));
    tf == lists.tf.len() as u64
        && lists.rows.iter().all(|row| row.df > 0)
        && lists.codecs.iter().all(|codec| {
            codec.lens.len() == count
                && sum(&codec.lens) == codec.words.len() as u64
                && sum(&codec.skip_lens) == codec.skips.len() as u64
        })
}

/// Reads a file, batch by batch.
pub(super) struct Reader {
    path: PathBuf,
    file: File,
    pub header: Header,
    /// Where the next batch begins, and bytes from there on.
    at: u64,
    left: u64,
    words: Vec<u32>,
}

impl Reader {
    /// Opens a file.
    ///
    /// # Errors
    /// [`Error::Invalid`] if it is something else, [`Error::Damaged`], [`Error::Io`].
    pub(super) fn open(path: &Path) -> Result<Self> {
        let other = |why: &str| Error::Invalid { what: path.display().to_string(), why: why.to_owned() };
        let mut file = File::open(path).map_err(Error::io("open", path))?;
        let meta = file.metadata().map_err(Error::io("look at", path))?;
        if !meta.is_file() {
            return Err(other("is no file of lists, such as `gamut merge --lists` writes"));
        }
        let mut bytes = [0; HEADER];
        match file.read_exact(&mut bytes) {
            Err(error) if error.kind() != ErrorKind::UnexpectedEof => return Err(Error::io("read", path)(error)),
            _ if !bytes.starts_with(MAGIC) => {
                return Err(other(
                    "is no file of lists of this version of gamut, such as `gamut merge --lists` writes",
                ));
            }
            _ => {}
        }
        let header = Header::of_bytes(&bytes).ok_or_else(|| damaged(path, 0, AGAIN))?;
        let at = HEADER as u64;
        Ok(Self { path: path.to_owned(), file, header, at, left: meta.len() - at, words: Vec::new() })
    }

    /// The next batch; `None` behind the last one.
    ///
    /// # Errors
    /// [`Error::Damaged`], [`Error::Io`].
    pub(super) fn next(&mut self) -> Result<Option<EncodedLists>> {
        if self.header.batches == 0 {
            return if self.left == 0 { Ok(None) } else { Err(self.bad()) };
        }
        self.header.batches -= 1;
        let mut frame = [0; 16];
        self.left = self.left.checked_sub(16).ok_or_else(|| self.bad())?;
        self.read(|file| file.read_exact(&mut frame))?;
        let (count, sum) = (wide(&frame), wide(&frame[8..]));
        let bytes = count.checked_mul(4).filter(|&bytes| bytes <= self.left).ok_or_else(|| self.bad())?;
        let mut words = std::mem::take(&mut self.words);
        words.resize(count as usize, 0);
        self.read(|file| file.read_exact(bytemuck::cast_slice_mut(&mut words)))?;
        if xxh3_64(bytemuck::cast_slice(&words)) != sum {
            return Err(self.bad());
        }
        words.iter_mut().for_each(|word| *word = u32::from_le(*word));
        let lists = take(&words).ok_or_else(|| self.bad())?;
        self.words = words;
        self.left -= bytes;
        self.at += 16 + bytes;
        Ok(Some(lists))
    }

    /// Where it lies.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    fn read(&mut self, read: impl FnOnce(&mut File) -> std::io::Result<()>) -> Result<()> {
        read(&mut self.file).map_err(|error| match error.kind() {
            ErrorKind::UnexpectedEof => self.bad(),
            _ => Error::io("read", &self.path)(error),
        })
    }

    /// The error of a batch that is not what it was.
    pub(super) fn bad(&self) -> Error {
        damaged(&self.path, self.at, AGAIN)
    }
}

const AGAIN: &str = "these lists are not what gamut wrote; make the file again with `gamut merge --lists`";
