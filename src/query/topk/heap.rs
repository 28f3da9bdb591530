//! A heap of the best k, the worst at the root.

use super::{Ranked, TopK, TopKMethod};

/// `heap`.
pub static HEAP: TopKMethod = TopKMethod {
    name: "heap",
    short: "heap",
    about: "keeps the best k in a heap, whose worst is the threshold that methods skip by",
    paper: "Williams: Algorithm 232, Heapsort (CACM 7(6), 1964, doi:10.1145/512274.512284)",
    cpu: Some(new),
    gpu: None,
};

/// Replaces the root, which is worse, by `hit`, and lets it sink.
pub(super) fn replace_worst(heap: &mut [Ranked], hit: Ranked) {
    let mut at = 0;
    loop {
        let mut child = 2 * at + 1;
        if child >= heap.len() {
            break;
        }
        if child + 1 < heap.len() && heap[child + 1] < heap[child] {
            child += 1;
        }
        if hit <= heap[child] {
            break;
        }
        heap[at] = heap[child];
        at = child;
    }
    if let Some(slot) = heap.get_mut(at) {
        *slot = hit;
    }
}

/// Puts `hit` behind the others and lets it rise.
pub(super) fn insert(heap: &mut Vec<Ranked>, hit: Ranked) {
    let mut at = heap.len();
    heap.push(hit);
    while at > 0 && hit < heap[(at - 1) / 2] {
        heap[at] = heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap[at] = hit;
}

fn new(k: usize, places: Option<&[u32]>) -> TopK<'_> {
    TopK::new(k, places)
}
