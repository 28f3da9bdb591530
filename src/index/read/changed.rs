//! Whether the files of an open index are what they were.

use super::reader::Index;
use crate::{Error, Result};
use std::path::Path;

impl Index {
    /// Whether every file is what it was when the index was opened. To be asked before what was read from the index is
    /// used: a file that somebody truncates reads as zeros from there on, and one that somebody overwrites as anything.
    /// (An index that gamut replaces is another directory, and stays as it is for those who read it.)
    ///
    /// # Errors
    /// [`Error::Changed`].
    pub fn unchanged(&self) -> Result<()> {
        Ok(self.watches.iter().try_for_each(|watch| watch.unchanged())?)
    }

    /// As [`Self::unchanged`], but only whether zeros were read in place of a file's bytes: without system calls.
    ///
    /// # Errors
    /// [`Error::Changed`].
    pub fn not_faulted(&self) -> Result<()> {
        Ok(self.watches.iter().try_for_each(|watch| watch.not_faulted())?)
    }

    /// Fails if another index has taken the name of the directory since this one was opened: a file that is asked for
    /// by its name is the other's then.
    ///
    /// # Errors
    /// [`Error::Changed`].
    pub(in crate::index) fn in_place(&self) -> Result<()> {
        if identity(self.dir()) == self.identity {
            return Ok(());
        }
        let what = "another index has taken its place meanwhile; try again".to_owned();
        Err(Error::Changed { path: self.dir().to_owned(), what })
    }

    /// What lies behind an error of something that read from this index: the error, or what became of the index.
    pub fn cause(&self, error: Error) -> Error {
        self.unchanged().err().unwrap_or(error)
    }

    /// The result of something that read from this index, or what became of the index meanwhile.
    ///
    /// # Errors
    /// [`Error::Changed`], or those of the result.
    pub fn settle<T>(&self, result: Result<T>) -> Result<T> {
        self.unchanged().and(result)
    }
}

/// What tells a directory from another one that takes its name.
#[cfg(unix)]
pub(in crate::index) fn identity(dir: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt as _;
    std::fs::metadata(dir).ok().map(|metadata| (metadata.dev(), metadata.ino()))
}

/// Unknown here: nobody is told from another one.
#[cfg(not(unix))]
pub(in crate::index) fn identity(_: &Path) -> Option<(u64, u64)> {
    None
}
