//! Ranges of docIDs that may have one of the best documents, the most promising first.
//!
//! Every long list has a [table](mod@crate::postings::table), in the index or in memory. The table holds the list's
//! documents, one bit each; for each range of 16 docIDs the most that its postings add, one byte; and one such byte for
//! each posting. One pass over the bytes of ranges bounds every range's scores (Dimopoulos, Nepomnyachiy and Suel,
//! *Optimizing top-k document retrieval strategies for block-max indexes*, WSDM 2013, doi:10.1145/2433396.2433412). For
//! ranges over the threshold the bits give the documents, and a count of bits gives their positions in the list (bit
//! vectors beside compressed lists: Culpepper and Moffat, *Efficient set intersection for inverted indexing*, TOIS
//! 29(1), 2010, doi:10.1145/1877766.1877767). A posting's byte gives its part to within a 255th of the list's greatest.
//! So every document has a known least and greatest score, and the `k`-th of the least ones is a threshold. Frequencies
//! are read only for documents that still pass it in the end, without their blocks of docIDs. Lists without a table are
//! short, and read.
//!
//! | file | its one job |
//! |---|---|
//! | `tables` | the tables of a searcher, and when one is made |
//! | `sums` | bounds of all ranges |
//! | `all` | queries by all ranges |
//! | `shortest` | conjunctions with a short list |
//! | `batch` | bounds of found documents, and scores of the best |
//! | `reader` | parts of single postings |

mod all;
mod batch;
mod reader;
mod shortest;
mod sums;
mod tables;

#[cfg(test)]
mod tests;

pub(super) use tables::When;
pub(in crate::query) use tables::{Found, Tables};

use super::{Scored, Scorer};
#[cfg(target_arch = "x86_64")]
use crate::base::{avx2, avx512};
use crate::postings::List;
use crate::postings::table::{GROUP, RANGE, TableView};
use crate::query::topk::TopK;
use batch::{Batch, Query};
use reader::Reader;
use std::cell::RefCell;
use sums::Sums;

/// Up to so many of the best, or as many as there are groups of ranges, ranges are faster than blocks: a larger k needs
/// too many ranges.
const FEW: usize = 100;

/// Gives every term with a long list its table, to find the best `k`. None gets one if tables have no use, or if one of
/// them is not made. In the latter case true if the reading of the lists is to be [settled](Tables::settle).
pub(super) fn furnish<'a>(
    terms: &mut [Scored<'a>],
    required: bool,
    tables: &Tables<'a>,
    scorer: &impl Scorer,
    k: usize,
    when: When,
) -> bool {
    // Bounds need a second list, and one posting has no position.
    let single = |term: &Scored<'_>| matches!(term.cursor.list(), List::Single { .. });
    let many = k > FEW.max(scorer.documents() / (RANGE * GROUP));
    if many || terms.len() < 2 || (required && terms.iter().any(single)) {
        return false;
    }
    tables.furnish(terms, scorer, when)
}

/// Buffers that a thread's queries use one after the other.
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

/// Documents with any of the terms, or with all: then at most one term may lack a table. At least one term has a table.
pub(in crate::query) fn run(terms: &mut [Scored<'_>], required: bool, scorer: &impl Scorer, top: &mut TopK<'_>) {
    let mut room = ROOM.take();
    evaluate(terms, required, scorer, top, &mut room);
    ROOM.set(room);
}

fn evaluate(terms: &mut [Scored<'_>], required: bool, scorer: &impl Scorer, top: &mut TopK<'_>, room: &mut Room) {
    #[cfg(target_arch = "x86_64")]
    if avx512::available() {
        // SAFETY: the processor has the features that the function is compiled for.
        return unsafe { evaluate_wide(terms, required, scorer, top, room) };
    } else if avx2::available() {
        // SAFETY: as above.
        return unsafe { evaluate_eight(terms, required, scorer, top, room) };
    }
    evaluate_any(terms, required, scorer, top, room);
}

/// As [`evaluate_any`], compiled for the features of such a processor.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2,bmi2,popcnt")]
fn evaluate_wide(terms: &mut [Scored<'_>], required: bool, scorer: &impl Scorer, top: &mut TopK<'_>, room: &mut Room) {
    evaluate_any(terms, required, scorer, top, room);
}

/// As [`evaluate_wide`].
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
fn evaluate_eight(terms: &mut [Scored<'_>], required: bool, scorer: &impl Scorer, top: &mut TopK<'_>, room: &mut Room) {
    evaluate_any(terms, required, scorer, top, room);
}

#[inline(always)]
fn evaluate_any(terms: &mut [Scored<'_>], required: bool, scorer: &impl Scorer, top: &mut TopK<'_>, room: &mut Room) {
    let n = terms.len();
    // Terms with tables last; and the sooner a document turns out hopeless, the better.
    if required {
        terms.sort_by_key(|term| (term.table.is_some(), term.cursor.list().df()));
    } else {
        terms.sort_by(|a, b| a.table.is_some().cmp(&b.table.is_some()).then(b.bound.total_cmp(&a.bound)));
    }
    let short = terms.iter().take_while(|term| term.table.is_none()).count();
    let (short, long) = terms.split_at_mut(short);
    let readers: Vec<Reader<'_, '_>> = long.iter_mut().filter_map(|term| Reader::new(term, n, scorer)).collect();
    let tables: Vec<TableView<'_>> = readers.iter().map(|reader| reader.table).collect();
    let mut query = Query { readers, floor: f32::NEG_INFINITY };
    match (short, required) {
        ([shortest, others @ ..], true) => {
            shortest::run(shortest, others, &tables, &mut query, scorer, top, room);
        }
        (short, true) => all::run::<true>(short, &tables, &mut query, scorer, top, room),
        (short, false) => all::run::<false>(short, &tables, &mut query, scorer, top, room),
    }
}
