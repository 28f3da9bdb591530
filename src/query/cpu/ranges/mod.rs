//! Ranges of docIDs that may have one of the best documents, the most promising first.
//!
//! Of every long list there is a table in memory: which documents it has, one bit each and one to count them; for each range of 16 docIDs what its
//! postings add at most, one byte; and the same for each posting. One pass over the bytes of ranges gives a bound of every range's
//! scores (Dimopoulos, Nepomnyachiy and Suel, *Optimizing top-k document retrieval strategies for block-max indexes*, WSDM 2013,
//! doi:10.1145/2433396.2433412). The bits of the ranges that pass the threshold give their documents, and the position of each in
//! the list by counting (bit vectors beside compressed lists: Culpepper and Moffat, *Efficient set intersection for inverted
//! indexing*, TOIS 29(1), 2010, doi:10.1145/1877766.1877767). A posting's byte says what it adds to within a 255th of the list's
//! greatest: so of every document a least score and a greatest are known, the `k`-th of the least ones is a threshold, and frequencies
//! are read of those documents only that still pass it in the end, without their blocks of docIDs. Lists without a table are short,
//! and read.
//!
//! | file | its one job |
//! |---|---|
//! | `table` | what is kept of a long list |
//! | `tables` | the tables of a searcher, and when one is made |
//! | `sums` | bounds of all ranges |
//! | `all` | queries by all ranges |
//! | `shortest` | conjunctions with a short list |
//! | `batch` | bounds of documents that are found, and scores of the best |
//! | `reader` | parts of single postings |

mod all;
mod batch;
mod reader;
mod shortest;
mod sums;
mod table;
mod tables;

#[cfg(test)]
mod tests;

pub(super) use table::Table;
pub(in crate::query) use tables::Tables;
pub(super) use tables::When;

use super::{Scored, Scorer, Sum};
#[cfg(target_arch = "x86_64")]
use crate::codec::avx512;
use crate::index::List;
use crate::query::topk::TopK;
use batch::{Batch, Query};
use reader::Reader;
use std::cell::RefCell;
use sums::Sums;

/// Up to so many of the best, or as many as there are groups of ranges, ranges are faster than blocks: more are in too many
/// ranges.
const FEW: usize = 100;

/// Gives every term with a long list its table, to find the best `k`. None gets one if there is no use for them, or if one of
/// them is not made; then true if what is read of the lists is to be [settled](Tables::settle).
pub(super) fn furnish(
    terms: &mut [Scored<'_>],
    required: bool,
    tables: &Tables,
    scorer: &impl Scorer,
    k: usize,
    when: When,
) -> bool {
    // One list has nothing to be bounded with, and one posting has no position.
    let single = |term: &Scored<'_>| matches!(term.probe.list(), List::Single { .. });
    let many = k > FEW.max(scorer.documents() / (table::RANGE * table::GROUP));
    if many || terms.len() < 2 || (required && terms.iter().any(single)) {
        return false;
    }
    tables.furnish(terms, scorer, when)
}

/// What queries of a thread use one after the other.
#[derive(Default)]
struct Room {
    sums: Sums,
    batch: Batch,
    ranges: Vec<u32>,
    bounds: Vec<f32>,
    sorted: Vec<f32>,
}

thread_local! {
    static ROOM: RefCell<Room> = RefCell::default();
}

/// Documents with any of the terms, or with all: then no term may have but one. At least one term has a table.
pub(super) fn run(terms: &mut [Scored<'_>], required: bool, scorer: &impl Scorer, top: &mut TopK) {
    let mut room = ROOM.take();
    evaluate(terms, required, scorer, top, &mut room);
    ROOM.set(room);
}

fn evaluate(terms: &mut [Scored<'_>], required: bool, scorer: &impl Scorer, top: &mut TopK, room: &mut Room) {
    #[cfg(target_arch = "x86_64")]
    if avx512::available() {
        // SAFETY: the processor has the features that the function is compiled for.
        return unsafe { evaluate_wide(terms, required, scorer, top, room) };
    }
    evaluate_any(terms, required, scorer, top, room);
}

/// As [`evaluate_any`], compiled for what such a processor has.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2,bmi2,popcnt")]
fn evaluate_wide(terms: &mut [Scored<'_>], required: bool, scorer: &impl Scorer, top: &mut TopK, room: &mut Room) {
    evaluate_any(terms, required, scorer, top, room);
}

#[inline(always)]
fn evaluate_any(terms: &mut [Scored<'_>], required: bool, scorer: &impl Scorer, top: &mut TopK, room: &mut Room) {
    let n = terms.len();
    // Terms with tables last; and the sooner a document turns out hopeless, the better.
    if required {
        terms.sort_by_key(|term| (term.table.is_some(), term.cursor.df()));
    } else {
        terms.sort_by(|a, b| a.table.is_some().cmp(&b.table.is_some()).then(b.bound.total_cmp(&a.bound)));
    }
    let short = terms.iter().take_while(|term| term.table.is_none()).count();
    let (short, long) = terms.split_at_mut(short);
    let readers = long.iter().filter_map(|term| match (term.probe.list(), &term.table) {
        (List::Blocks(list), Some(table)) => Some(Reader::new(list.clone(), term.weight, table.clone())),
        _ => None,
    });
    let mut query = Query {
        readers: readers.collect(),
        orders: short.iter().chain(&*long).map(|term| term.order).collect(),
        slack: scorer.slack(n).max(1.0 + (n as f32 + 4.0) * 2.4e-7),
        sum: Sum::new(n),
        floor: f32::NEG_INFINITY,
    };
    let tables: Vec<&Table> = long.iter().filter_map(|term| term.table.as_deref()).collect();
    match (short, required) {
        ([shortest, others @ ..], true) => {
            shortest::run(shortest, others, &tables, &mut query, scorer, top, room);
        }
        (short, true) => all::run::<true>(short, &tables, &mut query, scorer, top, room),
        (short, false) => all::run::<false>(short, &tables, &mut query, scorer, top, room),
    }
    for (reader, term) in query.readers.into_iter().zip(long) {
        term.probe.scored += reader.scored;
        term.probe.damage = term.probe.damage.take().or(reader.damage);
    }
}
