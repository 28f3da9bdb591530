//! A build whose documents do not keep the order of the input.
//!
//! The order depends on all documents, so it is known when all are read. The index is built in the input's order in a
//! hidden directory, and reordered from there to its place. `gamut reorder` does the same, and gives the same bytes.
//! With `--resume` the hidden directory stays if the process ends, and so does the index in it once it is complete.

use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Instant;

use super::assemble::rewrite_report;
use super::options::BuildOptions;
use super::parse;
use super::report::BuildReport;
use super::resume;
use crate::base::memory::peak_memory;
use crate::index::change::orders::{Place, put_in_order};
use crate::index::{Extras, Manifest, Unfinished, check_target};
use crate::order::{Needs, Order};
use crate::{Error, Result};

/// Builds an index, its documents in the order that the options ask for.
///
/// # Errors
/// Every [`Error`]; nothing is left at `options.output` but what was there before.
pub fn build(options: &BuildOptions) -> Result<BuildReport> {
    if options.order.is_input() {
        return parse::in_input_order(options);
    }
    if options.order.needs() == Needs::Urls && !options.store_urls {
        return Err(Error::Invalid {
            what: format!("order {}", options.order),
            why: "needs URLs, but this build leaves them out".to_owned(),
        });
    }
    options.order.check()?;
    if options.resume
        && !options.force
        && let Some(report) = resume::published(options)?
    {
        return Ok(report);
    }
    check_target(&options.output, options.force)?;
    let dir = if options.resume { resume::open_outer(options)? } else { Unfinished::beside(&options.output)? };
    let first = dir.path().join("index");
    let tell = |why| resume::outer_is_safe(why, &dir, &first);
    let unordered = BuildOptions {
        output: first.clone(),
        force: false,
        order: Order::input(),
        // They are made where their postings end up.
        impacts: false,
        tables: false,
        links: options.links || options.order.needs() == Needs::Links,
        ..options.clone()
    };
    let mut left = resume::finished(options, &first)?;
    let (mut report, began) = loop {
        let was_left = left.is_some();
        let report = match left.take() {
            Some(report) => report,
            None => parse::in_input_order(&unordered).map_err(tell)?,
        };
        let began = Instant::now();
        let impacts = options.impacts || options.weights();
        let extras = Extras { impacts, tables: options.tables, means: &options.means };
        let place = Place { output: Some(&options.output), force: options.force, text: None };
        match put_in_order(&first, &options.order, place, extras) {
            Ok(_) => break (report, began),
            // Of an index that another process left and that is damaged, nothing can be made.
            Err(error @ Error::Damaged { .. }) if was_left && is_in(&error, &first) => {
                options.means.progress.note(&format!("warning: {error}; the build begins anew"));
                std::fs::remove_dir_all(&first).map_err(Error::io("remove", &first))?;
            }
            // Whoever comes again finds no URLs either. (A permutation may be another one then.)
            Err(why) if lacks_urls(&why, options) => {
                dir.keep().store(false, Ordering::Relaxed);
                return Err(why);
            }
            Err(why) => return Err(tell(why)),
        }
    };
    report.order = options.order.to_string();
    report.index = options.output.to_string_lossy().into_owned();
    report.index_bytes = Manifest::read(&options.output)?.files.iter().map(|file| file.bytes).sum();
    report.order_seconds = began.elapsed().as_secs_f64();
    report.seconds += report.order_seconds;
    report.peak_memory = peak_memory();
    rewrite_report(&options.output, &mut report);
    resume::outer_is_done(&dir)?;
    Ok(report)
}

/// Whether it is about a file of this directory.
fn is_in(error: &Error, dir: &Path) -> bool {
    let Ok(dir) = dir.canonicalize() else { return false };
    matches!(error, Error::Damaged { path, .. } if path.starts_with(dir))
}

fn lacks_urls(error: &Error, options: &BuildOptions) -> bool {
    matches!(error, Error::Invalid { what, .. } if options.order.needs() == Needs::Urls && what.starts_with("order"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sort::SorterChoice;

    /// As if the process had ended before the directory around the build was removed.
    #[test]
    fn test_a_build_that_ended_behind_its_publication_is_done() {
        let dir = tempfile::tempdir().unwrap();
        let (input, output) = (dir.path().join("in.jsonl"), dir.path().join("out"));
        let line = |i: u32| format!("{{\"id\": \"d{i}\", \"contents\": \"word{} and more\"}}\n", i % 9);
        std::fs::write(&input, (0..300).map(line).collect::<String>()).unwrap();
        let options = BuildOptions {
            order: "random:1".parse().unwrap(),
            resume: true,
            sorter: SorterChoice::parse("cpu").unwrap(),
            ..BuildOptions::new(vec![input], output.clone())
        };
        // as an earlier process left it
        let leave = || {
            let outer = resume::open_outer(&options).unwrap();
            let first = BuildOptions { output: outer.path().join("index"), order: Order::input(), ..options.clone() };
            parse::in_input_order(&first).unwrap();
            outer.keep().store(true, Ordering::Relaxed);
        };
        leave();
        let report = build(&BuildOptions { resume: false, ..options.clone() }).unwrap();
        let names = || std::fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name());
        let hidden = || names().filter(|name| name.to_string_lossy().starts_with('.')).count();
        assert_eq!(hidden(), 1);
        let again = build(&options).unwrap();
        assert_eq!((again.documents, again.order, again.index), (report.documents, report.order, report.index));
        assert_eq!(hidden(), 0);
        // nothing was left, so a second one is refused
        assert!(matches!(build(&options), Err(Error::Exists { .. })));
        // an index that was there before is not this build's, and what was left stays
        leave();
        assert!(matches!(build(&options), Err(Error::Exists { .. })));
        assert_eq!(hidden(), 1);
        // nor is one with other files
        std::fs::remove_dir_all(&output).unwrap();
        build(&BuildOptions { resume: false, tables: true, ..options.clone() }).unwrap();
        assert!(matches!(build(&options), Err(Error::Exists { .. })));
        assert_eq!(hidden(), 1);
        // another order is another build, whatever was left of this one
        let other = BuildOptions { order: "random:2".parse().unwrap(), ..options };
        assert!(build(&other).is_err());
    }
}
