//! A file of the index in the making: buffered, counted and checksummed as it is written.

use crate::index::format::manifest::FileSpec;
use crate::{Error, Result};
use std::fs::File;
use std::io::{BufReader, BufWriter, Read as _, Write as _};
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::Xxh3;

const BUFFER: usize = 1 << 18;

/// Writes one file front to back.
pub(in crate::index) struct Output {
    name: String,
    path: PathBuf,
    file: BufWriter<File>,
    hash: Box<Xxh3>,
    bytes: u64,
}

impl Output {
    /// Creates `dir/name`; a folder in `name` must exist.
    pub(in crate::index) fn create(dir: &Path, name: &str) -> Result<Self> {
        let path = dir.join(name);
        let file = File::create(&path).map_err(Error::io("create", &path))?;
        let file = BufWriter::with_capacity(BUFFER, file);
        Ok(Self { name: name.to_owned(), path, file, hash: Box::new(Xxh3::new()), bytes: 0 })
    }

    /// Where it lies.
    pub(in crate::index) fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes written so far.
    pub(in crate::index) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Words written so far; only for files of whole words.
    pub(in crate::index) fn words(&self) -> u64 {
        self.bytes / 4
    }

    /// Appends bytes.
    pub(in crate::index) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.hash.update(bytes);
        self.bytes += bytes.len() as u64;
        self.file.write_all(bytes).map_err(Error::io("write", &self.path))
    }

    /// Appends words, little-endian.
    pub(in crate::index) fn write_words(&mut self, words: &[u32]) -> Result<()> {
        if cfg!(target_endian = "little") {
            return self.write(bytemuck::cast_slice(words));
        }
        words.iter().try_for_each(|word| self.write(&word.to_le_bytes()))
    }

    /// Appends 64-bit numbers as two words each, low word first.
    pub(in crate::index) fn write_wide(&mut self, values: &[u64]) -> Result<()> {
        values.iter().try_for_each(|value| self.write(&value.to_le_bytes()))
    }

    /// Appends zero words until `words` are written.
    pub(in crate::index) fn pad_to(&mut self, words: u64) -> Result<()> {
        let zeros = [0u8; 4096];
        while self.bytes < 4 * words {
            let n = (4 * words - self.bytes).min(zeros.len() as u64) as usize;
            self.write(&zeros[..n])?;
        }
        Ok(())
    }

    /// Appends the content of another finished file and removes it.
    pub(in crate::index) fn take_over(&mut self, other: Output) -> Result<()> {
        let path = other.close(false)?.1;
        let mut file = BufReader::new(File::open(&path).map_err(Error::io("open", &path))?);
        let mut buffer = vec![0; BUFFER];
        loop {
            let n = file.read(&mut buffer).map_err(Error::io("read", &path))?;
            if n == 0 {
                break;
            }
            self.write(&buffer[..n])?;
        }
        std::fs::remove_file(&path).map_err(Error::io("remove", &path))
    }

    /// Writes everything to disk and returns the file's entry.
    pub(in crate::index) fn finish(self) -> Result<FileSpec> {
        Ok(self.close(true)?.0)
    }

    fn close(mut self, sync: bool) -> Result<(FileSpec, PathBuf)> {
        self.file.flush().map_err(Error::io("write", &self.path))?;
        if sync {
            self.file.get_ref().sync_all().map_err(Error::io("sync", &self.path))?;
        }
        let xxh3 = format!("{:016x}", self.hash.digest());
        Ok((FileSpec { name: self.name, bytes: self.bytes, xxh3 }, self.path))
    }
}

/// For `fst`, which writes through this trait.
impl std::io::Write for Output {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.file.write_all(bytes)?;
        self.hash.update(bytes);
        self.bytes += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.file.flush()
    }
}
