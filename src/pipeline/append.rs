//! New documents for a finished index.
//!
//! Only they are built, in a hidden directory and with the options that the index says it has. Then both are merged,
//! and the union takes the place of the index in one step.

use std::path::Path;

use super::options::BuildOptions;
use super::ordered::build;
use super::report::BuildReport;
use crate::corpus::{CorpusOptions, Weights};
use crate::index::change::merge::{Merge, Merged, OnDuplicate, merge_held, named};
use crate::index::{Index, Unfinished, hold, index_at};
use crate::order::Order;
use crate::text::{AnalyzerSpec, UNICODE};
use crate::{Error, Result};

/// What was done.
#[derive(Clone, Debug)]
pub struct Appended {
    /// How the new documents were read.
    pub new: BuildReport,
    /// The union.
    pub union: Merged,
}

/// Appends the documents of `options.inputs` to the index at `dir`. Its analyzer, codecs, order, impacts, tables and
/// stored texts decide over those of `options`.
///
/// # Errors
/// Those of [`build`] and of [`merge`](crate::index::change::merge::merge); [`Error::Invalid`] for an index whose words
/// or weights no text gives. The index stays as it was then.
pub fn append(dir: &Path, options: &BuildOptions, on_duplicate: OnDuplicate) -> Result<Appended> {
    let dir = index_at(dir)?;
    let _held = hold(&dir)?;
    let index = Index::open(&dir)?;
    let analyzer = index.manifest().analyzer.clone();
    known(&dir, &analyzer)?;
    makes_lists(&dir, &index, options)?;
    let corpus = CorpusOptions { weights: scaled(&dir, &index, options)?, ..options.corpus.clone() };
    let order: Order = index.manifest().order.parse().map_err(|_| {
        let order = &index.manifest().order;
        let why = format!("has the order {order}, which cannot be made again; reorder it first");
        Error::Invalid { what: dir.display().to_string(), why }
    })?;
    order.check()?;
    let hidden = Unfinished::beside(&dir)?;
    let new = BuildOptions {
        output: hidden.path().join("new"),
        force: false,
        order: Order::input(),
        codecs: index.codecs().map(|codec| codec.shared()).collect(),
        corpus,
        analyzer,
        store_texts: index.has_texts(),
        links: false,
        impacts: false,
        tables: false,
        ..options.clone()
    };
    let (impacts, tables) = (index.impacts().is_some(), index.list_tables().is_some());
    drop(index);
    let report = build(&new)?;
    let change = Merge {
        inputs: &[dir.clone(), new.output.clone()],
        output: &dir,
        force: true,
        order: Some(order),
        on_duplicate,
        impacts: Some(impacts),
        tables: Some(tables),
        shares: None,
        means: options.means.clone(),
    };
    let hidden_names = [(new.output.clone(), "the new documents".to_owned())];
    let union = merge_held(&change).map_err(|error| named(error, &hidden_names))?;
    Ok(Appended { new: report, union })
}

/// Fails if such documents do not give lists like those of the index.
fn makes_lists(dir: &Path, index: &Index, options: &BuildOptions) -> Result<()> {
    let why = if options.weights() {
        if index.manifest().weights() {
            return Ok(());
        }
        "has terms of texts, and the new documents are weights of terms; make an index of its own of them"
    } else if index.manifest().weights() {
        "has weights of another program, which a text does not have; name the field with the weights of the new \
         documents (--vector-field), or merge it with another index of weights"
    } else if index.manifest().analyzer.is_unknown() {
        "has the terms of another program, and nobody knows how it makes them of a text; import the index again with \
         --analyzer"
    } else {
        return Ok(());
    };
    Err(Error::Invalid { what: dir.display().to_string(), why: why.to_owned() })
}

/// The weights that are asked for, by the scale of the index if it says one. Fails if that is not the one asked for.
fn scaled(dir: &Path, index: &Index, options: &BuildOptions) -> Result<Option<Weights>> {
    let Some(weights) = options.corpus.weights.clone() else { return Ok(None) };
    match (index.manifest().imported.as_ref().and_then(|imported| imported.scale), weights.scale) {
        (Some(scale), Some(other)) if other != scale => {
            let why = format!("has weights that were multiplied by {scale}, not by {other}");
            Err(Error::Invalid { what: dir.display().to_string(), why })
        }
        (scale, given) => Ok(Some(Weights { scale: scale.or(given), ..weights })),
    }
}

/// Fails if this gamut would make other words of a text than the one that built the index.
fn known(dir: &Path, analyzer: &AnalyzerSpec) -> Result<()> {
    match &analyzer.unicode {
        Some(unicode) if unicode != UNICODE => {
            let why = format!(
                "has words by Unicode {unicode}, but this gamut makes them by Unicode {UNICODE}; build it again"
            );
            Err(Error::Invalid { what: dir.display().to_string(), why })
        }
        _ => Ok(()),
    }
}
