//! From paths to files, in the order in which they are read.

use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};

use memchr::memmem;
use walkdir::WalkDir;

use super::part::Part;
use crate::{Error, Result};

/// The end of the name of a hidden directory in which something is made.
pub(crate) const UNFINISHED: &str = ".unfinished";

/// True for what holds no documents below the input but what gamut made of some: an index, finished or not, or its
/// order.
fn is_own(entry: &walkdir::DirEntry) -> bool {
    let name = entry.file_name().to_string_lossy();
    let unfinished = || name.starts_with('.') && name.ends_with(UNFINISHED);
    let path = entry.path();
    match entry.file_type() {
        _ if entry.depth() == 0 => false,
        kind if kind.is_dir() => unfinished() || is_index(path),
        kind if kind.is_file() => order_of(&name).is_some_and(|index| is_order(path, index)),
        _ => false,
    }
}

fn is_index(dir: &Path) -> bool {
    let manifest = dir.join("manifest.json");
    // whatever else has that name may never be read to its end
    if !std::fs::metadata(&manifest).is_ok_and(|manifest| manifest.is_file()) {
        return false;
    }
    let mut start = [0; 64];
    let read = std::fs::File::open(manifest).and_then(|mut file| file.read(&mut start)).unwrap_or(0);
    memmem::find(&start[..read], b"\"gamut-index\"").is_some()
}

/// The name of the index that an order was written for, as `out` of `out.order` and `out.order.2`.
fn order_of(name: &str) -> Option<&str> {
    let (index, number) = name.rsplit_once(".order")?;
    let is_number = number.strip_prefix('.').is_some_and(|digits| digits.bytes().all(|digit| digit.is_ascii_digit()));
    (number.is_empty() || is_number).then_some(index)
}

/// Whether the file lies beside that index, or beside what a process left that was at it.
fn is_order(path: &Path, index: &str) -> bool {
    let Some(folder) = path.parent() else { return false };
    let unfinished = || {
        let prefix = format!(".{index}.");
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let mut names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        names.any(|name| name.starts_with(&prefix) && name.ends_with(UNFINISHED))
    };
    is_index(&folder.join(index)) || unfinished()
}

/// A file of the input before anybody looked into it.
pub(super) struct Found {
    pub(super) path: PathBuf,
    pub(super) name: String,
    /// It was given, and not found in a directory.
    pub(super) named: bool,
    pub(super) bytes: u64,
}

/// The files of some paths, in input order.
pub(super) fn find(paths: &[PathBuf], passed_over: &mut Vec<(PathBuf, String)>) -> Result<Vec<Found>> {
    let mut found = Vec::new();
    for path in paths {
        let meta = std::fs::metadata(path).map_err(Error::io("open", path))?;
        if !meta.is_dir() && !meta.is_file() {
            let why = "is neither a file nor a directory; write a pipe's content to a file first".to_owned();
            return Err(Error::Invalid { what: path.display().to_string(), why });
        }
        if !meta.is_dir() {
            let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
            found.push(Found { path: path.clone(), name, named: true, bytes: meta.len() });
            continue;
        }
        for (path, name) in walk(path, passed_over)? {
            let bytes = std::fs::metadata(&path).map_or(0, |meta| meta.len());
            found.push(Found { path, name, named: false, bytes });
        }
    }
    Ok(found)
}

/// The files that a build of a part opens, in input order, each with the bytes of it that are of the part. Of all other
/// files it wants to know no more than their names and sizes.
///
/// # Errors
/// [`Error::Io`] for a file or directory that is not there or cannot be read.
pub fn files_of(part: Part, paths: &[PathBuf]) -> Result<Vec<(PathBuf, Range<u64>)>> {
    let found = find(paths, &mut Vec::new())?;
    let sizes: Vec<u64> = found.iter().map(|file| file.bytes).collect();
    let files = found.into_iter().map(|file| file.path).zip(part.ranges(&sizes));
    Ok(files.filter(|(_, range)| part.opens(range)).collect())
}

/// The files below a directory with their names relative to it, sorted.
///
/// Unreadable entries below the directory are passed over; the directory itself must be readable. Indexes of gamut and
/// their orders are left out, so that one may be made below its input.
fn walk(root: &Path, passed_over: &mut Vec<(PathBuf, String)>) -> Result<Vec<(PathBuf, String)>> {
    let mut found = Vec::new();
    for entry in WalkDir::new(root).follow_links(true).into_iter().filter_entry(|entry| !is_own(entry)) {
        match entry {
            Ok(entry) if entry.file_type().is_file() => {
                let relative = entry.path().strip_prefix(root).unwrap_or(entry.path());
                let name = relative.to_string_lossy().into_owned();
                found.push((entry.into_path(), name));
            }
            Ok(entry) if entry.file_type().is_dir() => {}
            Ok(entry) => passed_over.push((entry.into_path(), "neither a file nor a directory".to_owned())),
            Err(error) => {
                let (path, depth) = (error.path().unwrap_or(root).to_path_buf(), error.depth());
                let source = error.into_io_error().unwrap_or_else(|| std::io::Error::other("a loop of links"));
                if depth == 0 {
                    return Err(Error::Io { action: "read", path, source });
                }
                passed_over.push((path, source.to_string()));
            }
        }
    }
    found.sort_by(|a, b| natord::compare(&a.1, &b.1).then_with(|| a.0.cmp(&b.0)));
    Ok(found)
}
