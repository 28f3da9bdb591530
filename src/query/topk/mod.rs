//! The best k of a stream of scored documents, or of many queries' hits in the memory of a GPU: one registry, one file
//! per method.

mod bucket_select;
mod group_heap;
mod heap;
mod histogram;
mod partial_sort;
mod radix_sort;
mod selection;

use super::gpu::topk::kernels::GpuTopKKernels;
use super::method::{Method, Registry};
use super::subset::Subset;
use crate::index::read::deleted::Deleted;
use std::cmp::Ordering;

pub use bucket_select::BUCKET_SELECT;
pub use group_heap::GROUP_HEAP;
pub use heap::HEAP;
pub use histogram::HISTOGRAM;
pub use partial_sort::PARTIAL_SORT;
pub use radix_sort::RADIX_SORT;
pub use selection::SELECTION;

/// A document and its score.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hit {
    /// DocID.
    pub doc: u32,
    /// BM25 score, or sum of impacts; never NaN, and negative only by negative weights. While a query is evaluated, in
    /// whole numbers.
    pub score: f32,
}

impl Eq for Hit {}

/// A hit as methods compare it: a number in the order of scores, above the complement of the document's place in the
/// input, so that of equal scores the earlier place is the greater.
#[derive(Clone, Copy, Debug)]
struct Ranked {
    key: u64,
    doc: u32,
}

impl Ranked {
    fn new(hit: Hit, places: Option<&[u32]>) -> Self {
        let Hit { doc, score } = hit;
        Self { key: u64::from(in_order(score)) << 32 | u64::from(!place_of(places, doc)), doc }
    }

    fn score(self) -> f32 {
        let bits = (self.key >> 32) as u32;
        f32::from_bits(if bits & SIGN == 0 { !bits } else { bits ^ SIGN })
    }
}

/// The sign bit of single precision.
const SIGN: u32 = 1 << 31;

/// A number in the order of scores: bits of scores from 0 on are in their order, and of negative ones the other way.
#[inline]
fn in_order(score: f32) -> u32 {
    let bits = score.to_bits();
    if bits & SIGN == 0 { bits | SIGN } else { !bits }
}

impl PartialEq for Ranked {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Eq for Ranked {}

impl Ord for Ranked {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        self.key.cmp(&other.key)
    }
}

impl PartialOrd for Ranked {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The place in the input of a document; `places` has that of each, or is `None` if it is the docID.
#[inline]
pub(in crate::query) fn place_of(places: Option<&[u32]>, doc: u32) -> u32 {
    places.map_or(doc, |places| places.get(doc as usize).copied().unwrap_or(doc))
}

/// A way to keep the best k. All give the same hits in the same order.
pub type TopKMethod = Method<NewTopK, GpuTopKWay>;

/// Makes an empty one for the best `k`, at least 1, on the CPU, of documents with these places in the input.
pub type NewTopK = for<'a> fn(usize, Option<&'a [u32]>) -> TopK<'a>;

/// How to choose the best of a GPU's hits.
#[derive(Clone, Copy)]
pub enum GpuTopKWay {
    /// On the host, from the hits with scores that few others reach.
    Histogram,
    /// On the host, from all hits.
    Host,
    /// By kernels, from all hits.
    Kernels(GpuTopKKernels),
}

/// All methods.
pub static TOPK: Registry<NewTopK, GpuTopKWay> = Registry {
    kind: "method for the top k",
    option: "topk",
    rows: &[&SELECTION, &HEAP, &PARTIAL_SORT, &HISTOGRAM, &GROUP_HEAP, &BUCKET_SELECT, &RADIX_SORT],
};

/// What is done with hits over k.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Keep {
    /// A heap of k.
    Heap,
    /// The best k are selected whenever there are half as many more.
    Half,
    /// All are kept until the end.
    All,
}

