//! Queries by all ranges: ranges with the greatest bounds first, the others in order.

use super::super::{Scored, Scorer};
use super::Room;
use super::batch::{Batch, Query};
use crate::postings::table::{RANGE, TableView};
use crate::query::topk::TopK;

/// How many ranges make a first threshold.
pub(super) fn first(k: usize) -> usize {
    k.saturating_add(6)
}

/// How many times as many ranges make a better one.
const MORE: usize = 8;
/// Data is prefetched when so many ranges come before it.
const AHEAD: usize = 8;

/// Documents with any term, or, if all are `REQUIRED`, with all terms: then each term has a table, else the terms in
/// `short` have none.
#[inline(always)]
pub(super) fn run<const REQUIRED: bool>(
    short: &mut [Scored<'_>],
    tables: &[TableView<'_>],
    query: &mut Query<'_, '_>,
    scorer: &impl Scorer,
    top: &mut TopK<'_>,
    room: &mut Room,
) {
    let Room { sums, batch, ranges, .. } = room;
    sums.scan(&query.readers, REQUIRED);
    for term in &mut *short {
        term.read_all(scorer);
        sums.add(term.feed.docs(), term.feed.parts());
    }
    let mut done = f32::INFINITY;
    for n in [first(top.k()), first(top.k()).saturating_mul(MORE), usize::MAX] {
        let least = sums.nth(n);
        if least >= done {
            continue;
        }
        sums.gather(least, done, query.hope(top), ranges);
        for (i, &range) in ranges.iter().enumerate() {
            if let Some(&next) = ranges.get(i + AHEAD) {
                tables.iter().for_each(|table| table.prefetch(next as usize));
            }
            let range = range as usize;
            if query.hope(top).has(sums.of(range)) {
                look_into::<REQUIRED>(range, sums.of(range), short, tables, query, scorer, top, batch);
            }
        }
        batch.flush(query, scorer, top);
        done = least;
        if done == 0.0 {
            break;
        }
    }
    batch.finish(query, scorer, top);
}

/// Takes the hopeful documents of a range; none scores more than `bound`.
#[allow(clippy::too_many_arguments, reason = "what a query consists of, borrowed in parts")]
#[inline(always)]
fn look_into<const REQUIRED: bool>(
    range: usize,
    bound: f32,
    short: &[Scored<'_>],
    tables: &[TableView<'_>],
    query: &mut Query<'_, '_>,
    scorer: &impl Scorer,
    top: &mut TopK<'_>,
    batch: &mut Batch,
) {
    let start = (range * RANGE) as u32;
    let mut documents = 0u16;
    // the short lists' parts
    let mut known = [0f32; RANGE];
    if REQUIRED {
        documents = tables.iter().fold(u16::MAX, |all, table| all & table.documents(range));
    } else {
        for term in short {
            let at = term.feed.docs().partition_point(|&doc| doc < start);
            for (&doc, &part) in term.feed.docs()[at..].iter().zip(&term.feed.parts()[at..]).take(RANGE) {
                if doc - start >= RANGE as u32 {
                    break;
                }
                let lane = (doc - start) as usize % RANGE;
                known[lane] += part;
                documents |= 1 << lane;
            }
        }
        let mut bounds = known;
        for (table, reader) in tables.iter().zip(&query.readers) {
            let (here, bound) = (table.documents(range), reader.bound(range));
            documents |= here;
            for (lane, sum) in bounds.iter_mut().enumerate() {
                *sum += if here >> lane & 1 != 0 { bound } else { 0.0 };
            }
        }
        documents &= query.hope(top).mask(&bounds) as u16;
    }
    while documents != 0 {
        let lane = documents.trailing_zeros() as usize % RANGE;
        documents &= documents - 1;
        let doc = start + lane as u32;
        batch.push(doc, known[lane]);
        for (reader, table) in query.readers.iter().zip(tables) {
            let has = REQUIRED || table.has(doc);
            batch.place(reader, if has { Some(table.position(doc)) } else { None });
        }
        if batch.is_full() {
            batch.flush(query, scorer, top);
            // The threshold may have passed what the rest can reach.
            if !query.hope(top).has(bound) {
                return;
            }
        }
    }
}
