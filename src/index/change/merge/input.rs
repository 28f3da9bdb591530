//! An index that is merged: where its documents go, and what it must have in common with the others.

use super::super::moved::GONE;
use super::Merge;
use crate::base::means::Means;
use crate::index::format::docs::{NAMES, RANKS};
use crate::index::format::ids::IDS;
use crate::index::format::texts::TEXTS;
use crate::index::impacts::IMPACTS;
use crate::index::list_tables::TABLES;
use crate::index::read::reader::Index;
use crate::order::{Documents as _, Order};
use crate::{Error, Result, codec, index::format};

/// An index among others.
pub(super) struct Input<'a> {
    pub index: &'a Index,
    /// Documents of the union before its own.
    pub base: u32,
    /// How many of its documents the union has.
    pub documents: u32,
    /// Where its documents go if their docIDs do more than move up by `base`.
    pub moved: Option<Moved>,
}

/// Documents of an index in the order of the input, without those that are left out.
pub(super) struct Moved {
    /// The place of each docID, or [`GONE`].
    pub new_of_old: Vec<u32>,
    /// The docID at each place.
    pub old_of_new: Vec<u32>,
}

impl Input<'_> {
    /// True if the union lacks some of its documents.
    pub(super) fn lacks_some(&self) -> bool {
        u64::from(self.documents) < self.index.statistics().documents
    }
}

/// Whether a merge reads this file: the others are made again, or go.
pub(super) fn is_read(name: &str) -> bool {
    ![IMPACTS, TABLES, RANKS].contains(&name)
}

/// Whether lists depend on this file, besides.
pub(super) fn is_read_for_lists(name: &str) -> bool {
    is_read(name) && ![NAMES, IDS, TEXTS].contains(&name)
}

/// Fails unless a build could have had the same options for all indexes, but for those that the change gives. Returns
/// the order of the union.
pub(super) fn common(indexes: &[Index], change: &Merge<'_>) -> Result<Order> {
    let (first, order) = (&indexes[0], change.order.as_ref());
    let scale = |index: &Index| index.manifest().imported.as_ref().and_then(|imported| imported.scale);
    let known_scale = indexes.iter().find_map(scale);
    for other in &indexes[1..] {
        let mut differ = Vec::new();
        let (a, b) = (first.manifest(), other.manifest());
        let mut compare = |what: &str, [a, b]: [String; 2]| {
            if a != b {
                differ.push(format!("{what} is {b}, not {a}"));
            }
        };
        compare("its analyzer", [a, b].map(|manifest| analyzer(&manifest.analyzer)));
        compare("its choice of codecs", [first, other].map(codecs));
        if order.is_none() {
            compare("its order", [a, b].map(|manifest| manifest.order.clone()));
        }
        let kind = |weights: bool| if weights { "weights" } else { "frequencies" }.to_owned();
        compare("a tf", [a, b].map(|manifest| kind(manifest.weights())));
        // nobody knows that of a CIFF file
        if let (Some(a), Some(b)) = (known_scale, scale(other)) {
            compare("its scale of weights", [a, b].map(|scale| scale.to_string()));
        }
        compare("a window", [a, b].map(|manifest| format!("{} words", manifest.window_words)));
        let mut compare_part = |what: &str, [a, b]: [bool; 2]| {
            if a != b {
                differ.push(format!("it has {}{what}", if b { "" } else { "no " }));
            }
        };
        // a CIFF file cannot have them
        compare_part("stored texts", [first, other].map(Index::has_texts));
        if change.impacts.is_none() {
            compare_part("impacts", [first, other].map(|index| index.impacts().is_some()));
        }
        if change.tables.is_none() {
            compare_part("tables", [first, other].map(|index| index.list_tables().is_some()));
        }
        compare_part("table of ids", [first, other].map(|index| index.ids.is_some()));
        if !differ.is_empty() {
            let why = format!(
                "cannot be merged with {}: {}; build it again with the same options, or see `gamut reencode` and `gamut reorder`",
                first.dir().display(),
                differ.join(", ")
            );
            return Err(Error::Invalid { what: other.dir().display().to_string(), why });
        }
    }
    match order {
        Some(order) => Ok(order.clone()),
        None => first.manifest().order.parse().map_err(|_| {
            let why = format!("has the order {}, which cannot be made again; give one with --order", first.order());
            Error::Invalid { what: first.dir().display().to_string(), why }
        }),
    }
}

fn analyzer(spec: &crate::text::AnalyzerSpec) -> String {
    serde_json::to_string(spec).unwrap_or_else(|_| spec.name.clone())
}

