//! Terms in byte order, however they come, in bounded memory.
//!
//! Terms of every known writer come in byte order: then they go straight to one file, and come back from it. Others are
//! sorted a buffer at a time, each buffer a run of the file, and merged.

use crate::base::means::Means;
use crate::{Error, Result};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{BufReader, BufWriter, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

/// Bytes of terms that are sorted at a time, at least.
const LEAST: usize = 1 << 20;

/// Bytes that are read ahead in a run.
const AHEAD: usize = 1 << 16;

/// A term with its list.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Entry {
    pub term: Vec<u8>,
    /// Number of its list, from 0 on: its termID.
    pub id: u32,
    /// Where its list begins in the file.
    pub offset: u64,
}

/// Takes terms in the order of their lists.
pub(super) struct TermSorter {
    path: PathBuf,
    file: BufWriter<File>,
    written: u64,
    /// Where each run begins.
    runs: Vec<u64>,
    /// Terms of the buffer, and where each lies in `text`.
    entries: Vec<(usize, usize, u32, u64)>,
    text: Vec<u8>,
    room: usize,
    /// The last term of the open run.
    last: Option<Vec<u8>>,
}

impl TermSorter {
    /// A sorter with a file at `path`, which takes about so many bytes of memory.
    pub(super) fn create(path: &Path, memory: u64) -> Result<Self> {
        let file = File::options().read(true).write(true).create_new(true).open(path);
        let file = file.map_err(Error::io("create", path))?;
        Ok(Self {
            path: path.to_owned(),
            file: BufWriter::with_capacity(1 << 18, file),
            written: 0,
            runs: Vec::new(),
            entries: Vec::new(),
            text: Vec::new(),
            room: usize::try_from(memory / 2).unwrap_or(usize::MAX).max(LEAST),
            last: None,
        })
    }

    /// The next term.
    pub(super) fn push(&mut self, term: &[u8], id: u32, offset: u64) -> Result<()> {
        let size = term.len() + size_of::<(usize, usize, u32, u64)>();
        if self.text.len() + (self.entries.len() + 1) * size_of::<(usize, usize, u32, u64)>() + size > self.room {
            self.end_run()?;
        }
        self.entries.push((self.text.len(), term.len(), id, offset));
        self.text.extend_from_slice(term);
        Ok(())
    }

    /// Writes the buffer: behind the open run, if it goes on, or as a new one.
    fn end_run(&mut self) -> Result<()> {
        let Self { entries, text, .. } = self;
        let term = |entry: &(usize, usize, u32, u64)| &text[entry.0..entry.0 + entry.1];
        if !entries.is_sorted_by(|a, b| term(a) <= term(b)) {
            entries.sort_by(|a, b| term(a).cmp(term(b)));
        }
        let (Some(first), Some(last)) = (entries.first(), entries.last()) else { return Ok(()) };
        if self.last.as_deref().is_none_or(|before| before > term(first)) {
            self.runs.push(self.written);
        }
        self.last = Some(term(last).to_vec());
        for entry in entries.iter() {
            let term = term(entry);
            let head = [(term.len() as u64).to_le_bytes(), u64::from(entry.2).to_le_bytes(), entry.3.to_le_bytes()];
            self.file.write_all(head.as_flattened()).map_err(Error::io("write", &self.path))?;
            self.file.write_all(term).map_err(Error::io("write", &self.path))?;
            self.written += 24 + term.len() as u64;
        }
        self.entries.clear();
        self.text.clear();
        Ok(())
    }

