//! A build whose documents do not keep the order of the input.
//!
//! The order is a matter of all documents, so it is known when all are read: the index is built in the input's order in a
//! hidden directory, and reordered from there to its place. That is the way of `gamut reorder`, and gives its bytes.

use std::sync::Arc;
use std::time::Instant;

use super::assemble::write_report;
use super::options::{BuildOptions, Progress, phases};
use super::report::BuildReport;
use super::{pipeline, plan};
use crate::index::orders::{Means, permutation};
use crate::index::reorder::{Reorder, reorder};
use crate::index::{Manifest, check_target, temporary_beside};
use crate::order::{Order, Permutation};
use crate::{Error, Result};

/// Builds an index, in the order that the options ask for.
///
/// # Errors
/// Every [`Error`]; nothing is left at `options.output` but what was there before.
pub fn build(options: &BuildOptions, progress: Arc<dyn Progress>) -> Result<BuildReport> {
    match &options.order {
        Order::Input => return pipeline::build(options, progress),
        Order::Url if !options.store_urls => {
            return Err(Error::Invalid {
                what: "--order url".to_owned(),
                why: "needs the URLs that --no-urls leaves out".to_owned(),
            });
        }
        Order::File(path) => Permutation::check_file(path)?,
        _ => {}
    }
    check_target(&options.output, options.force)?;
    let dir = temporary_beside(&options.output)?;
    let first = dir.path().join("index");
    let unordered = BuildOptions {
        output: first.clone(),
        force: false,
        order: Order::Input,
        // They are quantised where their postings end up.
        impacts: false,
        links: options.links || options.order == Order::PageRank,
        ..options.clone()
    };
    let mut report = pipeline::build(&unordered, progress.clone())?;

    let began = Instant::now();
    let heard = phases(progress.as_ref());
    let means = Means { memory: report.plan.budget, threads: report.plan.threads, cancel: &options.cancel };
    let permutation = permutation(&first, &options.order, &means, &heard)?;
    let change = Reorder {
        permutation: &permutation,
        order: options.order.to_string(),
        output: Some(&options.output),
        force: options.force,
        impacts: options.impacts,
        threads: report.plan.threads,
        memory: report.plan.budget,
        cancel: &options.cancel,
    };
    let text = Permutation::path_beside(&options.output);
    permutation.write(&text)?;
    reorder(&first, &change, &heard).inspect_err(|_| drop(std::fs::remove_file(&text)))?;
    report.order = options.order.to_string();
    report.index = options.output.to_string_lossy().into_owned();
    report.index_bytes = Manifest::read(&options.output)?.files.iter().map(|file| file.bytes).sum();
    report.order_seconds = began.elapsed().as_secs_f64();
    report.seconds += report.order_seconds;
    report.peak_memory = plan::peak_memory();
    write_report(&options.output, &report)?;
    Ok(report)
}
