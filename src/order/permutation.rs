//! A permutation of docIDs, and its text.

use crate::base::random::SplitMix64;
use crate::base::text_file;
use crate::base::whole::WholeFile;
use crate::{Error, Result};
use std::fs::File;
use std::io::{BufRead as _, BufWriter, Write as _};
use std::path::{Path, PathBuf};

/// A bijection of the docIDs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permutation {
    new_of_old: Vec<u32>,
}

impl Permutation {
    /// The permutation that leaves all as it is.
    pub fn identity(documents: u32) -> Self {
        Self { new_of_old: (0..documents).collect() }
    }

    /// The permutation that gives each old docID its new one.
    ///
    /// # Panics
    /// If `new_of_old` is not a permutation.
    pub fn new(new_of_old: Vec<u32>) -> Self {
        let inverse = Self::from_old_of_new(&new_of_old);
        Self { new_of_old: inverse.old_of_new() }
    }

    /// The permutation that gives each old docID its new one; `None` if it is none.
    pub fn checked(new_of_old: Vec<u32>) -> Option<Self> {
        let mut taken = vec![false; new_of_old.len()];
        let free = |&new: &u32| taken.get_mut(new as usize).is_some_and(|taken| !std::mem::replace(taken, true));
        new_of_old.iter().all(free).then_some(Self { new_of_old })
    }

    /// The permutation after which `old_of_new` lists the old docIDs.
    ///
    /// # Panics
    /// If `old_of_new` is not a permutation.
    pub fn from_old_of_new(old_of_new: &[u32]) -> Self {
        const NONE: u32 = u32::MAX;
        let mut new_of_old = vec![NONE; old_of_new.len()];
        for (new, &old) in (0..).zip(old_of_new) {
            assert_eq!(std::mem::replace(&mut new_of_old[old as usize], new), NONE, "docID {old} stands there twice");
        }
        Self { new_of_old }
    }

    /// A shuffle (Fisher and Yates, Durstenfeld's form, from the last docID down), with numbers of SplitMix64 from
    /// `seed`.
    pub fn random(documents: u32, seed: u64) -> Self {
        let mut numbers = SplitMix64::new(seed);
        let mut new_of_old: Vec<u32> = (0..documents).collect();
        for i in (1..documents as usize).rev() {
            // The high half of a product is below i + 1, and off from uniform by less than 2^-32.
            let j = ((u128::from(numbers.next()) * (i as u128 + 1)) >> 64) as usize;
            new_of_old.swap(i, j);
        }
        Self { new_of_old }
    }

    /// How many docIDs there are.
    pub fn documents(&self) -> u32 {
        self.new_of_old.len() as u32
    }

    /// The new docID of each old one.
    pub fn new_of_old(&self) -> &[u32] {
        &self.new_of_old
    }

    /// The old docID of each new one.
    pub fn old_of_new(&self) -> Vec<u32> {
        let mut old_of_new = vec![0; self.new_of_old.len()];
        for (old, &new) in (0..).zip(&self.new_of_old) {
            old_of_new[new as usize] = old;
        }
        old_of_new
    }

    /// Where the text of an index's permutation may go: `out/gov2` → `out/gov2.order`, then `.order.2` and so on: a
    /// reader of several permutations needs all of them.
    pub fn paths_beside(index: &Path) -> impl Iterator<Item = PathBuf> {
        let mut name = index.file_name().unwrap_or_default().to_owned();
        name.push(".order");
        let first = index.with_file_name(&name);
        std::iter::once(first.clone()).chain((2..).map(move |i| first.with_extension(format!("order.{i}"))))
    }

    /// Writes lines `old new`, in the order of the old docIDs, to a new file, which appears when it is complete.
    ///
    /// # Errors
    /// [`Error::Exists`], [`Error::Io`].
    pub fn write(&self, path: &Path) -> Result<()> {
        let exists = || Error::Exists { path: path.to_owned() };
        if path.symlink_metadata().is_ok() {
            return Err(exists());
        }
        let write = || {
            let mut out = BufWriter::with_capacity(1 << 18, WholeFile::create(path, 0o666)?);
            for (old, new) in self.new_of_old.iter().enumerate() {
                writeln!(out, "{old} {new}")?;
            }
            out.into_inner()?.appear_new()
        };
        write().map_err(|error: std::io::Error| match error.kind() {
            std::io::ErrorKind::AlreadyExists => exists(),
            _ => Error::io("write", path)(error),
        })
    }

    /// Fails if [`Self::read`] could read nothing at `path`. It does not open the file: opening a pipe would wait for a
    /// writer.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::Invalid`].
    pub fn check_file(path: &Path) -> Result<()> {
        if std::fs::metadata(path).map_err(Error::io("open", path))?.is_file() {
            return Ok(());
        }
        Err(Error::Invalid { what: path.display().to_string(), why: "is no file".to_owned() })
    }

