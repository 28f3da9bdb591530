//! A build whose documents do not keep the order of the input.
//!
//! The order depends on all documents, so it is known when all are read. The index is built in the input's order in a
//! hidden directory, and reordered from there to its place. `gamut reorder` does the same, and gives the same bytes.

use std::time::Instant;

use super::assemble::write_report;
use super::options::BuildOptions;
use super::parse;
use super::report::BuildReport;
use crate::base::memory::peak_memory;
use crate::index::change::orders::permutation;
use crate::index::change::reorder::{Reorder, reorder};
use crate::index::{Manifest, check_target, temporary_beside};
use crate::order::{Needs, Order, Permutation};
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
    let dir = temporary_beside(&options.output)?;
    let first = dir.path().join("index");
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
    let mut report = parse::in_input_order(&unordered)?;

    let began = Instant::now();
    let permutation = permutation(&first, &options.order, &options.means)?;
    let change = Reorder {
        permutation: &permutation,
        order: options.order.to_string(),
        output: Some(&options.output),
        force: options.force,
        impacts: options.impacts,
        tables: options.tables,
        means: options.means.clone(),
    };
    let text = Permutation::path_beside(&options.output);
    permutation.write(&text)?;
    reorder(&first, &change).inspect_err(|_| drop(std::fs::remove_file(&text)))?;
    report.order = options.order.to_string();
    report.index = options.output.to_string_lossy().into_owned();
    report.index_bytes = Manifest::read(&options.output)?.files.iter().map(|file| file.bytes).sum();
    report.order_seconds = began.elapsed().as_secs_f64();
    report.seconds += report.order_seconds;
    report.peak_memory = peak_memory();
    write_report(&options.output, &report)?;
    Ok(report)
}
