//! Parts of a crawl among the inputs, as `gamut index --part` numbers them.
//!
//! A build of a part says in its report which part it is, and how many bytes the whole input has; parts with the same
//! number of parts and of bytes are of the same input, wherever that lies. Indexes without a report, or with one that
//! nobody can read, are no parts.

use super::duplicates::OnDuplicate;
use crate::corpus::Part;
use crate::index::change::reencode::REPORT;
use crate::index::read::reader::Index;
use crate::{Error, Result};
use std::collections::BTreeMap;

/// What a report says of a part.
#[derive(serde::Deserialize)]
struct Report {
    part: String,
    part_of_bytes: u64,
}

/// How many parts a whole has, and its bytes.
type Whole = (u32, u64);

/// Which part of what an index is, from 1.
fn part_of(index: &Index) -> Option<(Whole, u32)> {
    let report: Report = serde_json::from_slice(&std::fs::read(index.dir().join(REPORT)).ok()?).ok()?;
    let (number, of) = report.part.split_once('/')?;
    let (number, of) = (number.parse().ok()?, of.parse().ok()?);
    Part::new(number, of).ok().map(|_| ((of, report.part_of_bytes), number))
}

/// The parts that are missing of those of which there are some, such as `3/8`.
///
/// # Errors
/// [`Error::Invalid`] if a part is there twice and documents of the same id stay, or if parts are not in their order.
pub(super) fn missing(indexes: &[Index], on_duplicate: OnDuplicate) -> Result<Vec<String>> {
    let mut wholes: BTreeMap<Whole, Vec<(u32, &Index)>> = BTreeMap::new();
    for index in indexes {
        if let Some((whole, number)) = part_of(index) {
            wholes.entry(whole).or_default().push((number, index));
        }
    }
    let mut missing = Vec::new();
    for ((of, _), given) in &wholes {
        let name = |number: u32| format!("{number}/{of}");
        let dir = |index: &Index| index.dir().display().to_string();
        let mut sorted = given.clone();
        // Stable: of a part that is there twice, the first stays the first.
        sorted.sort_by_key(|&(number, _)| number);
        let twice = sorted.windows(2).find(|pair| pair[0].0 == pair[1].0);
        if let Some(&[(number, first), (_, second)]) = twice
            && on_duplicate == OnDuplicate::KeepAll
        {
            let why = format!(
                "is part {} of the same input as {}, and its documents would be in the index twice; leave one of them out, or choose with --on-duplicate",
                name(number),
                dir(first)
            );
            return Err(Error::Invalid { what: dir(second), why });
        }
        if let Some(&[(before, _), (number, index)]) = given.windows(2).find(|pair| pair[0].0 > pair[1].0) {
            let order: Vec<String> = sorted.iter().map(|(_, index)| dir(index)).collect();
            let why = format!(
                "is part {} of an input and comes behind part {}; give the parts in their order, so that documents have the docIDs of an index of the whole input: {}",
                name(number),
                name(before),
                order.join(" ")
            );
            return Err(Error::Invalid { what: dir(index), why });
        }
        let there = |number: &u32| sorted.binary_search_by_key(number, |&(number, _)| number).is_ok();
        missing.extend((1..=*of).filter(|number| !there(number)).map(name));
    }
    Ok(missing)
}