    /// Reads what [`Self::write`] writes, lines in any order, for `documents` docIDs; gzip, zstd and bzip2, too.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::Damaged`], with the byte of the text where the first wrong line begins, if a line is not
    /// two docIDs, or a docID is repeated or missing.
    pub fn read(path: &Path, documents: u32) -> Result<Self> {
        const NONE: u32 = u32::MAX;
        Self::check_file(path)?;
        let file = File::open(path).map_err(Error::io("open", path))?;
        let mut input = text_file::open(file).map_err(|(_, error)| Error::io("read", path)(error))?.text;
        let mut new_of_old = vec![NONE; documents as usize];
        let mut taken = vec![false; documents as usize];
        let (mut line, mut at, mut count) = (Vec::new(), 0u64, 0u32);
        let damaged = |offset: u64, what: String| Error::Damaged { path: path.to_owned(), offset, what };
        loop {
            line.clear();
            // Two numbers take no longer line; a file without line ends is not read whole.
            let mut limited = std::io::Read::take(&mut input, 64);
            let length = limited.read_until(b'\n', &mut line).map_err(Error::io("read", path))? as u64;
            if length == 0 {
                break;
            }
            let bad = |what: String| damaged(at, format!("line {}: {what}", count + 1));
            let text = std::str::from_utf8(&line).ok().map(str::trim).filter(|_| length < 64 || line.ends_with(b"\n"));
            let pair = text.and_then(|text| {
                let (old, new) = text.split_once(|c: char| c.is_ascii_whitespace())?;
                Some((old.parse::<u32>().ok()?, new.trim_start().parse::<u32>().ok()?))
            });
            let (old, new) = pair.ok_or_else(|| bad("is not two docIDs, \"old new\"".to_owned()))?;
            if old >= documents || new >= documents {
                return Err(bad(format!("{old} {new}: the index has the docIDs 0 to {}", i64::from(documents) - 1)));
            }
            if new_of_old[old as usize] != NONE {
                return Err(bad(format!("the old docID {old} stands there a second time")));
            }
            if std::mem::replace(&mut taken[new as usize], true) {
                return Err(bad(format!("the new docID {new} stands there a second time")));
            }
            new_of_old[old as usize] = new;
            at += length;
            count += 1;
        }
        if count < documents {
            let missing = new_of_old.iter().position(|&new| new == NONE).unwrap_or(0);
            let what = format!("{count} lines for {documents} documents; the old docID {missing} is missing");
            return Err(damaged(at, what));
        }
        Ok(Self { new_of_old })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &[u8], documents: u32) -> Result<Permutation> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        Permutation::read(file.path(), documents)
    }

    #[test]
    fn test_a_permutation_survives_its_text() {
        for documents in [0, 1, 2, 1000] {
            let shuffled = Permutation::random(documents, 7);
            let file = tempfile::NamedTempFile::new().unwrap();
            assert!(matches!(shuffled.write(file.path()), Err(Error::Exists { .. })));
            std::fs::remove_file(file.path()).unwrap();
            shuffled.write(file.path()).unwrap();
            assert_eq!(Permutation::read(file.path(), documents).unwrap(), shuffled);
            assert_eq!(Permutation::from_old_of_new(&shuffled.old_of_new()), shuffled);
        }
        let text = b"1 0\r\n0\t 1";
        assert_eq!(read(text, 2).unwrap().new_of_old(), [1, 0]);
        assert_eq!(read(&zstd::encode_all(&text[..], 1).unwrap(), 2).unwrap().new_of_old(), [1, 0]);
    }

    #[test]
    fn test_what_is_no_permutation_is_named() {
        for (text, documents, expected) in [
            (&b"0 0\n"[..], 2, "old docID 1 is missing"),
            (b"0 0\n0 1\n", 2, "line 2: the old docID 0 stands"),
            (b"0 0\n1 0\n", 2, "line 2: the new docID 0 stands"),
            (b"0 0\n1 2\n", 2, "0 to 1"),
            (b"0 0\n\n1 1\n", 2, "line 2: is not two"),
            (b"0 -1\n", 1, "is not two"),
            (b"0,0\n", 1, "is not two"),
            (&[0xff; 100], 1, "is not two"),
            (&[b'1'; 1000], 1, "is not two"),
            (b"0 0\n", 0, "the index has"),
        ] {
            let error = read(text, documents).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    /// An order is part of what an index is made from: these numbers never change.
    #[test]
    fn test_shuffles_are_the_same_everywhere() {
        assert_eq!(Permutation::random(10, 42).new_of_old(), RANDOM_42);
        let mut sorted = Permutation::random(1000, 1).new_of_old().to_vec();
        sorted.sort_unstable();
        assert!(sorted.into_iter().eq(0..1000));
    }

    const RANDOM_42: [u32; 10] = [8, 3, 6, 5, 4, 0, 9, 2, 1, 7];
}
