//! What every document has, compared docID by docID.

use super::{Comparison, Difference, Differences, Part};
use crate::Result;
use crate::base::in_order::in_order;
use crate::index::Index;
use std::fmt::Display;
use std::ops::ControlFlow;
use xxhash_rust::xxh3::Xxh3;

/// Documents of a task.
const TASK: usize = 4096;

pub(super) fn compare(indexes: [&Index; 2], comparison: &Comparison, found: &mut Vec<Differences>) -> Result<()> {
    let wanted = |part: Part| comparison.parts.contains(&part);
    let counts = indexes.map(|index| index.statistics().documents);
    if wanted(Part::Lengths) {
        found.push(values(Part::Lengths, indexes.map(|index| Some(index.lens())), comparison));
    }
    if wanted(Part::Places) {
        // Without places the docIDs are the places.
        let docids: Vec<u32> = (0..counts[0].max(counts[1]) as u32).collect();
        let places = indexes.map(|index| index.input_places().or_else(|| docids.get(..index.lens().len())));
        found.push(values(Part::Places, places, comparison));
    }
    if wanted(Part::Ranks) {
        found.push(values(Part::Ranks, indexes.map(Index::pagerank), comparison));
    }
    if wanted(Part::Ids) || wanted(Part::Names) || wanted(Part::Texts) {
        by_document(indexes, comparison, found)?;
    }
    Ok(())
}

/// Compares a number of each document; of an index without these numbers every one is missing.
fn values<T: Copy + PartialEq + Display>(
    part: Part,
    values: [Option<&[T]>; 2],
    comparison: &Comparison,
) -> Differences {
    let mut differences = Differences::new(part);
    let shown = |value: Option<&T>| value.map_or_else(|| "nothing".to_owned(), T::to_string);
    let most = values.map(|values| values.map_or(0, <[T]>::len)).into_iter().max().unwrap_or(0);
    for doc in 0..most {
        let [first, second] = values.map(|values| values.and_then(|values| values.get(doc)));
        if first != second {
            let at = format!("document {doc}");
            differences.add(comparison.keep, || Difference { at, first: shown(first), second: shown(second) });
        }
    }
    differences
}

/// Compares what is compressed, on all threads.
fn by_document(indexes: [&Index; 2], comparison: &Comparison, found: &mut Vec<Differences>) -> Result<()> {
    let keep = comparison.keep;
    let parts: Vec<Part> = [Part::Ids, Part::Names, Part::Texts]
        .into_iter()
        .filter(|part| comparison.parts.contains(part))
        // Nothing is to be found where neither has texts.
        .filter(|part| *part != Part::Texts || indexes.iter().any(|index| index.has_texts()))
        .collect();
    let counts = indexes.map(|index| index.statistics().documents as usize);
    let most = counts[0].max(counts[1]);
    let task = |task: usize| -> Result<Vec<Differences>> {
        let docs = task * TASK..most.min((task + 1) * TASK);
        let mut out: Vec<Differences> = parts.iter().copied().map(Differences::new).collect();
        let mut names = Vec::new();
        for (index, count) in indexes.into_iter().zip(counts) {
            let wanted: Vec<u32> = (docs.start..docs.end.min(count)).map(|doc| doc as u32).collect();
            names.push(if wanted.is_empty() { Vec::new() } else { index.names(&wanted)? });
        }
        for (i, doc) in docs.enumerate() {
            let both = [names[0].get(i), names[1].get(i)];
            for differences in &mut out {
                let value = |side: usize| -> Result<Option<String>> {
                    Ok(match (both[side], differences.part) {
                        (None, _) => None,
                        (Some(name), Part::Ids) => Some(name.id.clone()),
                        (Some(name), Part::Names) => Some(format!("{} \"{}\"", name.url, name.title)),
                        (Some(_), _) => text(indexes[side], doc as u32)?,
                    })
                };
                let [first, second] = [value(0)?, value(1)?];
                if first != second {
                    let shown = |value: Option<String>| value.unwrap_or_else(|| "nothing".to_owned());
                    let at = format!("document {doc}");
                    differences.add(keep, || Difference { at, first: shown(first), second: shown(second) });
                }
            }
        }
        Ok(out)
    };
    let first = found.len();
    found.extend(parts.iter().copied().map(Differences::new));
    in_order::<_, crate::Error>(most.div_ceil(TASK), &comparison.means, task, |parts| {
        found[first..].iter_mut().zip(parts).for_each(|(all, part)| all.join(keep, part));
        Ok(())
    })
}

/// A text as its length and a hash.
fn text(index: &Index, doc: u32) -> Result<Option<String>> {
    if !index.has_texts() {
        return Ok(None);
    }
    let (mut hash, mut bytes) = (Xxh3::new(), 0);
    index.each_text_part(doc, |part| {
        hash.update(part.as_bytes());
        bytes += part.len();
        ControlFlow::Continue(())
    })?;
    Ok(Some(format!("a text of {bytes} bytes, XXH3 {:016x}", hash.digest())))
}
