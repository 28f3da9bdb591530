//! Conjunctions with a short list: it is read, and its documents are looked up in tables and in the other lists.

use super::super::{Scored, Scorer};
use super::Room;
use super::batch::Query;
use super::table::{RANGE, Table};
use crate::query::topk::TopK;

/// Documents that all terms have; `others` are the terms without tables beside the one with the shortest list.
#[inline(always)]
pub(super) fn run<'a>(
    shortest: &mut Scored<'a>,
    others: &mut [Scored<'a>],
    tables: &[&Table],
    query: &mut Query<'_, '_>,
    scorer: &impl Scorer,
    top: &mut TopK,
    room: &mut Room,
) {
    shortest.window(0, u32::MAX, scorer);
    let (mut docs, mut known) = (Vec::new(), Vec::new());
    common(shortest.feed.docs(), shortest.feed.parts(), tables, &mut docs, &mut known);
    let known = look_up(others, &mut docs, known, scorer);
    let known_of = |i: usize| &known[i * (others.len() + 1)..][..=others.len()];
    room.bounds.clear();
    room.bounds.extend(docs.iter().enumerate().map(|(i, &doc)| {
        let rest: f32 = query.readers.iter().map(|reader| reader.bound(doc as usize / RANGE)).sum();
        known_of(i).iter().sum::<f32>() + rest
    }));
    let first = super::all::first(top.k());
    let mut from = 0.0;
    if docs.len() / 4 > first {
        room.sorted.clone_from(&room.bounds);
        from = *room.sorted.select_nth_unstable_by(first, |a, b| b.total_cmp(a)).1;
    }
    for promising in [true, false] {
        for (i, &doc) in docs.iter().enumerate() {
            if (room.bounds[i] >= from) != promising || !query.hope(top).has(room.bounds[i]) {
                continue;
            }
            room.batch.push(doc, known_of(i));
            for (reader, table) in query.readers.iter().zip(tables) {
                room.batch.place(reader, Some(table.position(doc)));
            }
            if room.batch.is_full() {
                room.batch.flush(query, scorer, top);
            }
        }
        room.batch.flush(query, scorer, top);
    }
    room.batch.finish(query, scorer, top);
}

/// The documents of a list that all tables have, and their parts.
#[inline(always)]
fn common(list: &[u32], parts: &[f32], tables: &[&Table], docs: &mut Vec<u32>, known: &mut Vec<f32>) {
    docs.resize(list.len(), 0);
    known.resize(list.len(), 0.0);
    let mut kept = 0;
    for (&doc, &part) in list.iter().zip(parts) {
        // A branch would be a toss-up, so there is none.
        let all = tables.iter().fold(true, |all, table| all & table.has(doc));
        (docs[kept], known[kept]) = (doc, part);
        kept += usize::from(all);
    }
    docs.truncate(kept);
    known.truncate(kept);
}

/// Keeps the documents that all terms have, and gives their parts, document by document: the first term's, then those
/// of these terms.
fn look_up(terms: &mut [Scored<'_>], docs: &mut Vec<u32>, first: Vec<f32>, scorer: &impl Scorer) -> Vec<f32> {
    if terms.is_empty() {
        return first;
    }
    let mut known = Vec::new();
    let mut kept = 0;
    'docs: for (i, part) in first.into_iter().enumerate() {
        known.push(part);
        for term in &mut *terms {
            term.bound_at(docs[i], scorer);
            let (_, parts) = term.look_up(&docs[i..=i], scorer);
            match parts {
                [part] => known.push(*part),
                _ => {
                    known.truncate(kept * (terms.len() + 1));
                    continue 'docs;
                }
            }
        }
        docs[kept] = docs[i];
        kept += 1;
    }
    docs.truncate(kept);
    known
}