/// Keeps the best k hits.
pub struct TopK<'a> {
    k: usize,
    /// The place in the input of each document, if that is not the docID.
    places: Option<&'a [u32]>,
    /// The only documents that count.
    only: Option<&'a Subset>,
    /// Documents that do not count.
    without: Option<Deleted<'a>>,
    hits: Vec<Ranked>,
    keep: Keep,
    /// No hit of this score or less is among the best k.
    least: f32,
    pushed: u64,
}

impl<'a> TopK<'a> {
    /// For the best `k` hits, at least 1, in a heap. Room is made as hits come, not in advance.
    pub fn new(k: usize, places: Option<&'a [u32]>) -> Self {
        let hits = Vec::with_capacity(k.min(1024));
        let (only, without) = (None, None);
        Self { k, places, only, without, hits, keep: Keep::Heap, least: f32::NEG_INFINITY, pushed: 0 }
    }

    /// As [`Self::new`], but selects the best k whenever there are half as many more, unless `k` is small.
    pub fn selecting(k: usize, places: Option<&'a [u32]>) -> Self {
        Self { keep: if k < selection::LEAST { Keep::Heap } else { Keep::Half }, ..Self::new(k, places) }
    }

    /// As [`Self::new`], but keeps every hit until the end.
    pub fn collecting(k: usize, places: Option<&'a [u32]>) -> Self {
        Self { keep: Keep::All, ..Self::new(k, places) }
    }

    /// The same for documents of a subset, if there is one: others do not count, and do not raise the threshold.
    pub fn only(self, subset: Option<&'a Subset>) -> Self {
        debug_assert!(self.least == f32::NEG_INFINITY, "what is known holds for all documents");
        Self { only: subset, ..self }
    }

    /// The same without the deleted documents, if there are some: they do not count, and do not raise the threshold.
    pub fn without(self, deleted: Option<Deleted<'a>>) -> Self {
        debug_assert!(self.least == f32::NEG_INFINITY, "what is known holds for all documents");
        Self { without: deleted, ..self }
    }

    /// The same where it is known that k documents of the index score at least `least`. Has no effect if not all of
    /// these count, or if every hit is kept.
    pub fn known(self, least: f32) -> Self {
        if self.only.is_some() || self.without.is_some() || self.keep == Keep::All {
            return self;
        }
        // hits of just this score are among the best
        Self { least: self.least.max(least.next_down()), ..self }
    }

    /// Whether a document counts.
    #[inline]
    pub fn takes(&self, doc: u32) -> bool {
        self.only.is_none_or(|subset| subset.has(doc)) && self.without.is_none_or(|deleted| !deleted.has(doc))
    }

    /// How many hits are kept.
    pub fn k(&self) -> usize {
        self.k
    }

    /// A document that comes after all documents seen and does not score more than this is not among the best k.
    #[inline]
    pub fn threshold(&self) -> f32 {
        // where a later docID may have come earlier in the input, equal scores pass
        if self.places.is_some() { self.threshold_in_any_order() } else { self.least }
    }

    /// A document that does not score more than this is not among the best k, wherever it comes.
    #[inline]
    pub fn threshold_in_any_order(&self) -> f32 {
        self.least.next_down()
    }

    /// How many hits were considered.
    pub fn pushed(&self) -> u64 {
        self.pushed
    }

    /// Considers a hit.
    #[inline]
    pub fn push(&mut self, hit: Hit) {
        self.pushed += 1;
        if hit.score < self.least || !self.takes(hit.doc) {
            return;
        }
        let ranked = Ranked::new(hit, self.places);
        match self.keep {
            Keep::All => self.hits.push(ranked),
            Keep::Heap if self.hits.len() < self.k => {
                heap::insert(&mut self.hits, ranked);
                if self.hits.len() == self.k {
                    self.least = self.hits[0].score();
                }
            }
            Keep::Heap => {
                if self.hits.first().is_some_and(|&worst| ranked > worst) {
                    heap::replace_worst(&mut self.hits, ranked);
                    self.least = self.hits[0].score();
                }
            }
            Keep::Half => {
                self.hits.push(ranked);
                if self.hits.len() == self.k || self.hits.len() > self.k.saturating_add(self.k / 2) {
                    self.select();
                }
            }
        }
    }

