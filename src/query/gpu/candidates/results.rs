//! Which results are sent to the host, and how it reads them.

use super::layout::Layout;
use crate::query::gpu::found::{Found, word};
use crate::query::gpu::rows::CandidateHead;
use crate::query::gpu::topk::Chooser;

/// What is wanted.
#[derive(Clone, Copy, Debug)]
pub enum Want<'a> {
    /// The docIDs of all results, in order.
    Docs,
    /// The best of each query, with scores.
    Best {
        /// How many hits, at least 1.
        k: u32,
        /// What chooses them.
        topk: &'a Chooser,
    },
}

/// Which results the last passes bring together. Kernels get the number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// All, side by side.
    All = 0,
    /// Results that are in no lower class of scores than the k-th best.
    Chosen = 1,
    /// All, those of each query in the slots of its candidates.
    InPlace = 2,
}

/// Words before a batch's results.
pub fn head(layout: &Layout) -> usize {
    CandidateHead::WORDS as usize + layout.order.len()
}

/// Reads the results that are in the first `there` bytes. [`lacks`] says whether there are more.
pub fn read(words: &[u32], there: u64, layout: &Layout, ranked: bool) -> Found {
    let decoded = word(words, CandidateHead::BLOCKS as usize).into();
    let mut found = Found { ranked, decoded, places: vec![None; layout.order.len()], ..Found::default() };
    let mut start = 0;
    for (row, &query) in layout.order.iter().enumerate() {
        let count = (word(words, CandidateHead::WORDS as usize + row) as usize).min(layout.queries[row].room as usize);
        found.places[query] = Some((start, count));
        start += count;
    }
    let from = head(layout);
    let to = (from + found.stride() * start).min(there as usize / 4).max(from);
    found.words = words.get(from..to).unwrap_or_default().to_vec();
    found
}

/// Words of all results, if [`read`] did not find all of them.
pub fn lacks(found: &Found) -> Option<usize> {
    let wanted = found.places.iter().flatten().map(|(_, count)| count).sum::<usize>() * found.stride();
    (found.words.len() < wanted).then_some(wanted)
}
