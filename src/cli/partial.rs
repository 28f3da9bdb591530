//! A file of results that goes on where an ended process left it.
//!
//! Two files lie beside the target until it is complete: `.NAME.part` has the bytes, and `.NAME.resume` says how many
//! of them count, with their checksum and a state of the caller's. The second one is replaced in one step, after the
//! bytes that it counts are written. So a process may end at any point: what is behind the counted bytes is cut off,
//! and bytes that are not those counted begin anew.

use crate::{Error, Result};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fs::{self, File, TryLockError};
use std::io::{self, BufReader, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::Xxh3;

/// See the module's page.
pub struct Partial {
    file: File,
    target: PathBuf,
    part: PathBuf,
    note: PathBuf,
    bytes: u64,
    sum: Xxh3,
    /// There is a note, so the files are worth keeping.
    marked: bool,
}

/// The content of `.NAME.resume`.
#[derive(Serialize, Deserialize)]
struct Note<S> {
    bytes: u64,
    xxh3: u64,
    state: S,
}

/// What an ended process left.
#[derive(Debug, PartialEq)]
pub enum Left<S> {
    /// Nothing.
    Nothing,
    /// Files that do not fit each other; it begins anew.
    Unsound,
    /// The state at its last mark.
    State(S),
}

fn beside(target: &Path, end: &str) -> Result<PathBuf> {
    let name = target.file_name().and_then(|name| name.to_str()).ok_or_else(|| Error::Invalid {
        what: target.display().to_string(),
        why: "is no name for a file that --resume can go on with".to_owned(),
    })?;
    Ok(target.with_file_name(format!(".{name}.{end}")))
}

#[cfg(unix)]
fn same_file(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let id = |metadata: &fs::Metadata| (metadata.dev(), metadata.ino());
    matches!((&file.metadata(), &fs::metadata(path)), (Ok(open), Ok(there)) if id(open) == id(there))
}

#[cfg(not(unix))]
fn same_file(_: &File, _: &Path) -> bool {
    true
}

impl Partial {
    /// Opens the files beside `target`, or makes them. Two processes cannot have them at a time.
    ///
    /// # Errors
    /// [`Error::Invalid`] if `target` is there and no plain file, or if another process writes to it; [`Error::Io`].
    pub fn open<S: DeserializeOwned>(target: &Path) -> Result<(Self, Left<S>)> {
        let refuse = |why: &str| Error::Invalid { what: target.display().to_string(), why: why.to_owned() };
        if target.as_os_str() == "-" || target.is_symlink() || target.exists() && !target.is_file() {
            return Err(refuse("is no plain file, so --resume cannot go on with it; leave --resume out"));
        }
        let [part, note] = [beside(target, "part")?, beside(target, "resume")?];
        let file = File::options().read(true).write(true).create(true).truncate(false).open(&part);
        let file = file.map_err(Error::io("write to", &part))?;
        match file.try_lock() {
            // another process may have completed it just now, under its new name
            Ok(()) if same_file(&file, &part) => {}
            Ok(()) | Err(TryLockError::WouldBlock) => return Err(refuse("is being written by another process")),
            // a file system without locks
            Err(TryLockError::Error(_)) => {}
        }
        let target = target.to_owned();
        let mut partial = Self { file, target, part, note, bytes: 0, sum: Xxh3::new(), marked: false };
        let left = match fs::read(&partial.note) {
            Ok(bytes) => partial.go_on(&bytes)?.map_or(Left::Unsound, Left::State),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Left::Nothing,
            Err(error) => return Err(Error::io("read", &partial.note)(error)),
        };
        Ok((partial, left))
    }

    /// The state of a note, if the file has the bytes that it counts.
    fn go_on<S: DeserializeOwned>(&mut self, note: &[u8]) -> Result<Option<S>> {
        let Ok(note) = serde_json::from_slice::<Note<S>>(note) else { return Ok(None) };
        let mut reader = BufReader::with_capacity(1 << 20, &self.file).take(note.bytes);
        let (mut sum, mut bytes) = (Xxh3::new(), 0);
        let mut buffer = vec![0; 1 << 20];
        loop {
            let read = match reader.read(&mut buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                read => read.map_err(Error::io("read", &self.part))?,
            };
            if read == 0 {
                break;
            }
            sum.update(&buffer[..read]);
            bytes += read as u64;
        }
        if (bytes, sum.digest()) != (note.bytes, note.xxh3) {
            return Ok(None);
        }
        (self.bytes, self.sum, self.marked) = (bytes, sum, true);
        Ok(Some(note.state))
    }

    /// Cuts off what is behind the counted bytes. Call this before the first [`Self::write`].
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn begin(&mut self) -> Result<()> {
        let cut = self.file.set_len(self.bytes).and_then(|()| self.file.seek(SeekFrom::Start(self.bytes)));
        cut.map(|_| ()).map_err(Error::io("write to", &self.part))
    }

    /// The files beside the target, for a message.
    pub fn names(&self) -> String {
        format!("{} and {}", self.part.display(), self.note.display())
    }

    /// As [`Self::names`], of files that an earlier process left beside a target; `None` if there are none.
    pub fn left_beside(target: &Path) -> Option<String> {
        let [part, note] = ["part", "resume"].map(|end| beside(target, end).ok());
        let (part, note) = (part?, note?);
        (part.is_file() && note.is_file()).then(|| format!("{} and {}", part.display(), note.display()))
    }

    /// Writes bytes.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.write_all(bytes).map_err(Error::io("write", &self.part))?;
        self.sum.update(bytes);
        self.bytes += bytes.len() as u64;
        Ok(())
    }

    /// Everything that was written counts from now on.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn mark<S: Serialize>(&mut self, state: &S) -> Result<()> {
        let note = Note { bytes: self.bytes, xxh3: self.sum.digest(), state };
        let new = self.note.with_extension("resume.new");
        let text = serde_json::to_vec(&note).map_err(|error| Error::io("write", &new)(error.into()))?;
        fs::write(&new, text).map_err(Error::io("write", &new))?;
        fs::rename(&new, &self.note).map_err(Error::io("rename to", &self.note))?;
        self.marked = true;
        Ok(())
    }

    /// It is complete: the target has the bytes, and nothing lies beside it.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn finish(mut self) -> Result<()> {
        fs::rename(&self.part, &self.target).map_err(Error::io("rename to", &self.target))?;
        match fs::remove_file(&self.note) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::io("remove", &self.note)(error)),
            _ => {
                self.marked = true;
                Ok(())
            }
        }
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        if !self.marked {
            // nothing counts yet, so there is nothing to go on with; what cannot be removed does no harm
            let _ = fs::remove_file(&self.note);
            let _ = fs::remove_file(&self.part);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(dir: &Path) -> Vec<String> {
        let mut names: Vec<_> =
            fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn test_what_is_behind_the_last_mark_is_cut_off() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("run");
        let (mut partial, left) = Partial::open::<u32>(&target).unwrap();
        assert_eq!(left, Left::Nothing);
        assert!(Partial::open::<u32>(&target).is_err_and(|error| error.to_string().contains("another process")));
        partial.begin().unwrap();
        partial.write(b"one ").unwrap();
        partial.mark(&1u32).unwrap();
        partial.write(b"lost").unwrap();
        drop(partial);
        assert_eq!(files(dir.path()), [".run.part", ".run.resume"]);
        let (mut partial, left) = Partial::open::<u32>(&target).unwrap();
        assert_eq!(left, Left::State(1));
        partial.begin().unwrap();
        partial.write(b"two").unwrap();
        partial.finish().unwrap();
        assert_eq!(fs::read_to_string(&target).unwrap(), "one two");
        assert_eq!(files(dir.path()), ["run"]);
    }

    #[test]
    fn test_files_that_do_not_fit_begin_anew() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("run");
        let damages: [(&str, &[u8]); 5] = [
            (".run.part", b"one"),
            (".run.part", b"onE "),
            (".run.part", b""),
            (".run.resume", b"{"),
            (".run.resume", b""),
        ];
        for (name, damage) in damages {
            let (mut partial, _) = Partial::open::<u32>(&target).unwrap();
            partial.begin().unwrap();
            partial.write(b"one ").unwrap();
            partial.mark(&1u32).unwrap();
            drop(partial);
            fs::write(dir.path().join(name), damage).unwrap();
            let (mut partial, left) = Partial::open::<u32>(&target).unwrap();
            assert_eq!(left, Left::Unsound, "{name}");
            partial.begin().unwrap();
            partial.write(b"anew").unwrap();
            partial.finish().unwrap();
            assert_eq!(
                (fs::read_to_string(&target).unwrap().as_str(), files(dir.path())),
                ("anew", vec!["run".to_owned()])
            );
            fs::remove_file(&target).unwrap();
        }
        drop(Partial::open::<u32>(&target).unwrap());
        assert_eq!(files(dir.path()), [""; 0], "nothing was marked");
        assert!(Partial::open::<u32>(dir.path()).is_err());
    }
}
