//! Whether the files of an open index are what they were.

use super::reader::Index;
use crate::base::map::Watch;
use crate::{Error, Result};
use std::fs::{File, Metadata};
use std::path::Path;
use std::sync::Arc;

/// The files of an open index, for whoever does not have it.
#[derive(Clone)]
pub struct Watches(pub(super) Vec<Arc<Watch>>);

impl Watches {
    /// As [`Index::unchanged`].
    ///
    /// # Errors
    /// [`Error::Changed`].
    pub fn unchanged(&self) -> Result<()> {
        Ok(self.0.iter().try_for_each(|watch| watch.unchanged())?)
    }
}

impl Index {
    /// Its files, to ask later whether they are what they were.
    pub fn watches(&self) -> Watches {
        self.watches.clone()
    }

    /// Whether every file is what it was when the index was opened. To be asked before what was read from the index is
    /// used: a file that somebody truncates reads as zeros from there on, and one that somebody overwrites as anything.
    /// (An index that gamut replaces is another directory, and stays as it is for those who read it.)
    ///
    /// # Errors
    /// [`Error::Changed`].
    pub fn unchanged(&self) -> Result<()> {
        self.watches.unchanged()
    }

    /// As [`Self::unchanged`], but only whether zeros were read in place of a file's bytes: without system calls.
    ///
    /// # Errors
    /// [`Error::Changed`].
    pub fn not_faulted(&self) -> Result<()> {
        Ok(self.watches.0.iter().try_for_each(|watch| watch.not_faulted())?)
    }

    /// Fails if another index has taken the name of the directory since this one was opened: a file that is asked for
    /// by its name is the other's then.
    ///
    /// # Errors
    /// [`Error::Changed`].
    pub(in crate::index) fn in_place(&self) -> Result<()> {
        if self.identity.is_at(self.dir()) {
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

/// What tells a directory from another one that takes its name. As long as this lives, no other directory gets the
/// same number: the system keeps a directory that somebody has open, also without a name.
#[derive(Default)]
pub(in crate::index) struct Identity {
    number: Option<Number>,
    _open: Option<File>,
}

impl Identity {
    /// Of the directory that has this name now.
    pub(in crate::index) fn of(dir: &Path) -> Self {
        let open = open(dir);
        let metadata = open.as_ref().map_or_else(|| std::fs::metadata(dir), File::metadata);
        Self { number: metadata.ok().and_then(|metadata| number(&metadata)), _open: open }
    }

    /// Whether that directory still has the name. Where directories have no numbers, nobody is told from another one.
    pub(in crate::index) fn is_at(&self, dir: &Path) -> bool {
        self.number == std::fs::metadata(dir).ok().and_then(|metadata| number(&metadata))
    }
}

/// Opens a directory only to have it, which also whoever may not list it can.
#[cfg(target_os = "linux")]
fn open(dir: &Path) -> Option<File> {
    use std::os::unix::fs::OpenOptionsExt as _;
    File::options().read(true).custom_flags(libc::O_PATH | libc::O_DIRECTORY).open(dir).ok()
}

#[cfg(not(target_os = "linux"))]
fn open(dir: &Path) -> Option<File> {
    File::open(dir).ok()
}

/// Device and inode.
pub(in crate::index) type Number = (u64, u64);

/// Of a file or directory, where they have numbers.
#[cfg(unix)]
pub(in crate::index) fn number(metadata: &Metadata) -> Option<Number> {
    use std::os::unix::fs::MetadataExt as _;
    Some((metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
pub(in crate::index) fn number(_: &Metadata) -> Option<Number> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file system gives the number of a directory that went to the next one.
    #[test]
    fn test_no_other_directory_is_taken_for_the_one_that_was_opened() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("index");
        for _ in 0..20 {
            std::fs::create_dir(&path).unwrap();
            let identity = Identity::of(&path);
            assert!(identity.is_at(&path));
            std::fs::remove_dir(&path).unwrap();
            assert!(!identity.is_at(&path));
            std::fs::create_dir(&path).unwrap();
            assert!(!identity.is_at(&path));
            std::fs::remove_dir(&path).unwrap();
        }
    }
}
