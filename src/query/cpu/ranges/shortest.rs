//! Conjunctions with a short list: that is read, and tables and look-ups tell what the others have of it.

use super::super::{Scored, Scorer};
use super::batch::Query;
use super::table::{RANGE, Table};
use super::{Reader, Room};
use crate::Result;
use crate::codec::MAX_BLOCK_LEN;
use crate::index::{List, ListWords};
use crate::query::topk::TopK;

/// Documents that all terms have; `others` are the terms without tables beside the one with the shortest list.
#[inline(always)]
pub(super) fn run<'a>(
    shortest: &mut Scored<'a>,
    others: &mut [Scored<'a>],
    tables: &[&Table],
    query: &mut Query<'a>,
    scorer: &impl Scorer,
    top: &mut TopK,
    room: &mut Room,
) {
    let List::Blocks(list) = shortest.probe.list() else { return };
    let (mut docs, mut positions) = (Vec::new(), Vec::new());
    let damage = common(list, tables, &mut docs, &mut positions).err();
    shortest.feed.decoded += list.blocks() as u32;
    // Its postings are read where the readers' are, before them.
    query.readers.insert(0, Reader::without_table(list.clone(), shortest.weight, shortest.bound));
    query.orders[..=others.len()].rotate_left(1);
    let mut known = Vec::new();
    look_up(others, &mut docs, &mut positions, &mut known, scorer);
    let known_of = |i: usize| &known[i * others.len()..][..others.len()];
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
        for (i, (&doc, &position)) in docs.iter().zip(&positions).enumerate() {
            if (room.bounds[i] >= from) != promising || !query.hope(top).has(room.bounds[i]) {
                continue;
            }
            room.batch.push(doc, known_of(i), scorer);
            room.batch.place(&query.readers[0], Some(position as usize));
            for (reader, table) in query.readers[1..].iter().zip(tables) {
                room.batch.place(reader, Some(table.position(doc)));
            }
            if room.batch.is_full() {
                room.batch.flush(query, scorer, top);
            }
        }
        room.batch.flush(query, scorer, top);
    }
    shortest.feed.scored += query.readers[0].scored;
    shortest.feed.damage = damage.or(query.readers[0].damage.take());
}

/// The documents of a list that all tables have, and their positions in it.
#[inline(always)]
fn common(list: &ListWords<'_>, tables: &[&Table], docs: &mut Vec<u32>, positions: &mut Vec<u32>) -> Result<()> {
    let mut buffer = [0; MAX_BLOCK_LEN];
    for block in 0..list.blocks() {
        list.decode(block, &mut buffer)?;
        let n = list.block_len(block);
        let mut kept = docs.len();
        docs.resize(kept + n, 0);
        positions.resize(kept + n, 0);
        for (position, &doc) in (block * list.codec.block_len()..).zip(&buffer[..n]) {
            // Whether all have it is a toss-up, so it is no branch.
            let all = tables.iter().fold(true, |all, table| all & table.has(doc));
            (docs[kept], positions[kept]) = (doc, position as u32);
            kept += usize::from(all);
        }
        docs.truncate(kept);
        positions.truncate(kept);
    }
    Ok(())
}

/// Keeps the documents that all terms have; `known` gets their parts, document by document.
fn look_up(
    terms: &mut [Scored<'_>],
    docs: &mut Vec<u32>,
    positions: &mut Vec<u32>,
    known: &mut Vec<f32>,
    scorer: &impl Scorer,
) {
    if terms.is_empty() {
        return;
    }
    let mut kept = 0;
    'docs: for i in 0..docs.len() {
        for term in &mut *terms {
            term.probe.seek(docs[i], scorer);
            let (_, parts) = term.probe.look_up(&docs[i..=i], scorer);
            match parts {
                [part] => known.push(*part),
                _ => {
                    known.truncate(kept * terms.len());
                    continue 'docs;
                }
            }
        }
        (docs[kept], positions[kept]) = (docs[i], positions[i]);
        kept += 1;
    }
    docs.truncate(kept);
    positions.truncate(kept);
}