fn codecs(index: &Index) -> String {
    index.codecs().map(|codec| codec::spec(codec.codec())).collect::<Vec<_>>().join(",")
}

/// Fails for more documents than there are docIDs.
fn fits(documents: u64) -> Result<()> {
    let (limit, hint) =
        (format::MAX_DOCUMENTS, "merge fewer indexes, and query the others apart by common --statistics");
    if documents > limit { Err(Error::Limit { what: "documents", value: documents, limit, hint }) } else { Ok(()) }
}

/// Fails if a union without a document left out has more documents than there are docIDs.
pub(super) fn all_fit(indexes: &[Index]) -> Result<()> {
    let living = |index: &Index| {
        index.statistics().documents.saturating_sub(index.deleted().map_or(0, |deleted| deleted.documents()))
    };
    fits(indexes.iter().map(living).sum())
}

/// Where the documents of each index go, without those that are marked in `dropped`, by docID; no marks drop none.
pub(super) fn inputs<'a>(indexes: &'a [Index], dropped: &[Vec<bool>]) -> Result<Vec<Input<'a>>> {
    let all: u64 = indexes.iter().map(|index| index.statistics().documents).sum();
    let gone: u64 = dropped.iter().flatten().filter(|&&gone| gone).count() as u64;
    fits(all - gone)?;
    let mut base = 0;
    indexes
        .iter()
        .zip(dropped)
        .map(|(index, dropped)| {
            let moved = moved(index, dropped)?;
            let documents = moved.as_ref().map_or(index.count(), |moved| moved.old_of_new.len() as u32);
            let input = Input { index, base, documents, moved };
            base += documents;
            Ok(input)
        })
        .collect()
}

/// The docIDs of an index in the order of its input; `None` if they are.
pub(super) fn in_input_order(index: &Index) -> Result<Option<Vec<u32>>> {
    if index.input_places().is_none() && index.order() == Order::input().to_string() {
        return Ok(None);
    }
    let permutation = Order::input().permutation(index, &Means::new(1, 0))?;
    Ok(Some(permutation.old_of_new()))
}

fn moved(index: &Index, dropped: &[bool]) -> Result<Option<Moved>> {
    let some_go = dropped.contains(&true);
    let places = in_input_order(index)?;
    let mut old_of_new = match (places, some_go) {
        (None, false) => return Ok(None),
        (Some(places), _) => places,
        (None, true) => (0..index.count()).collect(),
    };
    if some_go {
        old_of_new.retain(|&doc| !dropped[doc as usize]);
    }
    let mut new_of_old = vec![GONE; index.count() as usize];
    (0..).zip(&old_of_new).for_each(|(new, &old)| new_of_old[old as usize] = new);
    Ok(Some(Moved { new_of_old, old_of_new }))
}

/// Bytes that the merge holds from its beginning to its end.
pub(super) fn held(inputs: &[Input<'_>], means: &Means) -> u64 {
    let terms: u64 = inputs.iter().map(|input| input.index.statistics().terms).sum();
    let documents: u64 = inputs.iter().map(|input| u64::from(input.documents)).sum();
    let moved: u64 = inputs.iter().filter_map(|input| input.moved.as_ref()).map(|m| m.new_of_old.len() as u64).sum();
    let lists: u64 = inputs.iter().map(|input| input.index.statistics().lists).sum();
    // Rows in short, what inputs have of terms, numbers of terms, and some of these that wait for others; rows of
    // lists; lengths twice and hashes of ids; places of documents; names on the way.
    let names = if moved > 0 { means.memory / 4 } else { 0 };
    (48 << 20) + 52 * terms + 32 * lists + 17 * documents + 8 * moved + names
}

/// The most documents of an input that do more than move up.
pub(super) fn most_moved(inputs: &[Input<'_>]) -> u64 {
    let moved = inputs.iter().filter(|input| input.moved.is_some());
    moved.map(|input| u64::from(input.documents)).max().unwrap_or(0)
}

/// Fails if the tables that the merge must hold do not fit the memory.
pub(super) fn affords(inputs: &[Input<'_>], means: &Means) -> Result<()> {
    // Tasks on the way.
    let needed = held(inputs, means) + means.threads as u64 * (16 << 20);
    if needed <= means.memory {
        return Ok(());
    }
    Err(Error::Memory { given: means.memory, needed, what: "a merge of so many terms and documents" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_docids_end_at_the_last_but_one_of_32_bits() {
        fits(u64::from(u32::MAX)).unwrap();
        let error = fits(1 << 32).unwrap_err().to_string();
        assert!(error.contains("4294967296") && error.contains("4294967295"), "{error}");
    }
}
