//! Documents in the order of their docids, however their records come.
//!
//! Records go to a file, because names may be more than memory holds; of each document memory keeps its docid. Known
//! writers give them in the order of their docids.

use super::messages::Record;
use crate::index::{DocTable, DocTableWriter};
use crate::{Error, Result};
use std::fs::File;
use std::io::{BufReader, BufWriter, Read as _, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

/// Numbers in front of an id: where the record begins in the CIFF file (8 bytes), docid, doclength, bytes of the id.
const HEAD: usize = 20;

/// Which docID a document of the file has in the index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum DocIds {
    /// The same; there are so many.
    Same(u32),
    /// Its place among these.
    Places(Vec<u32>),
}

impl DocIds {
    /// The docID; `None` if no record has this docid. Docids of one list increase, and so does `place`, which is 0 for
    /// the first one.
    #[inline(always)]
    pub(super) fn doc(&self, docid: u32, place: &mut usize) -> Option<u32> {
        match self {
            Self::Same(documents) => (docid < *documents).then_some(docid),
            Self::Places(docids) => after(docids, docid, place),
        }
    }
}

/// Gallops from `place` to a docid.
fn after(docids: &[u32], docid: u32, place: &mut usize) -> Option<u32> {
    let rest = docids.get(*place..)?;
    let mut step = 1;
    while rest.get(step).is_some_and(|&other| other < docid) {
        step *= 2;
    }
    let from = step / 2;
    let window = &rest[from.min(rest.len())..rest.len().min(step + 1)];
    let found = from + window.binary_search(&docid).ok()?;
    *place += found;
    Some(*place as u32)
}

/// Takes records as they come.
pub(super) struct Spool {
    path: PathBuf,
    file: BufWriter<File>,
    /// The docid of each, once one is not its number.
    docids: Vec<u32>,
    count: u32,
}

/// Two records with one docid.
pub(super) struct Twice {
    pub docid: u32,
    /// Where the second one begins in the file.
    pub offset: u64,
    /// External ids of both.
    pub ids: [String; 2],
}

impl Spool {
    pub(super) fn create(path: &Path) -> Result<Self> {
        let file = File::options().read(true).write(true).create_new(true).open(path);
        let file = BufWriter::with_capacity(1 << 18, file.map_err(Error::io("create", path))?);
        Ok(Self { path: path.to_owned(), file, docids: Vec::new(), count: 0 })
    }

    pub(super) fn push(&mut self, record: Record<'_>, offset: u64) -> Result<()> {
        let mut head = [0; HEAD];
        head[..8].copy_from_slice(&offset.to_le_bytes());
        head[8..12].copy_from_slice(&record.docid.to_le_bytes());
        head[12..16].copy_from_slice(&record.len.to_le_bytes());
        head[16..].copy_from_slice(&(record.id.len() as u32).to_le_bytes());
        self.file.write_all(&head).map_err(Error::io("write", &self.path))?;
        self.file.write_all(record.id.as_bytes()).map_err(Error::io("write", &self.path))?;
        if record.docid != self.count && self.docids.is_empty() {
            self.docids.extend(0..self.count);
        }
        if record.docid != self.count || !self.docids.is_empty() {
            self.docids.push(record.docid);
        }
        self.count += 1;
        Ok(())
    }

    /// Writes the documents in the order of their docids. The outer error is of the system, the inner one of the
    /// records.
    pub(super) fn write(mut self, mut out: DocTableWriter) -> Result<Result<(DocTable, DocIds), Twice>> {
        self.file.flush().map_err(Error::io("write", &self.path))?;
        let mut put = |(record, id): (Head, String)| {
            // An id that is an address leads to the document.
            let url = if id.contains("://") { id.as_str() } else { "" };
            out.push(&id, url, "", record.len)
        };
        if self.docids.is_sorted_by(|a, b| a < b) {
            self.each(&mut put)?;
        } else {
            let (mut places, mut at) = (Vec::with_capacity(self.docids.len()), 0);
            self.each(&mut |(head, id)| {
                places.push((head.docid, at));
                at += (HEAD + id.len()) as u64;
                Ok(())
            })?;
            places.sort_unstable();
            if let Some(pair) = places.windows(2).find(|pair| pair[0].0 == pair[1].0) {
                let ((_, first), (second, id)) = (self.at(pair[0].1)?, self.at(pair[1].1)?);
                return Ok(Err(Twice { docid: second.docid, offset: second.offset, ids: [first, id] }));
            }
            places.iter().try_for_each(|&(_, at)| put(self.at(at)?))?;
            self.docids.sort_unstable();
        }
        let same = self.docids.last().is_none_or(|&last| last + 1 == self.count);
        let docids = if same { DocIds::Same(self.count) } else { DocIds::Places(self.docids) };
        std::fs::remove_file(&self.path).map_err(Error::io("remove", &self.path))?;
        Ok(Ok((out.finish()?, docids)))
    }

