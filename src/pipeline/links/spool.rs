//! Hashes put aside while pages are parsed: a file without a name, which goes with the process. Only a build that can
//! be resumed gives it a name.
//!
//! A frame is a batch, in words of 64 bits: numbers of documents, targets and redirects; the documents' own hashes; one
//! past the last target of each; targets; redirects, two words each; the XXH3 of all words before.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use super::{BatchLinks, LinkReport};
use crate::index::{FileSpec, Output};
use crate::{Error, Result};

const HEAD: usize = 3;
const BUFFER: usize = 1 << 18;

/// Where hashes go.
enum Sink {
    Nameless(BufWriter<File>),
    Kept(Box<Output>),
}

/// What is known of the links that a build has so far, to go on behind them.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct SpoolMark {
    file: FileSpec,
    counts: LinkReport,
    documents: u64,
}

/// Takes batches in docID order.
pub struct SpoolWriter {
    file: Sink,
    dir: PathBuf,
    frame: Vec<u64>,
    counts: LinkReport,
    documents: u64,
}

impl SpoolWriter {
    /// A spool on the file system of `dir`.
    pub fn create(dir: &Path) -> Result<Self> {
        let file = tempfile::tempfile_in(dir).map_err(Error::io("create a file in", dir))?;
        Ok(Self::with(Sink::Nameless(BufWriter::with_capacity(BUFFER, file)), dir))
    }

    fn with(file: Sink, dir: &Path) -> Self {
        Self { file, dir: dir.to_owned(), frame: Vec::new(), counts: LinkReport::default(), documents: 0 }
    }

    /// A spool that a later process can go on with, at `dir/name`.
    pub fn kept(dir: &Path, name: &str) -> Result<Self> {
        Ok(Self::with(Sink::Kept(Box::new(Output::create(dir, name)?)), dir))
    }

    /// Goes on behind a mark.
    pub fn reopen(dir: &Path, mark: &SpoolMark) -> Result<Self> {
        let spool = Self::with(Sink::Kept(Box::new(Output::reopen(dir, &mark.file)?)), dir);
        Ok(Self { counts: mark.counts, documents: mark.documents, ..spool })
    }

    /// Hands all to the system, and says what a later process needs; nothing without a name.
    pub fn mark(&mut self) -> Result<Option<SpoolMark>> {
        let Sink::Kept(output) = &mut self.file else { return Ok(None) };
        Ok(Some(SpoolMark { file: output.mark()?, counts: self.counts, documents: self.documents }))
    }

    /// The file, to sync it, if it has a name.
    pub fn handle(&self) -> Result<Option<File>> {
        match &self.file {
            Sink::Nameless(_) => Ok(None),
            Sink::Kept(output) => output.handle().map(Some),
        }
    }

    /// The next batch.
    pub fn append(&mut self, links: &BatchLinks) -> Result<()> {
        self.frame.clear();
        self.frame.extend([links.own.len(), links.targets.len(), links.redirects.len()].map(|n| n as u64));
        self.frame.extend(&links.own);
        self.frame.extend(links.ends.iter().map(|&end| u64::from(end)));
        self.frame.extend(&links.targets);
        self.frame.extend(links.redirects.as_flattened());
        self.frame.push(xxh3_64(bytemuck::cast_slice(&self.frame)));
        let bytes: &[u8] = bytemuck::cast_slice(&self.frame);
        match &mut self.file {
            Sink::Nameless(file) => file.write_all(bytes).map_err(Error::io("write a file in", &self.dir))?,
            Sink::Kept(output) => Output::write(output, bytes)?,
        }
        self.counts.spool_bytes += bytes.len() as u64;
        self.counts.found += links.found;
        self.counts.addresses += links.targets.len() as u64;
        self.counts.redirects += links.redirects.len() as u64;
        self.documents += links.own.len() as u64;
        Ok(())
    }

    /// All that was written.
    pub fn finish(self) -> Result<Spool> {
        let Self { file, dir, counts, documents, .. } = self;
        let (file, path) = match file {
            Sink::Nameless(file) => {
                let file = file.into_inner();
                (file.map_err(|error| Error::io("write a file in", &dir)(error.into_error()))?, dir)
            }
            Sink::Kept(mut output) => {
                output.mark()?;
                let path = output.path().to_owned();
                (File::open(&path).map_err(Error::io("open", &path))?, path)
            }
        };
        Ok(Spool { file, path, counts, documents })
    }
}

/// What was put aside.
pub struct Spool {
    file: File,
    /// Where it lies, or in which directory.
    path: PathBuf,
    /// What is known of the links so far.
    pub counts: LinkReport,
    /// Documents.
    pub documents: u64,
}

/// One batch.
#[derive(Default)]
pub struct Frame {
    words: Vec<u64>,
    documents: usize,
    targets: usize,
}

impl Frame {
    /// Hashes of the documents' URLs.
    pub fn own(&self) -> &[u64] {
        &self.words[..self.documents]
    }

