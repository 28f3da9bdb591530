//! CIFF files among the indexes of a merge.
//!
//! A file is imported to a hidden index first, as an index that it can be merged with: with the analyzer, codecs,
//! impacts and tables of the first index. So all that a merge of finished indexes demands and gives holds for files.

use super::import::{ImportOptions, import};
use crate::codec::Codec;
use crate::index::change::merge::{self, Merge, Merged};
use crate::index::{Index, Unfinished, check_target};
use crate::order::Order;
use crate::text::AnalyzerSpec;
use crate::{Error, Result};
use std::path::PathBuf;
use std::sync::Arc;

/// What is said about CIFF files that they do not say. Where nothing is said, the first index decides.
#[derive(Clone, Debug, Default)]
pub struct Given {
    /// Codecs; without an index `para-ef`.
    pub codecs: Option<Vec<Arc<dyn Codec>>>,
    /// How texts became terms; without an index nobody knows.
    pub analyzer: Option<AnalyzerSpec>,
    /// Whether frequencies are impacts of another program; without an index they are not.
    pub weights: Option<bool>,
}

/// Merges indexes and CIFF files: every input that is no directory is a file.
///
/// # Errors
/// Those of [`import()`] and of [`merge::merge`]. Nothing is at `change.output` then but what was there before.
pub fn merge(change: &Merge<'_>, given: &Given) -> Result<Merged> {
    if change.inputs.iter().all(|path| path.is_dir()) {
        return merge::merge(change);
    }
    check_target(change.output, change.force)?;
    let open = |path: &PathBuf| Index::open(&path.canonicalize().map_err(Error::io("open", path))?);
    let indexes: Vec<Index> = change.inputs.iter().filter(|path| path.is_dir()).map(open).collect::<Result<_>>()?;
    let hidden = Unfinished::beside(change.output)?;
    let mut inputs = Vec::with_capacity(change.inputs.len());
    for (number, path) in change.inputs.iter().enumerate() {
        if path.is_dir() {
            inputs.push(path.clone());
            continue;
        }
        let output = hidden.path().join(number.to_string());
        let mut options =
            ImportOptions { means: change.means.clone(), ..ImportOptions::new(path.clone(), output.clone()) };
        if let Some(first) = indexes.first() {
            options.codecs = first.codecs().map(|codec| codec.shared()).collect();
            options.analyzer = first.manifest().analyzer.clone();
            options.weights = first.manifest().weights();
            options.impacts = change.impacts.is_none() && first.impacts().is_some();
            options.tables = change.tables.is_none() && first.list_tables().is_some();
        }
        options.codecs = given.codecs.clone().unwrap_or(options.codecs);
        options.analyzer = given.analyzer.clone().unwrap_or(options.analyzer);
        options.weights = given.weights.unwrap_or(options.weights);
        import(&options)?;
        inputs.push(output);
    }
    // Files are in the order of their docids; the union is in the order of the indexes, if these agree.
    let order = |index: &Index| index.manifest().order.parse::<Order>().ok();
    let first = indexes.first().and_then(order);
    let same = indexes.iter().all(|index| index.manifest().order == indexes[0].manifest().order);
    let order = change.order.clone().or(first.filter(|order| same && !order.is_input()));
    drop(indexes);
    let all = Merge { inputs: &inputs, order, means: change.means.clone(), ..*change };
    let file_of =
        |(number, file): (usize, &PathBuf)| (hidden.path().join(number.to_string()), file.display().to_string());
    let files: Vec<_> = change.inputs.iter().enumerate().map(file_of).collect();
    merge::merge(&all).map_err(|error| merge::named(error, &files))
}
