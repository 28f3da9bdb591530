//! Several finished indexes as one: the index that a build of all their inputs, one after the other, gives.
//!
//! Documents follow each other, so the docIDs of an index move up by the documents before it. TermIDs are numbered
//! again: those of the first index stay, and new terms of each later one follow in their own order. Dictionaries are
//! merged in byte order, and then every list is read from all indexes that have it. Score bounds depend on the whole
//! collection, so all postings are decoded for them; blocks of docIDs that would be encoded as they were are copied.
//!
//! | file | its one job |
//! |---|---|
//! | `imported` | what a union of imported indexes says about its collection |
//! | `input` | an index that is merged, and which options must agree |
//! | `duplicates` | documents with the same external id |
//! | `parts` | parts of a crawl that are missing, or not in their order |
//! | `rows` | the tables of an index, read front to back |
//! | `walks` | the dictionaries, walked together |
//! | `terms` | the dictionaries as one, and the new termIDs |
//! | `lists` | the lists of all indexes as one |
//! | `documents` | names, lengths and texts |
//! | [`share`](Share) | lists that other processes encode |
//! | `spool` | the file of such lists |
//! | `shared` | makes such files, and takes them |
//!
//! An index in another order than the input's goes back to that by its `input.bin`. The union is then made in the
//! order of the input in a hidden directory, and reordered from there as in a build.

mod documents;
mod duplicates;
mod imported;
mod input;
mod lists;
mod parts;
mod rows;
mod share;
mod shared;
mod spool;
mod terms;
mod walks;

#[cfg(test)]
mod tests;

use super::checksums;
use super::orders::permutation;
use super::reorder::{Reorder, reorder};
use crate::base::in_order::joined;
use crate::base::means::Means;
use crate::index::format::manifest::index_at;
use crate::index::read::reader::Index;
use crate::index::write::publish;
use crate::index::write::unfinished::{Unfinished, hold};
use crate::index::write::writer::{Extras, IndexWriter, ManifestFields};
use crate::index::{Imported, Manifest, Statistics};
use crate::order::{Needs, Order};
use crate::{Error, Result};
use input::Input;
use lists::Lists;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;
use terms::Numbers;

pub use duplicates::OnDuplicate;
pub use share::{Found, Share, Shares};
pub use shared::{Encoded, encode_lists, share_of};

/// What to merge.
pub struct Merge<'a> {
    /// The indexes, in the order of their documents; at least one.
    pub inputs: &'a [PathBuf],
    /// Where the new index goes.
    pub output: &'a Path,
    /// Whether an index at `output` may be replaced; it may be one of the inputs.
    pub force: bool,
    /// The order of the new index; if there is none, that which all inputs have.
    pub order: Option<Order>,
    /// What becomes of documents with the same external id.
    pub on_duplicate: OnDuplicate,
    /// Whether to store quantised impacts; if that is not said, all inputs must have them, or none.
    pub impacts: Option<bool>,
    /// Whether to store tables of long lists; the same.
    pub tables: Option<bool>,
    /// Where lists are that other processes encode, by [`encode_lists`].
    pub shares: Option<Shares<'a>>,
    /// What the work may use. Mapped files do not count as memory: the operating system takes their pages back.
    pub means: Means,
}

/// What was done.
#[derive(Clone, Debug)]
pub struct Merged {
    /// Sizes of the new index.
    pub statistics: Statistics,
    /// Documents left out, since another one has their external id.
    pub left_out: u64,
    /// Parts of a crawl that are missing where others of it were merged, such as `3/8`.
    pub missing_parts: Vec<String>,
    /// Whether inputs had ranks by links, which the new index lacks: only a build knows the links.
    pub ranks_gone: bool,
    /// The order of the new index.
    pub order: String,
    /// Bytes of its files.
    pub bytes: u64,
    /// Shares of the lists that came from other processes.
    pub shares_taken: u32,
    /// Seconds of comparing the inputs with their checksums.
    pub check_seconds: f64,
    /// Seconds of merging dictionaries.
    pub terms_seconds: f64,
    /// Seconds of merging lists, documents and texts.
    pub lists_seconds: f64,
    /// Seconds of impacts, tables, and publishing.
    pub finish_seconds: f64,
    /// Seconds of finding the order and reordering.
    pub order_seconds: f64,
}

