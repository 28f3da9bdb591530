//! A file of the index in the making: buffered, counted and checksummed as it is written.

use crate::error::{damaged, gone};
use crate::index::format::manifest::FileSpec;
use crate::{Error, Result};
use std::fs::File;
use std::io::{BufWriter, ErrorKind, Read as _, Seek as _, SeekFrom, Write as _};
#[cfg(target_os = "linux")]
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::Xxh3;

const BUFFER: usize = 1 << 18;
/// After so many bytes the disk gets them, while the next ones are made: so it has little to do when a file is synced.
const BEHIND: u64 = 8 << 20;

/// Calls `visit` with all that a file has, part by part.
pub(in crate::index) fn each(
    mut file: impl std::io::Read,
    path: &Path,
    mut visit: impl FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    let mut buffer = vec![0; BUFFER];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(n) => visit(&buffer[..n])?,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(Error::io("read", path)(error)),
        }
    }
}

/// A checksum as the manifest writes it.
fn sum(hash: &Xxh3) -> String {
    format!("{:016x}", hash.digest())
}

/// Asks the system to hand some bytes of a file to the disk. Whether it does is told when the file is synced.
fn begin_writing(file: &File, at: u64, len: u64) {
    #[cfg(target_os = "linux")]
    if let (Ok(at), Ok(len)) = (i64::try_from(at), i64::try_from(len)) {
        // SAFETY: the descriptor is open, and the call reads no memory of ours.
        unsafe { libc::sync_file_range(file.as_raw_fd(), at, len, libc::SYNC_FILE_RANGE_WRITE) };
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (file, at, len);
}

/// Writes one file front to back.
pub(crate) struct Output {
    name: String,
    path: PathBuf,
    file: BufWriter<File>,
    hash: Box<Xxh3>,
    bytes: u64,
    /// Bytes that the disk has, or is getting.
    begun: u64,
}

impl Output {
    /// Creates `dir/name`; a folder in `name` must exist.
    pub(crate) fn create(dir: &Path, name: &str) -> Result<Self> {
        let path = dir.join(name);
        let file = File::create(&path).map_err(Error::io("create", &path))?;
        let file = BufWriter::with_capacity(BUFFER, file);
        Ok(Self { name: name.to_owned(), path, file, hash: Box::new(Xxh3::new()), bytes: 0, begun: 0 })
    }

    /// Goes on with `dir/name` behind the bytes that `left` counts; what the file has behind them is cut off.
    ///
    /// # Errors
    /// [`Error::Damaged`] if the file has other bytes; [`Error::Io`].
    pub(crate) fn reopen(dir: &Path, left: &FileSpec) -> Result<Self> {
        let path = dir.join(&left.name);
        let file = File::options().read(true).write(true).open(&path).map_err(gone(&path))?;
        let mut hash = Box::new(Xxh3::new());
        let mut bytes = 0;
        each((&file).take(left.bytes), &path, |part| {
            hash.update(part);
            bytes += part.len() as u64;
            Ok(())
        })?;
        if bytes != left.bytes || sum(&hash) != left.xxh3 {
            return Err(damaged(&path, 0, format!("the first {} bytes are not what gamut wrote there", left.bytes)));
        }
        let cut = file.set_len(bytes).and_then(|()| (&file).seek(SeekFrom::Start(bytes)));
        cut.map_err(Error::io("write to", &path))?;
        let file = BufWriter::with_capacity(BUFFER, file);
        Ok(Self { name: left.name.clone(), path, file, hash, bytes, begun: bytes })
    }

    /// Hands all bytes to the system, and says which they are, for [`Self::reopen`].
    pub(crate) fn mark(&mut self) -> Result<FileSpec> {
        self.file.flush().map_err(Error::io("write", &self.path))?;
        Ok(FileSpec { name: self.name.clone(), bytes: self.bytes, xxh3: sum(&self.hash) })
    }

    /// The same file, to sync what was handed to the system.
    pub(crate) fn handle(&self) -> Result<File> {
        self.file.get_ref().try_clone().map_err(Error::io("open", &self.path))
    }

    /// Where it lies.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes written so far.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Words written so far; only for files of whole words.
    pub(crate) fn words(&self) -> u64 {
        self.bytes / 4
    }

    /// Appends bytes.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.hash.update(bytes);
        self.bytes += bytes.len() as u64;
        self.file.write_all(bytes).map_err(Error::io("write", &self.path))?;
        if self.bytes - self.begun >= BEHIND {
            begin_writing(self.file.get_ref(), self.begun, self.bytes - self.begun);
            self.begun = self.bytes;
        }
        Ok(())
    }

    /// Appends words, little-endian.
    pub(crate) fn write_words(&mut self, words: &[u32]) -> Result<()> {
        if cfg!(target_endian = "little") {
            return self.write(bytemuck::cast_slice(words));
        }
        words.iter().try_for_each(|word| self.write(&word.to_le_bytes()))
    }

    /// Appends 64-bit numbers as two words each, low word first.
    pub(crate) fn write_wide(&mut self, values: &[u64]) -> Result<()> {
        values.iter().try_for_each(|value| self.write(&value.to_le_bytes()))
    }

    /// Appends zero words until `words` are written.
    pub(crate) fn pad_to(&mut self, words: u64) -> Result<()> {
        let zeros = [0u8; 4096];
        while self.bytes < 4 * words {
            let n = (4 * words - self.bytes).min(zeros.len() as u64) as usize;
            self.write(&zeros[..n])?;
        }
        Ok(())
    }

    /// Appends the content of another finished file and removes it.
    pub(crate) fn take_over(&mut self, other: Output) -> Result<()> {
        let path = other.close(false)?.1;
        each(File::open(&path).map_err(Error::io("open", &path))?, &path, |part| self.write(part))?;
        std::fs::remove_file(&path).map_err(Error::io("remove", &path))
    }

    /// Writes everything to disk and returns the file's entry.
    pub(crate) fn finish(self) -> Result<FileSpec> {
        Ok(self.close(true)?.0)
    }

    fn close(mut self, sync: bool) -> Result<(FileSpec, PathBuf)> {
        self.file.flush().map_err(Error::io("write", &self.path))?;
        if sync {
            self.file.get_ref().sync_all().map_err(Error::io("sync", &self.path))?;
        }
        let xxh3 = sum(&self.hash);
        Ok((FileSpec { name: self.name, bytes: self.bytes, xxh3 }, self.path))
    }
}