    /// The targets of each document; none if they were not read.
    pub fn targets(&self) -> impl Iterator<Item = &[u64]> {
        let (ends, rest) = self.words[self.documents..].split_at(self.documents);
        let mut start = 0;
        ends.iter().map(move |&end| {
            let targets = &rest[start..end as usize];
            start = end as usize;
            targets
        })
    }

    /// How many targets the documents have.
    pub fn target_count(&self) -> usize {
        self.targets
    }

    /// Redirects: from, to.
    pub fn redirects(&self) -> &[[u64; 2]] {
        self.words[2 * self.documents + self.targets..].as_chunks().0
    }
}

impl Spool {
    /// Calls `visit` with every frame, in order, each once it was compared with its checksum.
    ///
    /// # Errors
    /// [`Error::Changed`], [`Error::Io`], and those of `visit`.
    pub fn each(&mut self, mut visit: impl FnMut(Frame) -> Result<()>) -> Result<()> {
        let failed = |error: io::Error| match error.kind() {
            io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof => {
                let what = "the links that were put aside there are not what gamut wrote".to_owned();
                Error::Changed { path: self.path.clone(), what }
            }
            _ => Error::io("read", &self.path)(error),
        };
        self.file.seek(SeekFrom::Start(0)).map_err(failed)?;
        let mut input = BufReader::with_capacity(BUFFER, &self.file);
        let mut left = self.counts.spool_bytes;
        while left > 0 {
            let (frame, bytes) = read(&mut input, left).map_err(failed)?;
            left -= bytes;
            visit(frame)?;
        }
        Ok(())
    }
}

/// Reads a frame of at most `left` bytes, and says how many they were. What is not what was written is invalid data.
fn read(input: &mut impl io::Read, left: u64) -> io::Result<(Frame, u64)> {
    let mut head = [0u64; HEAD];
    input.read_exact(bytemuck::cast_slice_mut(&mut head))?;
    let [documents, targets, redirects] = head;
    let words = documents.checked_mul(2).and_then(|words| words.checked_add(targets));
    let words = words.and_then(|words| words.checked_add(redirects.checked_mul(2)?)?.checked_add(1));
    let bytes = words.and_then(|words| words.checked_add(HEAD as u64)?.checked_mul(8)).filter(|&bytes| bytes <= left);
    let (Some(words), Some(bytes)) = (words, bytes) else { return Err(io::ErrorKind::InvalidData.into()) };
    let mut words = vec![0; words as usize];
    input.read_exact(bytemuck::cast_slice_mut(&mut words))?;
    let mut hash = Xxh3::new();
    let sum = words.pop();
    hash.update(bytemuck::cast_slice(&head));
    hash.update(bytemuck::cast_slice(&words));
    if sum != Some(hash.digest()) {
        return Err(io::ErrorKind::InvalidData.into());
    }
    Ok((Frame { words, documents: documents as usize, targets: targets as usize }, bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt as _;

    #[test]
    fn test_batches_come_back() {
        let batches = [
            BatchLinks::default(),
            BatchLinks {
                own: vec![5, 0, 7],
                ends: vec![2, 2, 3],
                targets: vec![u64::MAX, 1, 5],
                redirects: vec![[1, 2], [3, 4]],
                found: 9,
            },
            BatchLinks { redirects: vec![[8, 9]], ..BatchLinks::default() },
        ];
        let dir = tempfile::tempdir().unwrap();
        let mut spool = SpoolWriter::create(dir.path()).unwrap();
        batches.iter().for_each(|batch| spool.append(batch).unwrap());
        let mut spool = spool.finish().unwrap();
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "the file has no name");
        assert_eq!((spool.documents, spool.counts.addresses, spool.counts.redirects, spool.counts.found), (3, 3, 3, 9));
        // Twice, from the front.
        for _ in 0..2 {
            let mut found = Vec::new();
            let each = |frame: Frame| {
                let targets: Vec<Vec<u64>> = frame.targets().map(<[u64]>::to_vec).collect();
                assert_eq!(frame.target_count(), targets.concat().len());
                found.push((frame.own().to_vec(), targets, frame.redirects().to_vec()));
                Ok(())
            };
            spool.each(each).unwrap();
            assert_eq!(found[0], (vec![], vec![], vec![]));
            assert_eq!(found[1], (vec![5, 0, 7], vec![vec![u64::MAX, 1], vec![], vec![5]], vec![[1, 2], [3, 4]]));
            assert_eq!(found[2], (vec![], vec![], vec![[8, 9]]));
        }
        assert!(spool.each(|_| Err(Error::Interrupted)).is_err());
        // A bit of every byte.
        let file = spool.file.try_clone().unwrap();
        for at in 0..spool.counts.spool_bytes {
            let mut byte = [0];
            file.read_exact_at(&mut byte, at).unwrap();
            let flip = |bits: u8| file.write_all_at(&[byte[0] ^ bits], at).unwrap();
            flip(1 << (at % 8));
            assert!(matches!(spool.each(|_| Ok(())), Err(Error::Changed { .. })), "byte {at}");
            flip(0);
        }
        spool.each(|_| Ok(())).unwrap();
        spool.file.set_len(40).unwrap();
        assert!(matches!(spool.each(|_| Ok(())), Err(Error::Changed { .. })));
    }
}
