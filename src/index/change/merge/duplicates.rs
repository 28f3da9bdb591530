//! Documents with the same external id.

use super::input::in_input_order;
use crate::base::means::Means;
use crate::index::format::ids::hash;
use crate::index::read::reader::Index;
use crate::order::Documents as _;
use crate::{Error, Result};
use rayon::prelude::*;
use std::fmt;
use std::str::FromStr;

/// What becomes of documents with the same external id, be they of one index or of several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnDuplicate {
    /// All stay, as in a build.
    #[default]
    KeepAll,
    /// The first in the input stays.
    KeepFirst,
    /// The last one stays.
    KeepLast,
    /// There may be none.
    Fail,
}

const NAMES: [(&str, OnDuplicate); 4] = [
    ("keep-all", OnDuplicate::KeepAll),
    ("keep-first", OnDuplicate::KeepFirst),
    ("keep-last", OnDuplicate::KeepLast),
    ("fail", OnDuplicate::Fail),
];

impl FromStr for OnDuplicate {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let found = NAMES.iter().find(|(name, _)| *name == text).map(|&(_, choice)| choice);
        found.ok_or_else(|| Error::UnknownName {
            kind: "choice for duplicates",
            name: text.to_owned(),
            choices: NAMES.map(|(name, _)| name).join(", "),
        })
    }
}

impl fmt::Display for OnDuplicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        NAMES.iter().filter(|(_, choice)| choice == self).try_for_each(|(name, _)| f.write_str(name))
    }
}

/// A document, in the order of the input: its index and docID.
type Place = (u32, u32);

/// Marks the documents that go, by index and docID. No marks: none goes.
pub(super) fn find(indexes: &[Index], choice: OnDuplicate, means: &Means) -> Result<Vec<Vec<bool>>> {
    let mut dropped = vec![Vec::new(); indexes.len()];
    if choice == OnDuplicate::KeepAll {
        return Ok(dropped);
    }
    let documents: u64 = indexes.iter().map(|index| index.statistics().documents).sum();
    let needed = (64 << 20) + 32 * documents;
    if needed > means.memory {
        return Err(Error::Memory { given: means.memory, needed, what: "comparing the ids of so many documents" });
    }
    // Hash of the id, place among all documents of the input.
    let (mut ids, mut places): (Vec<(u64, u32)>, Vec<Place>) = Default::default();
    for (number, index) in (0..).zip(indexes) {
        means.go_on()?;
        let frames: Vec<Vec<u64>> = (0..index.names.frames())
            .into_par_iter()
            .map(|frame| {
                let mut hashes = Vec::new();
                index.names.each_id(frame, |id| hashes.push(hash(id)))?;
                Ok(hashes)
            })
            .collect::<Result<_, Error>>()?;
        let hashes: Vec<u64> = frames.into_iter().flatten().collect();
        let old_of_new = in_input_order(index)?.unwrap_or_else(|| (0..index.count()).collect());
        let deleted = index.deleted();
        let all = (places.len() as u32..).zip(&old_of_new);
        let living = all.filter(|&(_, &doc)| deleted.is_none_or(|deleted| !deleted.has(doc)));
        ids.extend(living.map(|(place, &doc)| (hashes[doc as usize], place)));
        places.extend(old_of_new.iter().map(|&doc| (number, doc)));
    }
    ids.par_sort_unstable();
    let mut seen: Vec<(String, Place)> = Vec::new();
    for same in ids.chunk_by(|a, b| a.0 == b.0).filter(|same| same.len() > 1) {
        seen.clear();
        let ordered: Box<dyn Iterator<Item = _>> =
            if choice == OnDuplicate::KeepLast { Box::new(same.iter().rev()) } else { Box::new(same.iter()) };
        for &(_, place) in ordered {
            let (number, doc) = places[place as usize];
            let index = &indexes[number as usize];
            let id = index.name(doc)?.id;
            // Another id may have the same hash.
            let Some((_, (other, before))) = seen.iter().find(|(kept, _)| *kept == id) else {
                seen.push((id, (number, doc)));
                continue;
            };
            if choice == OnDuplicate::Fail {
                let why = format!(
                    "has the id {id} for document {doc}, which is that of document {before} of {}; --on-duplicate keep-first or keep-last keeps one of them",
                    indexes[*other as usize].dir().display()
                );
                return Err(Error::Invalid { what: index.dir().display().to_string(), why });
            }
            let marks = &mut dropped[number as usize];
            marks.resize(index.count() as usize, false);
            marks[doc as usize] = true;
        }
    }
    Ok(dropped)
}