/// Merges indexes.
///
/// # Errors
/// [`Error::Invalid`] if the indexes differ in what a build would ask for, have duplicates that may not be, or are
/// parts of a crawl that come twice or in another order, [`Error::Exists`], [`Error::Damaged`] if one is damaged,
/// [`Error::Changed`] if somebody wrote to one meanwhile, [`Error::Limit`], [`Error::Memory`], [`Error::Interrupted`],
/// [`Error::Io`]. Nothing is at `output` then but what was there before.
pub fn merge(change: &Merge<'_>) -> Result<Merged> {
    let output = change.output.canonicalize().ok();
    let replaces = |input: &PathBuf| output.is_some() && input.canonicalize().ok() == output;
    let _held = change.inputs.iter().find(|&input| replaces(input)).map(|input| hold(input)).transpose()?;
    merge_held(change)
}

/// [`merge`] for a caller that holds the input whose place the union takes.
pub(crate) fn merge_held(change: &Merge<'_>) -> Result<Merged> {
    let indexes = opened(change.inputs)?;
    let missing_parts = parts::missing(&indexes, change.on_duplicate)?;
    let dropped = |_: &Merge<'_>| duplicates::find(&indexes, change.on_duplicate, &change.means);
    Ok(Merged { missing_parts, ..merge_without(&indexes, dropped, change)? })
}

/// Opens the inputs of a merge.
fn opened(inputs: &[PathBuf]) -> Result<Vec<Index>> {
    if inputs.is_empty() {
        return Err(Error::Invalid { what: "merge".to_owned(), why: "names no index".to_owned() });
    }
    inputs.iter().map(|dir| Index::open(&index_at(dir)?)).collect()
}

