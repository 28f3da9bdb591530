//! The best k of a stream of scored documents.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// A document and its score.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hit {
    /// DocID.
    pub doc: u32,
    /// BM25 score; never NaN.
    pub score: f32,
}

impl Eq for Hit {}

/// The better hit is the greater one: by score, then by smaller docID.
impl Ord for Hit {
    fn cmp(&self, other: &Self) -> Ordering {
        self.score.total_cmp(&other.score).then(other.doc.cmp(&self.doc))
    }
}

impl PartialOrd for Hit {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Keeps the best k hits.
pub struct TopK {
    k: usize,
    worst_first: BinaryHeap<Reverse<Hit>>,
    threshold: f32,
}

impl TopK {
    /// For `k` hits, at least 1. Room is made as hits come, not in advance.
    pub fn new(k: usize) -> Self {
        Self { k, worst_first: BinaryHeap::with_capacity(k.min(1024)), threshold: f32::NEG_INFINITY }
    }

    /// A document that comes after all documents seen and does not score more than this is not among the best k.
    #[inline]
    pub fn threshold(&self) -> f32 {
        self.threshold
    }

    /// Considers a hit.
    #[inline]
    pub fn push(&mut self, hit: Hit) {
        if self.worst_first.len() < self.k {
            self.worst_first.push(Reverse(hit));
            if self.worst_first.len() < self.k {
                return;
            }
        } else {
            let Some(mut worst) = self.worst_first.peek_mut() else { return };
            if hit <= worst.0 {
                return;
            }
            *worst = Reverse(hit);
        }
        self.threshold = self.worst_first.peek().map_or(f32::NEG_INFINITY, |worst| worst.0.score);
    }

    /// The hits, best first.
    pub fn into_sorted(self) -> Vec<Hit> {
        self.worst_first.into_sorted_vec().into_iter().map(|Reverse(hit)| hit).collect()
    }
}
