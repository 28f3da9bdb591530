//! From paths to files, in the order in which they are read.

use std::io::{ErrorKind, Read};
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
        kind => kind.is_file() && names_order(&name) && is_order(path),
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

/// Whether a file has a name as `out.order` and `out.order.2`.
fn names_order(name: &str) -> bool {
    let Some((_, number)) = name.rsplit_once(".order") else { return false };
    let is_number = |digits: &str| !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
    number.is_empty() || number.strip_prefix('.').is_some_and(is_number)
}

/// Whether a file begins as a permutation does: the first document, 0, and its new place, and then the next one.
fn is_order(path: &Path) -> bool {
    let mut start = [0; 32];
    let read = std::fs::File::open(path).and_then(|mut file| file.read(&mut start)).unwrap_or(0);
    let whole = str::from_utf8(&start[..read]).unwrap_or("");
    let number = |text: &str| !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_digit());
    let first = whole.strip_prefix("0 ").and_then(|rest| rest.split_once('\n'));
    first.is_some_and(|(place, rest)| number(place) && (rest.is_empty() || rest.starts_with("1 ")))
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
        let meta = std::fs::metadata(path);
        let is_stream = match &meta {
            Ok(meta) => !meta.is_dir() && !meta.is_file(),
            // standard input, as many programs call it
            Err(error) => error.kind() == ErrorKind::NotFound && path.as_os_str() == "-",
        };
        if is_stream {
            let why = "is neither a file nor a directory; write a pipe's content to a file first".to_owned();
            return Err(Error::Invalid { what: path.display().to_string(), why });
        }
        let meta = meta.map_err(Error::io("open", path))?;
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
