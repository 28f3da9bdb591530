//! What a union with imported indexes says about its collection.
//!
//! An imported index is scored by what its file says: it may be a part of its collection, and its lengths may be
//! rounded. Whole collections add up. Parts of one collection are still parts of it together, or all of it. Of anything
//! else nobody knows the statistics.

use super::input::Input;
use crate::index::{Collection, Imported};
use crate::{Error, Result};

/// Descriptions of more bytes are cut.
const MOST: usize = 4096;

/// What is known about the collection of a union, whose terms nobody has counted yet: `None` if no input was imported.
///
/// # Errors
/// [`Error::Invalid`] if nobody knows its statistics.
pub(super) fn of_union(inputs: &[Input<'_>]) -> Result<Option<Imported>> {
    let of = |input: &Input<'_>| input.index.manifest().imported.clone();
    let sorted = inputs.iter().find(|input| sorts_terms(input));
    let Some(first) = sorted.into_iter().chain(inputs).find_map(of) else { return Ok(None) };
    let part = inputs.iter().find(|input| is_part(input));
    let collection = match part {
        Some(part) => of_parts(inputs, part)?,
        None => of_wholes(inputs)?,
    };
    let mut descriptions: Vec<String> = Vec::new();
    for text in inputs.iter().filter_map(of).map(|imported| imported.description) {
        if !text.is_empty() && !descriptions.contains(&text) {
            descriptions.push(text);
        }
    }
    let mut description = descriptions.join("; ");
    let end = (0..=MOST.min(description.len())).rev().find(|&end| description.is_char_boundary(end));
    description.truncate(end.unwrap_or_default());
    let scale = inputs.iter().filter_map(of).find_map(|imported| imported.scale);
    Ok(Some(Imported { description, collection, scale, ..first }))
}

/// What is known, now that the union has so many terms.
pub(super) fn counted(imported: Imported, inputs: &[Input<'_>], terms: u64) -> Imported {
    let whole = inputs.iter().all(|input| input.index.collection().terms == input.index.statistics().terms);
    let said = if whole && !inputs.iter().any(is_part) { 0 } else { imported.collection.terms };
    Imported { collection: Collection { terms: terms.max(said), ..imported.collection }, ..imported }
}

/// Whether the terms of an input, and of its unions, are in the order of their bytes.
pub(super) fn sorts_terms(input: &Input<'_>) -> bool {
    input.index.manifest().imported.as_ref().is_some_and(Imported::sorts_terms)
}

/// Whether the collection of an input has more documents.
fn is_part(input: &Input<'_>) -> bool {
    input.index.collection().documents > input.index.statistics().documents
}

fn refused(input: &Input<'_>, why: String) -> Error {
    Error::Invalid { what: input.index.dir().display().to_string(), why }
}

/// Parts of one collection.
fn of_parts(inputs: &[Input<'_>], part: &Input<'_>) -> Result<Collection> {
    let all = part.index.collection();
    let key = |of: Collection| (of.documents, of.tokens, of.mean_length.to_bits());
    if let Some(other) = inputs.iter().find(|input| key(input.index.collection()) != key(all)) {
        let why = format!(
            "is no part of the collection of {} documents and {} tokens that {} is a part of, so nobody knows the \
             statistics of both together; merge whole collections, or parts of one",
            all.documents,
            all.tokens,
            part.index.dir().display()
        );
        return Err(refused(other, why));
    }
    if let Some(less) = inputs.iter().find(|input| input.lacks_some()) {
        let why = "is a part of a collection whose statistics count documents that would go; keep all".to_owned();
        return Err(refused(less, why));
    }
    let documents: u64 = inputs.iter().map(|input| u64::from(input.documents)).sum();
    if documents > all.documents {
        let why = format!("is a part of {} documents, but the parts have {documents} together", all.documents);
        return Err(refused(part, why));
    }
    let terms = inputs.iter().map(|input| input.index.collection().terms).max().unwrap_or(0);
    Ok(Collection { terms, ..all })
}

/// Whole collections, one behind the other.
fn of_wholes(inputs: &[Input<'_>]) -> Result<Collection> {
    let (mut documents, mut tokens, mut terms) = (0, 0, 0);
    // Files may give a mean length that is not that of their tokens.
    let (mut by_mean, mut same) = (0.0, true);
    for input in inputs {
        let (all, own) = (input.index.collection(), input.index.statistics());
        terms = terms.max(all.terms);
        documents += u64::from(input.documents);
        if !input.lacks_some() {
            tokens = all.tokens.checked_add(tokens).filter(|&sum| i64::try_from(sum).is_ok()).ok_or_else(|| {
                refused(
                    input,
                    "has so many tokens, by its file, that all together are more than a number holds".to_owned(),
                )
            })?;
            by_mean += all.mean_length * all.documents as f64;
            same &= of_tokens(all);
            continue;
        }
        if all.tokens != own.tokens {
            let why = format!(
                "has lengths of {} tokens, but its file says {}, so nobody knows how many the rest has; keep all",
                own.tokens, all.tokens
            );
            return Err(refused(input, why));
        }
        let lens = input.index.lens();
        let kept = input.moved.iter().flat_map(|moved| &moved.old_of_new).map(|&doc| u64::from(lens[doc as usize]));
        let kept: u64 = kept.sum();
        tokens += kept;
        by_mean += kept as f64;
    }
    let mean = |tokens: f64| if documents == 0 { 0.0 } else { tokens / documents as f64 };
    let mean_length = if same { mean(tokens as f64) } else { mean(by_mean) };
    if !mean_length.is_finite() {
        return Err(refused(&inputs[0], "gives a mean length that, with the other inputs', is no number".to_owned()));
    }
    Ok(Collection { documents, terms, tokens, mean_length })
}

/// Whether the mean length is that of the tokens.
fn of_tokens(all: Collection) -> bool {
    let tokens = all.mean_length * all.documents as f64;
    (tokens - all.tokens as f64).abs() <= 1e-9 * all.tokens as f64
}