/// Merges open indexes, the inputs of `change`, without the documents that `dropped` marks by index and docID. It is
/// called when the files are known to be sound.
pub(super) fn merge_without(
    indexes: &[Index],
    dropped: impl FnOnce(&Merge<'_>) -> Result<Vec<Vec<bool>>>,
    change: &Merge<'_>,
) -> Result<Merged> {
    publish::check_target(change.output, change.force)?;
    // Another directory takes the place of the output.
    let replaced = change.output.canonicalize().ok();
    if let Some(index) = indexes.iter().find(|index| Some(index.dir()) == replaced.as_deref()) {
        publish::nothing_else(index.dir(), index.manifest())?;
    }
    let order = input::common(indexes, change)?;
    if order.needs() == Needs::Links {
        let why = "needs the links of all pages, which no index stores; give another one with --order".to_owned();
        return Err(Error::Invalid { what: format!("order {order}"), why });
    }
    order.check()?;
    let done = merged(indexes, dropped, change, &order);
    done.map_err(|error| indexes.iter().find_map(|index| index.unchanged().err()).unwrap_or(error))
}

fn merged(
    indexes: &[Index],
    dropped: impl FnOnce(&Merge<'_>) -> Result<Vec<Vec<bool>>>,
    change: &Merge<'_>,
    order: &Order,
) -> Result<Merged> {
    let Sound { dropped, left_out, check_seconds } = sound(indexes, dropped, change, input::is_read)?;
    let inputs = input::inputs(indexes, &dropped)?;
    drop(dropped);
    let shares = change.shares.map(|shares| (shares, shared::identity(indexes, change.on_duplicate)));
    let collection = imported::of_union(&inputs)?;
    input::affords(&inputs, &change.means)?;

    let impacts = change.impacts.unwrap_or(indexes[0].impacts().is_some());
    let tables = change.tables.unwrap_or(indexes[0].list_tables().is_some());
    let mut merged = if order.is_input() {
        union(&inputs, collection, change.output, change.force, [impacts, tables], shares, &change.means)?
    } else {
        let dir = Unfinished::beside(change.output)?;
        let first = dir.path().join("index");
        let merged = union(&inputs, collection, &first, false, [false; 2], shares, &change.means)?;
        let began = Instant::now();
        let permutation = permutation(&first, order, &change.means)?;
        let moved = Reorder {
            permutation: &permutation,
            order: order.to_string(),
            output: Some(change.output),
            force: change.force,
            impacts,
            tables,
            means: change.means.clone(),
        };
        reorder(&first, &moved)?;
        Merged { order_seconds: began.elapsed().as_secs_f64(), ..merged }
    };
    merged.bytes = Manifest::read(change.output)?.files.iter().map(|file| file.bytes).sum();
    let ranks_gone = indexes.iter().any(|index| index.pagerank().is_some());
    Ok(Merged { check_seconds, left_out, ranks_gone, order: order.to_string(), ..merged })
}

/// Inputs whose files are sound.
struct Sound {
    /// Documents that are left out or deleted, by index and docID.
    dropped: Vec<Vec<bool>>,
    /// How many are left out.
    left_out: u64,
    check_seconds: f64,
}

/// Checks the files of all inputs that are read, by their names, and finds the documents that go.
fn sound(
    indexes: &[Index],
    dropped: impl FnOnce(&Merge<'_>) -> Result<Vec<Vec<bool>>>,
    change: &Merge<'_>,
    is_read: impl Fn(&str) -> bool,
) -> Result<Sound> {
    // Before their files are read, which takes long for so many. Nobody knows yet how many documents come twice.
    if change.on_duplicate == OnDuplicate::KeepAll {
        input::all_fit(indexes)?;
    }
    let began = Instant::now();
    for index in indexes {
        change.means.go_on()?;
        checksums::checksums(index, index.manifest().files.iter().filter(|file| is_read(&file.name)))?;
    }
    let check_seconds = began.elapsed().as_secs_f64();
    let dropped = dropped(change)?;
    let left_out = dropped.iter().flatten().filter(|&&gone| gone).count() as u64;
    Ok(Sound { dropped: with_deleted(indexes, dropped), left_out, check_seconds })
}

/// The error with what the inputs are called in the place of hidden indexes that were made of them.
pub(crate) fn named(error: Error, hidden: &[(PathBuf, String)]) -> Error {
    let Error::Invalid { what, why } = error else { return error };
    let told = |text: String| {
        // The last first: 1 is the beginning of 10.
        hidden.iter().rev().fold(text, |text, (path, name)| {
            let path = path.canonicalize().unwrap_or_else(|_| path.clone());
            text.replace(&path.display().to_string(), name)
        })
    };
    Error::Invalid { what: told(what), why: told(why) }
}

/// Adds the documents that each index says are deleted.
fn with_deleted(indexes: &[Index], mut dropped: Vec<Vec<bool>>) -> Vec<Vec<bool>> {
    for (index, marks) in indexes.iter().zip(&mut dropped) {
        if let Some(deleted) = index.deleted() {
            marks.resize(index.statistics().documents as usize, false);
            (0..).zip(&mut *marks).for_each(|(doc, mark)| *mark |= deleted.has(doc));
        }
    }
    dropped
}

/// Writes the union in the order of the input.
fn union(
    inputs: &[Input<'_>],
    collection: Option<Imported>,
    target: &Path,
    force: bool,
    [impacts, tables]: [bool; 2],
    shares: Option<(Shares<'_>, u128)>,
    means: &Means,
) -> Result<Merged> {
    let began = Instant::now();
    let first = inputs[0].index;
    let codecs: Vec<_> = first.codecs().map(|codec| codec.shared()).collect();
    let window = first.manifest().window_words;
    let mut writer = IndexWriter::with_window(target, force, &codecs, window)?.with_means(means);
    let mut names = writer.documents()?;
    if first.ids.is_none() {
        names = names.without_ids();
    }
    let texts = first.has_texts().then(|| writer.texts(means.threads)).transpose()?;
    writer.input_cut(first.has_texts().then(|| documents::cut(inputs)));
    let dictionary = writer.terms()?;
    let lens = Arc::new(documents::lengths(inputs));

    let (table, terms_seconds, shares_taken) = std::thread::scope(|scope| {
        let names = scope.spawn(|| documents::names(inputs, names, means));
        let texts = texts.map(|texts| scope.spawn(|| documents::texts(inputs, texts, means)));
        let numbers = Numbers::new(inputs, writer.temp_dir(), means)?;
        let terms_seconds = began.elapsed().as_secs_f64();
        let terms = numbers.dfs.len() as u64;
        writer.imported(collection.map(|collection| imported::counted(collection, inputs, terms)));
        let lists = Lists::new(inputs, &numbers);
        let taken = std::thread::scope(|scope| {
            let dictionary = scope.spawn(|| numbers.write(dictionary));
            let encoder = writer.encoder(lens.clone());
            let taken = shared::each(&lists, shares, &encoder, means, began, |encoded| writer.append(encoded))?;
            joined(dictionary)?;
            Ok::<_, Error>(taken)
        })?;
        texts.map_or(Ok(()), joined)?;
        Ok::<_, Error>((joined(names)?, terms_seconds, taken))
    })?;
    let lists_seconds = began.elapsed().as_secs_f64() - terms_seconds;

    let began = Instant::now();
    let fields = ManifestFields { analyzer: first.manifest().analyzer.clone(), order: Order::input().to_string() };
    let check = |_: &Path| inputs.iter().try_for_each(|input| input.index.unchanged());
    let summary = writer.finish_checked(&table, fields, Some(Extras { impacts, tables, means }), check)?;
    Ok(Merged {
        statistics: summary.statistics,
        left_out: 0,
        shares_taken,
        missing_parts: Vec::new(),
        ranks_gone: false,
        order: String::new(),
        bytes: 0,
        check_seconds: 0.0,
        terms_seconds,
        lists_seconds,
        finish_seconds: began.elapsed().as_secs_f64(),
        order_seconds: 0.0,
    })
}
