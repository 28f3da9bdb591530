//! Conjunctions with a short list: it is read, and its documents are looked up in tables and in the other lists.

use super::super::probe::Probe;
use super::super::{Scored, Scorer};
use super::Room;
use super::batch::Query;
use crate::postings::table::{RANGE, TableView};
use crate::query::topk::TopK;

/// Documents that all terms have; `others` are the terms without tables beside the one with the shortest list.
#[inline(always)]
pub(super) fn run<'a>(
    shortest: &mut Scored<'a>,
    others: &mut [Scored<'a>],
    tables: &[TableView<'_>],
    query: &mut Query<'_, '_>,
    scorer: &impl Scorer,
    top: &mut TopK<'_>,
    room: &mut Room,
) {
    shortest.read_all(scorer);
    let (mut docs, mut known) = (Vec::new(), Vec::new());
    common(shortest.feed.docs(), shortest.feed.parts(), tables, &mut docs, &mut known);
    look_up(others, &mut docs, &mut known, scorer);
    room.bounds.clear();
    room.bounds.extend(docs.iter().enumerate().map(|(i, &doc)| {
        let rest: f32 = query.readers.iter().map(|reader| reader.bound(doc as usize / RANGE)).sum();
        known[i] + rest
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
            room.batch.push(doc, known[i]);
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
fn common(list: &[u32], parts: &[f32], tables: &[TableView<'_>], docs: &mut Vec<u32>, known: &mut Vec<f32>) {
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

/// Keeps the documents that all terms have, and adds the parts of these terms to what is known.
fn look_up(terms: &mut [Scored<'_>], docs: &mut Vec<u32>, known: &mut Vec<f32>, scorer: &impl Scorer) {
    let mut probe = Probe::default();
    for term in terms {
        let mut kept = 0;
        for i in 0..docs.len() {
            term.bound_at(docs[i], scorer);
            probe.clear();
            let block = term.cursor.near();
            if term.look_up((block, &docs[i..=i]), &mut probe, scorer) != 0 {
                (docs[kept], known[kept]) = (docs[i], known[i] + probe.score(&term.weight, scorer)[0]);
                kept += 1;
            }
        }
        docs.truncate(kept);
        known.truncate(kept);
    }
}
