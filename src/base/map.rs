//! Mapped files, which may shrink while they are read.
//!
//! A file is mapped here and nowhere else. The system answers a read behind the end of a file that was truncated, or of
//! a page that the disk does not give, with SIGBUS, which would end the process. So every map has a row in a table that
//! never shrinks, and a handler of SIGBUS looks the address up there:
//!
//! 1. It notes the fault in the row.
//! 2. It puts zero pages under the map from the faulting page on.
//! 3. It returns, and the read goes on and finds zeros.
//!
//! Nothing is unwound and no lock is taken. Whoever read from a map asks its [`Watch`] before a result leaves, and
//! drops the result if the file has changed. A fault at any other address goes to the handler that was there before.

use std::fs::File;
use std::io;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use memmap2::{Advice, Mmap};

mod fault;

/// A file, mapped for reading.
pub struct Map {
    map: Mmap,
    watch: Arc<Watch>,
}

impl Map {
    /// Maps a file.
    ///
    /// # Errors
    /// Of the operating system.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let modified = file.metadata()?.modified().ok();
        // SAFETY: the map is only read, and nobody relies on its bytes: whoever reads from it expects any byte at any
        // place. Pages that the file loses become zeros, as said above.
        let map = unsafe { Mmap::map(&file) }?;
        let row = fault::Row::new(&map);
        let watch = Arc::new(Watch { path: path.to_owned(), file, bytes: map.len() as u64, modified, row });
        Ok(Self { map, watch })
    }

    /// What knows whether the file has changed; it outlives the map.
    pub fn watch(&self) -> &Arc<Watch> {
        &self.watch
    }

    /// Says that the file will be read from front to back.
    pub fn advise_sequential(&self) {
        // Only a hint.
        let _ = self.map.advise(Advice::Sequential);
    }

    /// Takes a range that has been read out of the process's memory. The system keeps it cached as long as it likes,
    /// but it counts no longer as memory in use.
    pub fn release(&self, from: usize, to: usize) {
        let to = to.min(self.map.len());
        if from < to {
            // SAFETY: the map is shared and never written to through it: a page that is touched again, by whomever,
            // comes back with the bytes of the file, or with zeros after a fault.
            let result =
                unsafe { self.map.unchecked_advise_range(memmap2::UncheckedAdvice::DontNeed, from, to - from) };
            // Only memory is at stake.
            let _ = result;
        }
    }
}

/// Bytes that are asked for at a time, and of which one page tells whether the others are there.
const AHEAD: usize = 4 << 20;

/// Asks the system to read mapped bytes that are not in its page cache, until it is told to stop, and returns how many
/// bytes it asked for. It does not wait for the last of them. Where all are there it takes one call for each 4 MiB.
/// Linux tells what is there only to who owns the file or may write to it. To others all seems to be, and nothing is
/// asked for.
pub fn read_ahead(mapped: &[u8], stop: &AtomicBool) -> usize {
    let page = fault::page();
    let (start, end) = (mapped.as_ptr() as usize / page * page, mapped.as_ptr() as usize + mapped.len());
    let mut asked = 0;
    for at in (start..end).step_by(AHEAD).take_while(|_| !stop.load(Ordering::Relaxed)) {
        let bytes = AHEAD.min(end - at);
        let mut there = 0;
        // SAFETY: `at` is the beginning of a page of the map, and so is the last page of these bytes. The first call
        // writes a byte for that one page; neither touches what is mapped.
        unsafe {
            let last = (at + (bytes - 1) / page * page) as *mut libc::c_void;
            if libc::mincore(last, 1, &raw mut there) == 0 && there & 1 == 0 {
                // Only a hint.
                libc::madvise(at as *mut libc::c_void, bytes, libc::MADV_WILLNEED);
                asked += bytes;
            }
        }
    }
    asked
}

impl Deref for Map {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.map
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        // Before the addresses go to somebody else.
        self.watch.row.unmap();
    }
}

/// Watches over a file that is, or was, mapped.
pub struct Watch {
    path: PathBuf,
    file: File,
    bytes: u64,
    modified: Option<SystemTime>,
    row: fault::Row,
}

/// A file that is no longer what it was when it was mapped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    /// The file.
    pub path: PathBuf,
    /// What is known about the change.
    pub what: String,
}

impl Watch {
    fn changed(&self, what: String) -> Changed {
        Changed { path: self.path.clone(), what }
    }

    /// Whether a part of the map had to be replaced by zeros. Takes no system call.
    ///
    /// # Errors
    /// It had to.
    pub fn not_faulted(&self) -> Result<(), Changed> {
        if !self.row.faulted() {
            return Ok(());
        }
        Err(match self.file.metadata() {
            Ok(meta) if meta.len() < self.bytes => self.resized(self.bytes, meta.len()),
            _ => self.changed("a part of it could not be read, or was gone for a while".to_owned()),
        })
    }

    /// It has another length.
    fn resized(&self, was: u64, is: u64) -> Changed {
        self.changed(format!("it had {was} bytes and now has {is}"))
    }

    /// Whether the file still has the first `bytes` bytes, as far as can be known: bytes that were replaced by others
    /// go unnoticed.
    ///
    /// # Errors
    /// It became shorter, or could not be read.
    pub fn not_shrunk(&self, bytes: u64) -> Result<(), Changed> {
        match self.file.metadata() {
            // A map can also be shorter than the file was when somebody else looked at it.
            Ok(meta) if meta.len().min(self.bytes) < bytes => Err(self.resized(bytes, meta.len().min(self.bytes))),
            _ => self.not_faulted(),
        }
    }

    /// Whether the file is as it was: read without a fault, with the same length, and not written to.
    ///
    /// # Errors
    /// It is not.
    pub fn unchanged(&self) -> Result<(), Changed> {
        self.not_faulted()?;
        match self.file.metadata() {
            Ok(meta) if meta.len() != self.bytes => Err(self.resized(self.bytes, meta.len())),
            Ok(meta) if meta.modified().ok() != self.modified => Err(self.changed("it was written to".to_owned())),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
