//! A build whose documents do not keep the order of the input.
//!
//! The order depends on all documents, so it is known when all are read. The index is built in the input's order in a
//! hidden directory, and reordered from there to its place. `gamut reorder` does the same, and gives the same bytes.
//! With `--resume` the hidden directory stays if the process ends, and so does the index in it once it is complete.

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
    let mut report = match resume::finished(options, &first)? {
        Some(report) => report,
        None => parse::in_input_order(&unordered).map_err(tell)?,
    };

    let began = Instant::now();
    let impacts = options.impacts || options.weights();
    let extras = Extras { impacts, tables: options.tables, means: &options.means };
    let place = Place { output: Some(&options.output), force: options.force, text: None };
    put_in_order(&first, &options.order, place, extras).map_err(tell)?;
    resume::outer_is_done(&dir)?;
    report.order = options.order.to_string();
    report.index = options.output.to_string_lossy().into_owned();
    report.index_bytes = Manifest::read(&options.output)?.files.iter().map(|file| file.bytes).sum();
    report.order_seconds = began.elapsed().as_secs_f64();
    report.seconds += report.order_seconds;
    report.peak_memory = peak_memory();
    rewrite_report(&options.output, &mut report);
    Ok(report)
}
