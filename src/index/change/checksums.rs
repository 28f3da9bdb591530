//! Files of an index beside what its manifest says of them.

use crate::error::damaged;
use crate::index::format::manifest::FileSpec;
use crate::index::read::reader::Index;
use crate::index::write::output::each;
use crate::{Error, Result};
use rayon::prelude::*;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use xxhash_rust::xxh3::Xxh3;

/// No more problems than this are kept; the rest is counted.
const KEPT: usize = 100;

/// What is wrong with an index, found by several threads.
#[derive(Default)]
pub(super) struct Problems {
    kept: Mutex<Vec<Error>>,
    count: AtomicU64,
}

impl Problems {
    pub(super) fn add(&self, problem: Error) {
        self.count.fetch_add(1, Ordering::Relaxed);
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() < KEPT {
            kept.push(problem);
        }
    }

    pub(super) fn take<T>(&self, result: Result<T>) -> Option<T> {
        result.map_err(|problem| self.add(problem)).ok()
    }

    pub(super) fn none(&self) -> bool {
        self.count.load(Ordering::Relaxed) == 0
    }

    /// Whether a problem was said already, in the same words.
    pub(super) fn has(&self, problem: &Error) -> bool {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter().any(|other| other.to_string() == problem.to_string())
    }

    pub(super) fn check(&self, sound: bool, path: &Path, offset: u64, what: impl FnOnce() -> String) {
        if !sound {
            self.add(damaged(path, offset, what()));
        }
    }

    /// The first ones, and how many there are.
    pub(super) fn all(self) -> (Vec<Error>, u64) {
        (self.kept.into_inner().unwrap_or_else(PoisonError::into_inner), self.count.into_inner())
    }
}

/// Fails if the content of one of these files of an index does not match its manifest: an index made from a damaged one
/// would be damaged, with right checksums.
pub(in crate::index) fn checksums<'a>(index: &Index, files: impl IntoIterator<Item = &'a FileSpec>) -> Result<()> {
    let problems = Problems::default();
    let files: Vec<_> = files.into_iter().collect();
    let _: u64 = files.into_par_iter().map(|file| checksum(index.dir(), file, &problems)).sum();
    // else it is another index that was looked at
    index.in_place()?;
    problems.all().0.into_iter().next().map_or(Ok(()), Err)
}

/// Compares a file with its length and its checksum; its bytes.
pub(super) fn checksum(dir: &Path, spec: &FileSpec, problems: &Problems) -> u64 {
    let path: PathBuf = dir.join(&spec.name);
    let read = || -> Result<(u64, u64)> {
        let file = File::open(&path).map_err(Error::io("open", &path))?;
        let (mut hash, mut bytes) = (Xxh3::new(), 0);
        each(file, &path, |part| {
            bytes += part.len() as u64;
            hash.update(part);
            Ok(())
        })?;
        Ok((bytes, hash.digest()))
    };
    let Some((bytes, digest)) = problems.take(read()) else { return 0 };
    if let Err(problem) = spec.has_length(&path, bytes) {
        problems.add(problem);
        return bytes;
    }
    let found = format!("{digest:016x}");
    problems.check(found == spec.xxh3, &path, 0, || {
        format!(
            "checksum {found} of its {bytes} bytes, but the manifest says {}; somewhere in the file bytes have changed",
            spec.xxh3
        )
    });
    bytes
}