    /// Calls `visit` with every record in the order of their coming.
    fn each(&self, visit: &mut dyn FnMut((Head, String)) -> Result<()>) -> Result<()> {
        let file = File::open(&self.path).map_err(Error::io("open", &self.path))?;
        let mut file = BufReader::with_capacity(1 << 18, file);
        for _ in 0..self.count {
            let mut head = [0; HEAD];
            file.read_exact(&mut head).map_err(Error::io("read", &self.path))?;
            let head = Head::of(&head);
            let mut id = vec![0; head.bytes];
            file.read_exact(&mut id).map_err(Error::io("read", &self.path))?;
            visit((head, String::from_utf8_lossy(&id).into_owned()))?;
        }
        Ok(())
    }

    /// The record at a byte of the file.
    fn at(&self, at: u64) -> Result<(Head, String)> {
        let (file, mut head) = (self.file.get_ref(), [0; HEAD]);
        file.read_exact_at(&mut head, at).map_err(Error::io("read", &self.path))?;
        let head = Head::of(&head);
        let mut id = vec![0; head.bytes];
        file.read_exact_at(&mut id, at + HEAD as u64).map_err(Error::io("read", &self.path))?;
        Ok((head, String::from_utf8_lossy(&id).into_owned()))
    }
}

/// What stands in front of an id.
struct Head {
    offset: u64,
    docid: u32,
    len: u32,
    bytes: usize,
}

impl Head {
    fn of(bytes: &[u8; HEAD]) -> Self {
        let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
        Self {
            offset: u64::from(word(0)) | u64::from(word(4)) << 32,
            docid: word(8),
            len: word(12),
            bytes: (word(16) as usize).min(super::MAX_ID_BYTES),
        }
    }
}

/// The length that Lucene gives back for a code of its one-byte norms (`SmallFloat.byte4ToInt`): exact up to 40, then
/// with four significant bits.
fn lucene_length(code: u8) -> u32 {
    let (code, free) = (u32::from(code), 24);
    if code < free {
        return code;
    }
    let (shift, bits) = ((code - free) >> 3, (code - free) & 7);
    free + if shift == 0 { bits } else { (bits | 8) << (shift - 1) }
}

/// Whether every length is one that Lucene's norms can have, and one is long enough to have been rounded.
pub(super) fn rounded_by_lucene(lens: &[u32]) -> bool {
    let lengths: Vec<u32> = (0..=255).map(lucene_length).collect();
    lens.iter().any(|&len| len > 40) && lens.iter().all(|len| lengths.binary_search(len).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn test_lengths_of_lucene() {
        // From Lucene's SmallFloat: 255 free values, less the code of 2^31 - 1.
        let found: Vec<u32> = (0..=255).map(lucene_length).collect();
        assert!(found[..40].iter().copied().eq(0..40) && found.is_sorted_by(|a, b| a < b));
        assert_eq!((found[40], found[41], found[48], found[255]), (40, 42, 56, 2_013_265_944));
        assert!(
            rounded_by_lucene(&[1, 42, 2_013_265_944]) && !rounded_by_lucene(&[1, 41]) && !rounded_by_lucene(&[1, 40])
        );
    }

    proptest! {
        #[test]
        fn test_places_of_docids(
            docids in proptest::collection::btree_set(0u32..400, 1..60),
            wanted in proptest::collection::btree_set(0u32..400, 1..60),
        ) {
            let all: Vec<u32> = docids.iter().copied().collect();
            let (ids, mut place) = (DocIds::Places(all.clone()), 0);
            for docid in wanted {
                let expected = all.iter().position(|&other| other == docid).map(|at| at as u32);
                let found = ids.doc(docid, &mut place);
                prop_assert_eq!(found, expected);
                if found.is_none() {
                    break;
                }
            }
        }
    }
}