    /// Drops all but the best k, of which there are as many.
    fn select(&mut self) {
        partial_sort::select(&mut self.hits, self.k);
        self.least = self.hits.last().map_or(self.least, |worst| worst.score());
    }

    /// The hits, best first.
    pub fn into_sorted(mut self) -> Vec<Hit> {
        partial_sort::select(&mut self.hits, self.k);
        self.hits.sort_unstable_by(|a, b| b.cmp(a));
        self.hits.into_iter().map(|ranked| Hit { doc: ranked.doc, score: ranked.score() }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::method::EngineKind;
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn test_methods_agree_with_sorting_everything(
            scores in proptest::collection::vec(prop_oneof![0u8..4, any::<u8>()], 0..300),
            // where half as many more are no number
            k in prop_oneof![1usize..20, 1usize..400, usize::MAX / 3 * 2..usize::MAX / 3 * 2 + 9, Just(usize::MAX)],
            moved: bool,
            // some scores are negative
            less in prop_oneof![Just(0.0f32), Just(2.0)],
        ) {
            // other places than the docIDs
            let places: Vec<u32> = (0..300).map(|doc| doc * 7 % 300).collect();
            let places = moved.then_some(&places[..]);
            let scored = |(doc, score)| Hit { doc, score: f32::from(score) - less };
            let hits: Vec<Hit> = (0..).zip(scores).map(scored).collect();
            let mut expected = hits.clone();
            expected.sort_by(|a, b| b.score.total_cmp(&a.score).then(place_of(places, a.doc).cmp(&place_of(places, b.doc))));
            expected.truncate(k);
            for method in TOPK.on(EngineKind::Cpu) {
                let new = TOPK.cpu(method).unwrap();
                // nothing is known, or all that can be
                for known in [f32::NEG_INFINITY, expected.get(k - 1).map_or(-9.0, |hit| hit.score)] {
                    let mut top = new(k, places).known(known);
                    for &hit in &hits {
                        if hit.score > top.threshold() {
                            top.push(hit);
                        }
                    }
                    prop_assert_eq!(top.into_sorted(), &expected[..], "{} with the threshold heeded", method.name);
                }
                let mut top = new(k, places);
                hits.iter().rev().for_each(|&hit| top.push(hit));
                prop_assert_eq!(top.pushed(), hits.len() as u64);
                prop_assert_eq!(top.into_sorted(), &expected[..], "{} in any order", method.name);
            }
        }
    }

    #[test]
    fn test_what_is_known_of_all_documents_says_nothing_of_some() {
        let hits: Vec<Hit> = (0..9).map(|doc| Hit { doc, score: 9.0 - doc as f32 }).collect();
        let best = |mut top: TopK<'_>| {
            hits.iter().for_each(|&hit| top.push(hit));
            top.into_sorted().into_iter().map(|hit| hit.doc).collect::<Vec<_>>()
        };
        let subset = Subset::new(vec![4, 7, 8]);
        assert_eq!(best(TopK::new(3, None).known(7.0)), [0, 1, 2]);
        assert_eq!(best(TopK::new(3, None).only(Some(&subset)).known(7.0)), [4, 7, 8]);
    }

    #[test]
    fn test_names() {
        assert_eq!(TOPK.find("heap").unwrap().name, "heap");
        let error = TOPK.find("bubble").err().unwrap().to_string();
        assert_eq!(
            error,
            "unknown method for the top k \"bubble\"; there are: selection, heap, partial-sort, histogram, group-heap, bucket-select, radix-sort"
        );
        assert!(TOPK.cpu(&RADIX_SORT).is_err() && TOPK.cpu(&HEAP).is_ok());
    }
}
