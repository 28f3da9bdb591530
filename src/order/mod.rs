//! Which document gets which docID: the cheapest way to a smaller and faster index.
//!
//! An order is a [`Permutation`] of the docIDs that the input's order gave. It decides the gaps of every list
//! and nothing else: external ids, lengths and scores go with their documents.
//!
//! | file | its one job |
//! |---|---|
//! | [`mod@self`] | the choice, the permutation, and its text |
//! | [`url`] | documents by reversed host and path |
//! | [`bp`] | documents that share words next to each other |
//! | [`graph`] | which document links to which |
//! | [`pagerank`] | documents by their links |

pub mod bp;
pub mod graph;
pub mod pagerank;
pub mod url;

use crate::{Error, Result};
use std::fs::File;
use std::io::{BufRead as _, BufReader, BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// What decides the docIDs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// As they come in.
    Input,
    /// By URL, the host reversed; documents without one stay at the end.
    Url,
    /// By PageRank, highest first.
    PageRank,
    /// By recursive graph bisection; terms of fewer documents than this do not count.
    Bp(u32),
    /// Shuffled from a seed, alike on every machine.
    Random(u64),
    /// As a file of lines `old new` says.
    File(PathBuf),
}

/// The orders as the command line names them.
pub const NAMES: &str = "input, url, bp, bp:MIN_DF, pagerank, random:SEED, file:PATH";

/// Terms of fewer documents than this do not count in `bp`, if nothing else is asked for.
const MIN_DF: u32 = 2;

impl FromStr for Order {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let invalid = |why: &str| Error::Invalid { what: format!("order \"{text}\""), why: why.to_owned() };
        match text.split_once(':') {
            None if text == "input" => Ok(Self::Input),
            None if text == "url" => Ok(Self::Url),
            None if text == "bp" => Ok(Self::Bp(MIN_DF)),
            Some(("bp", min_df)) => match min_df.parse() {
                Ok(min_df) if min_df >= 2 => Ok(Self::Bp(min_df)),
                _ => Err(invalid("the least number of documents of a term is a number from 2 on")),
            },
            None if text == "pagerank" => Ok(Self::PageRank),
            None if text == "random" => Err(invalid("needs a seed, so that it can be had again: random:1")),
            None if text == "file" => Err(invalid("needs a path: file:order.txt")),
            Some(("random", seed)) => {
                seed.parse().map(Self::Random).map_err(|_| invalid("the seed is a number from 0 to 2^64 - 1"))
            }
            Some(("file", path)) if !path.is_empty() => Ok(Self::File(path.into())),
            _ => Err(Error::UnknownName { kind: "order", name: text.to_owned(), choices: NAMES.to_owned() }),
        }
    }
}

/// As the manifest records it. A file's path would be another one on another machine, so only that it was one.
impl std::fmt::Display for Order {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Input => f.write_str("input"),
            Self::Url => f.write_str("url"),
            Self::PageRank => f.write_str("pagerank"),
            Self::Bp(MIN_DF) => f.write_str("bp"),
            Self::Bp(min_df) => write!(f, "bp:{min_df}"),
            Self::Random(seed) => write!(f, "random:{seed}"),
            Self::File(_) => f.write_str("file"),
        }
    }
}

/// A bijection of the docIDs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permutation {
    new_of_old: Vec<u32>,
}

impl Permutation {
    /// The one that leaves all as it is.
    pub fn identity(documents: u32) -> Self {
        Self { new_of_old: (0..documents).collect() }
    }

    /// The one that gives each old docID its new one.
    ///
    /// # Panics
    /// If that is no permutation.
    pub fn new(new_of_old: Vec<u32>) -> Self {
        let inverse = Self::from_old_of_new(&new_of_old);
        Self { new_of_old: inverse.old_of_new() }
    }

