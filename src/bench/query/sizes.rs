//! The size of an index: bits a posting by codec, and the decoding speed of the queries' lists.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::Instant;

use crate::bench::statistics::Take;
use crate::codec::MAX_BLOCK_LEN;
use crate::index::TermInfo;
use crate::postings::{List, ListWords};
use crate::query::Plan;

use super::lines::Place;

/// Of one index and codec.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Size {
    /// DocIDs, skip entries and the table of lists.
    pub(super) bits: f64,
    /// Frequencies, which all codecs share.
    pub(super) tf_bits: f64,
    /// Bytes of stored tables of long lists, if there are any.
    pub(super) tables: Option<f64>,
    /// DocIDs a second, one core; none if no list has a block.
    pub(super) decoded: Option<f64>,
}

/// Measures: decodes each list of the queries, once a round.
///
/// # Errors
/// A damaged index.
pub(super) fn size(place: &Place<'_>, plans: &[Plan], rounds: u32, take: Take) -> anyhow::Result<Size> {
    let index = place.searcher.index();
    let bytes = |name: &str| index.manifest().file(name).map_or(0, |file| file.bytes) as f64;
    let per_posting = 8.0 / index.statistics().postings.max(1) as f64;
    let terms: BTreeMap<u32, &TermInfo> =
        plans.iter().flat_map(|plan| &plan.terms).map(|term| (term.id, &term.info)).collect();
    let mut lists = Vec::new();
    for info in terms.values() {
        if let List::Blocks(list) = index.list(info, place.searcher.codec())? {
            lists.push(list);
        }
    }
    let postings: u64 = lists.iter().map(|list| u64::from(list.df)).sum();
    // each list by itself: a disturbance of one does not reach the others
    let mut seconds = vec![Vec::new(); lists.len()];
    for round in 0..=rounds {
        for (list, seconds) in lists.iter().zip(&mut seconds) {
            let start = Instant::now();
            decode(list)?;
            if round > 0 {
                seconds.push(start.elapsed().as_secs_f64());
            }
        }
    }
    let all: f64 = seconds.iter().map(|seconds| take.of(seconds)).sum();
    let codec = place.searcher.codec().codec().name();
    Ok(Size {
        bits: per_posting * (bytes(&format!("{codec}/postings.bin")) + bytes(&format!("{codec}/lists.bin"))),
        tf_bits: per_posting * bytes("tf.bin"),
        tables: index.list_tables().map(|_| per_posting / 8.0 * bytes("tables.bin")),
        decoded: (all > 0.0).then_some(postings as f64 / all),
    })
}

/// Decodes every block of a list and forgets it.
fn decode(list: &ListWords<'_>) -> anyhow::Result<()> {
    let mut out = [0; MAX_BLOCK_LEN];
    for block in 0..list.blocks() {
        let docs = &mut out[..list.block_len(block)];
        list.codec.decode_block(list.words, &list.skip(block), block, docs)?;
        black_box(docs);
    }
    Ok(())
}
