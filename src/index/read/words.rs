//! Mapped files of whole words, and tables of packed rows in them.

use crate::base::map::Map;
use crate::base::simd::prefetch;
use crate::error::damaged;
use crate::index::format::HEADER_WORDS;
use crate::index::format::tables::GROUP;
use crate::{Error, Result};
use std::path::PathBuf;

/// A mapped file of whole words.
pub(in crate::index) struct Words {
    pub(in crate::index) path: PathBuf,
    pub(super) map: Map,
}

impl Words {
    pub(in crate::index) fn get(&self) -> &[u32] {
        // Maps start at a page and `open` checked that the length is whole words, so this cannot fail.
        bytemuck::try_cast_slice(&self.map).unwrap_or(&[])
    }

    /// Prefetches the words from `at` on.
    pub(in crate::index) fn prefetch(&self, at: u64) {
        prefetch(usize::try_from(at).ok().and_then(|at| self.get().get(at..)).unwrap_or(&[]), 1);
    }

    /// The words from `at` to the end of its window or of the file; `None` if `at` is outside.
    pub(in crate::index) fn window_from(&self, at: u64, window: u64, end: usize) -> Option<&[u32]> {
        let from = usize::try_from(at).ok().filter(|&from| from >= HEADER_WORDS)?;
        let end = usize::try_from((at / window).checked_add(1)?.checked_mul(window)? - 1).unwrap_or(end).min(end);
        self.get().get(from..end)
    }
}

/// Packed rows of `terms.bin` or `lists.bin`.
pub(in crate::index) struct Table {
    pub(in crate::index) words: Words,
    /// Word offsets of group 0 and of the directory.
    start: usize,
    directory: usize,
    rows: u64,
}

impl Table {
    /// `start`: where group 0 is; `directory`, `groups` and `rows` come from the footer.
    pub(super) fn new(words: Words, start: u64, directory: u64, groups: u64, rows: u64, footer: usize) -> Result<Self> {
        let sound = groups == rows.div_ceil(GROUP as u64)
            && start >= HEADER_WORDS as u64
            && start <= directory
            && directory.checked_add(2 * groups) == Some(footer as u64);
        if !sound {
            return Err(damaged(&words.path, 4 * footer as u64, "the footer does not fit the file"));
        }
        Ok(Self { words, start: start as usize, directory: directory as usize, rows })
    }

    /// Word offset of group 0: where the lists before the tables end.
    pub(in crate::index) fn start(&self) -> usize {
        self.start
    }

    /// Word offset in the file of the directory entry of a row's group.
    fn entry(&self, row: u64) -> usize {
        self.directory + 2 * (row / GROUP as u64) as usize
    }

    /// The group of a row, the row's number in it and the number of rows of the group.
    pub(in crate::index) fn group(&self, row: u64) -> Option<(&[u32], usize, usize)> {
        if row >= self.rows {
            return None;
        }
        let words = self.words.get();
        let at = wide(words.get(self.entry(row)..)?)?;
        let at = usize::try_from(at).ok()?.checked_add(self.start)?;
        let first = row / GROUP as u64 * GROUP as u64;
        let rows = (self.rows - first).min(GROUP as u64) as usize;
        Some((words.get(at..self.directory)?, (row - first) as usize, rows))
    }

    pub(in crate::index) fn bad_row(&self, row: u64, what: &str) -> Error {
        let offset = 4 * self.entry(row.min(self.rows.saturating_sub(1))) as u64;
        damaged(&self.words.path, offset, format!("{what} {row} of {} cannot be read", self.rows))
    }
}

/// Two words, the lower first.
pub(super) fn wide(words: &[u32]) -> Option<u64> {
    Some(u64::from(*words.first()?) | u64::from(*words.get(1)?) << 32)
}