    /// The one after which `old_of_new` lists the old docIDs.
    ///
    /// # Panics
    /// If that is no permutation.
    pub fn from_old_of_new(old_of_new: &[u32]) -> Self {
        const NONE: u32 = u32::MAX;
        let mut new_of_old = vec![NONE; old_of_new.len()];
        for (new, &old) in (0..).zip(old_of_new) {
            assert_eq!(std::mem::replace(&mut new_of_old[old as usize], new), NONE, "docID {old} stands there twice");
        }
        Self { new_of_old }
    }

    /// A shuffle (Fisher and Yates, Durstenfeld's form, from the last docID down), with numbers of SplitMix64 from `seed`.
    pub fn random(documents: u32, seed: u64) -> Self {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = state;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        };
        let mut new_of_old: Vec<u32> = (0..documents).collect();
        for i in (1..documents as usize).rev() {
            // The high half of a product is below i + 1, and off from uniform by less than 2^-32.
            let j = ((u128::from(next()) * (i as u128 + 1)) >> 64) as usize;
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

    /// Where the text of an index's permutation goes: `out/gov2` → `out/gov2.order`, or `.order.2` and so on where there is
    /// one already: whoever follows several permutations needs all of them.
    pub fn path_beside(index: &Path) -> PathBuf {
        let mut name = index.file_name().unwrap_or_default().to_owned();
        name.push(".order");
        let first = index.with_file_name(&name);
        let later = (2..).map(|i| first.with_extension(format!("order.{i}")));
        let free = std::iter::once(first.clone()).chain(later).find(|path| !path.exists());
        free.unwrap_or(first)
    }

    /// Writes lines `old new`, in the order of the old docIDs, to a new file.
    ///
    /// # Errors
    /// [`Error::Exists`], [`Error::Io`].
    pub fn write(&self, path: &Path) -> Result<()> {
        let write = || {
            let mut out = BufWriter::with_capacity(1 << 18, File::create_new(path)?);
            for (old, new) in self.new_of_old.iter().enumerate() {
                writeln!(out, "{old} {new}")?;
            }
            out.flush()
        };
        write().map_err(|error: std::io::Error| match error.kind() {
            std::io::ErrorKind::AlreadyExists => Error::Exists { path: path.to_owned() },
            _ => Error::io("write", path)(error),
        })
    }

    /// Fails if there is nothing at `path` that [`Self::read`] could read: opening a pipe would wait for somebody to write.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::Invalid`].
    pub fn check_file(path: &Path) -> Result<()> {
        if std::fs::metadata(path).map_err(Error::io("open", path))?.is_file() {
            return Ok(());
        }
        Err(Error::Invalid { what: path.display().to_string(), why: "is no file".to_owned() })
    }

    /// Reads what [`Self::write`] writes, lines in any order, for `documents` docIDs.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::Damaged`], with the byte where the first line that is wrong begins, if a line is not two
    /// docIDs, or an old or a new docID stands there twice or not at all.
    pub fn read(path: &Path, documents: u32) -> Result<Self> {
        const NONE: u32 = u32::MAX;
        Self::check_file(path)?;
        let mut input = BufReader::with_capacity(1 << 18, File::open(path).map_err(Error::io("open", path))?);
        let mut new_of_old = vec![NONE; documents as usize];
        let mut taken = vec![false; documents as usize];
        let (mut line, mut at, mut count) = (Vec::new(), 0u64, 0u32);
        let damaged = |offset: u64, what: String| Error::Damaged { path: path.to_owned(), offset, what };
        loop {
            line.clear();
            // Nobody writes a longer line than two numbers take; a file without line ends is not read whole.
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
        assert_eq!(read(b"1 0\r\n0\t 1", 2).unwrap().new_of_old(), [1, 0]);
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

    #[test]
    fn test_orders_are_parsed() {
        for text in ["input", "url", "pagerank", "random:7"] {
            assert_eq!(text.parse::<Order>().unwrap().to_string(), text);
        }
        assert_eq!("file:a:b".parse::<Order>().unwrap(), Order::File("a:b".into()));
        for (text, expected) in
            [("random", "a seed"), ("random:x", "a number"), ("file:", "there are"), ("size", "url, bp, bp:MIN_DF")]
        {
            let error = text.parse::<Order>().unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