    /// Hands out all terms in byte order, and equal ones in the order of their lists.
    pub(super) fn each(mut self, means: &Means, mut visit: impl FnMut(&Entry) -> Result<()>) -> Result<()> {
        self.end_run()?;
        (self.entries, self.text) = Default::default();
        self.file.flush().map_err(Error::io("write", &self.path))?;
        let ends = self.runs.iter().skip(1).copied().chain([self.written]);
        let mut runs = Vec::new();
        for (&start, end) in self.runs.iter().zip(ends) {
            let mut file = File::open(&self.path).map_err(Error::io("open", &self.path))?;
            file.seek(SeekFrom::Start(start)).map_err(Error::io("read", &self.path))?;
            runs.push(Run { file: BufReader::with_capacity(AHEAD, file), left: end - start });
        }
        let mut count = 0u64;
        let mut told = || {
            count += 1;
            if count.is_multiple_of(4096) { means.go_on() } else { Ok(()) }
        };
        if let [run] = &mut runs[..] {
            let mut entry = Entry::default();
            while run.read(&self.path, &mut entry)? {
                told()?;
                visit(&entry)?;
            }
            return Ok(());
        }
        let mut heap = BinaryHeap::new();
        for (i, run) in runs.iter_mut().enumerate() {
            heap.extend(run.next(&self.path)?.map(|entry| Reverse((entry, i))));
        }
        while let Some(Reverse((entry, i))) = heap.pop() {
            told()?;
            visit(&entry)?;
            heap.extend(runs[i].next(&self.path)?.map(|entry| Reverse((entry, i))));
        }
        Ok(())
    }
}

/// A run, as far as it was read.
struct Run {
    file: BufReader<File>,
    left: u64,
}

impl Run {
    fn next(&mut self, path: &Path) -> Result<Option<Entry>> {
        let mut entry = Entry::default();
        Ok(self.read(path, &mut entry)?.then_some(entry))
    }

    /// Replaces `entry` by the next one; false if there is none.
    fn read(&mut self, path: &Path, entry: &mut Entry) -> Result<bool> {
        if self.left == 0 {
            return Ok(false);
        }
        let mut read = || -> std::io::Result<()> {
            let mut head = [[0; 8]; 3];
            self.file.read_exact(head.as_flattened_mut())?;
            let [len, id, offset] = head.map(u64::from_le_bytes);
            (entry.id, entry.offset) = (id as u32, offset);
            entry.term.resize(usize::try_from(len).unwrap_or(0).min(super::MAX_TERM_BYTES), 0);
            self.file.read_exact(&mut entry.term)
        };
        read().map_err(Error::io("read", path))?;
        self.left = self.left.saturating_sub(24 + entry.term.len() as u64);
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(terms: &[String], room: usize) -> (Vec<Entry>, usize) {
        let dir = tempfile::tempdir().unwrap();
        let mut sorter = TermSorter::create(&dir.path().join("terms"), 0).unwrap();
        sorter.room = room;
        for (id, term) in (0..).zip(terms) {
            sorter.push(term.as_bytes(), id, 7 * u64::from(id)).unwrap();
        }
        sorter.end_run().unwrap();
        let runs = sorter.runs.len();
        let mut out = Vec::new();
        let visit = |entry: &Entry| {
            out.push(entry.clone());
            Ok(())
        };
        sorter.each(&Means::new(1, 1), visit).unwrap();
        (out, runs)
    }

    #[test]
    fn test_terms_come_out_in_byte_order() {
        let terms: Vec<String> = (0..3000).map(|i| format!("t{}", i * 7919 % 3001)).collect();
        let mut expected: Vec<Entry> = (0..)
            .zip(&terms)
            .map(|(id, term)| Entry { term: term.clone().into_bytes(), id, offset: 7 * u64::from(id) })
            .collect();
        expected.sort();
        for room in [100, 5000, 1 << 20] {
            let (found, runs) = sorted(&terms, room);
            assert_eq!(found, expected, "{room}");
            assert_eq!(runs == 1, room == 1 << 20, "{room}: {runs} runs");
        }
        let in_order: Vec<String> =
            expected.iter().map(|entry| String::from_utf8(entry.term.clone()).unwrap()).collect();
        let (found, runs) = sorted(&in_order, 100);
        assert!(found.iter().map(|entry| &entry.term).eq(expected.iter().map(|entry| &entry.term)));
        assert_eq!(runs, 1, "one run that goes on");
        assert_eq!(sorted(&[], 100), (vec![], 0));
    }

    #[test]
    fn test_equal_terms_come_in_the_order_of_their_lists() {
        let terms = ["b", "a", "b", "a", "b"].map(str::to_owned);
        for room in [1, 100, 1000] {
            let (found, _) = sorted(&terms, room);
            assert_eq!(found.iter().map(|entry| entry.id).collect::<Vec<_>>(), [1, 3, 0, 2, 4], "{room}");
        }
    }
}
