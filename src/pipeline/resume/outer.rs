//! A build in another order than the input's: an index in the input's order in a hidden directory, and around that what
//! a later process needs to go on.

use std::fs;
use std::path::Path;
use std::sync::atomic::Ordering;

use super::super::options::BuildOptions;
use super::super::parse::RUNS;
use super::super::report::{self, BuildReport};
use super::request::Request;
use super::{begin, remove_mark, replace, same_build};
use crate::corpus::Corpus;
use crate::index::{MARK, Manifest, Unfinished};
use crate::{Error, Result};

/// The checksum of the index that was there when a build in another order began; empty if there was none.
const BEFORE: &str = "before";

/// The directory around a build in the input's order, whose index is then put in another: one that was left, or a new
/// one.
///
/// # Errors
/// Those of [`super::open`].
pub(in crate::pipeline) fn open_outer(options: &BuildOptions) -> Result<Unfinished> {
    let request = Request::of(options, &Corpus::open_by(&options.inputs, &options.corpus, &options.means)?)?;
    if let Some(dir) = same_build(options, &request)? {
        return Ok(dir);
    }
    let dir = begin(options, &request)?;
    let (runs, before) = (dir.path().join(RUNS), Manifest::read(&options.output).map(|there| there.checksum));
    replace(&runs, BEFORE, before.unwrap_or_default().as_bytes())?;
    replace(&runs, "mark", &[])?;
    Ok(dir)
}

/// The report of a build in another order than the input's that ended between its publication and the removal of the
/// directory around it, which goes now. None if there is none such.
///
/// # Errors
/// Those of [`super::open`].
pub(in crate::pipeline) fn published(options: &BuildOptions) -> Result<Option<BuildReport>> {
    let Ok(manifest) = Manifest::read(&options.output) else { return Ok(None) };
    if manifest.order != options.order.to_string() {
        return Ok(None);
    }
    let request = Request::of(options, &Corpus::open_by(&options.inputs, &options.corpus, &options.means)?)?;
    let Some(dir) = same_build(options, &request)? else { return Ok(None) };
    // A file of an order that was written since may ask for another one.
    let written = |path: &Path| fs::metadata(path).and_then(|meta| meta.modified()).ok();
    if options.order.file().is_some_and(|order| written(order) > written(&options.output)) {
        return Ok(None);
    }
    let first = dir.path().join("index");
    let before = fs::read_to_string(dir.path().join(RUNS).join(BEFORE));
    // the report is written last
    let report = |dir: &Path| serde_json::from_slice::<BuildReport>(&fs::read(dir.join(report::FILE)).ok()?).ok();
    let report = report(&options.output).or_else(|| report(&first));
    let is_this = before.is_ok_and(|before| before != manifest.checksum)
        && Manifest::read(&first).is_ok_and(|first| is_reordered(&manifest, &first, options));
    match report.filter(|_| is_this) {
        Some(report) => {
            outer_is_done(&dir)?;
            Ok(Some(BuildReport {
                order: manifest.order,
                index: options.output.to_string_lossy().into_owned(),
                ..report
            }))
        }
        None => Ok(None),
    }
}

/// Whether an index is what becomes of `first` when it is put in another order by these options, as far as manifests
/// tell.
fn is_reordered(index: &Manifest, first: &Manifest, options: &BuildOptions) -> bool {
    let rest = |manifest: &Manifest| {
        let (order, files, checksum) = (String::new(), Vec::new(), String::new());
        let mut rest = Manifest { order, files, checksum, ..manifest.clone() };
        rest.impacts.maximum = None;
        rest
    };
    let file = |manifest: &Manifest, name: &str| manifest.files.iter().find(|file| file.name == name).cloned();
    let has = |name: &str| file(index, name).is_some();
    // terms keep their numbers
    rest(index) == rest(first)
        && file(index, "terms.fst") == file(first, "terms.fst")
        && has("text.zst") == file(first, "text.zst").is_some()
        && has("impacts.bin") == (options.impacts || options.weights())
        && has("tables.bin") == options.tables
}

/// The error of a build in another order than the input's, with what is safe: the inner build says so itself, and all
/// is once that is complete.
pub(in crate::pipeline) fn outer_is_safe(why: Error, dir: &Unfinished, first: &Path) -> Error {
    let manifest = Manifest::read(first).ok();
    let documents = match (&why, manifest) {
        (Error::Unfinished { .. }, _) => None,
        (_, Some(manifest)) if dir.path().join(MARK).is_file() => Some(manifest.statistics.documents),
        _ => {
            dir.keep().store(false, Ordering::Relaxed);
            return why;
        }
    };
    dir.keep().store(true, Ordering::Relaxed);
    match documents {
        Some(documents) => Error::Unfinished { why: Box::new(why), documents, folder: dir.path().to_owned() },
        None => why,
    }
}

/// Nothing of the directory around a build is needed any more: it goes when dropped. Its mark goes first, so that
/// nobody goes on with half of it.
///
/// # Errors
/// [`Error::Io`].
pub(in crate::pipeline) fn outer_is_done(dir: &Unfinished) -> Result<()> {
    dir.keep().store(false, Ordering::Relaxed);
    remove_mark(dir.path())
}

/// The report of the complete index in the input's order, if an earlier process came so far. Removes half of one.
///
/// # Errors
/// [`Error::Io`].
pub(in crate::pipeline) fn finished(options: &BuildOptions, first: &Path) -> Result<Option<BuildReport>> {
    if !options.resume || !first.exists() {
        return Ok(None);
    }
    let report = fs::read(first.join(report::FILE)).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let report = report.filter(|_| Manifest::read(first).is_ok());
    if report.is_none() {
        fs::remove_dir_all(first).map_err(Error::io("remove", first))?;
    }
    Ok(report)
}
