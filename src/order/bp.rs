//! Recursive graph bisection: an order of documents in which documents that share terms lie together.
//!
//! The documents are cut in two halves, and documents change sides while that makes the lists of both
//! halves cheaper to store; then each half is cut in the same way, down to a few documents. A term that
//! `l` of the `n` documents of the left half and `r` of the right half hold costs
//! `l·log2(n/(l+1)) + r·log2(n/(r+1))` bits, about what its d-gaps cost when its documents lie anywhere
//! in their halves. So a document on the left gains, by going right, the sum over its terms of
//! `f(r) − f(l−1)` with `f(x) = (x+1)·log2(x+2) − x·log2(x+1)`; see `gain.rs`.
//!
//! Dhulipala, Kabiljo, Karrer, Ottaviano, Pupyrev, Shalita, Compressing Graphs and Indexes with Recursive
//! Graph Bisection, KDD 2016, doi:10.1145/2939672.2939862; Mackenzie, Mallia, Petri, Culpepper, Suel,
//! ECIR 2019, doi:10.1007/978-3-030-15712-8_22; Mackenzie, Petri, Moffat, Tradeoff Options for Bipartite
//! Graph Partitioning, TKDE 2022, doi:10.1109/TKDE.2022.3175410.
//!
//! What makes it fast here:
//! - Exchanging the best of both sides in pairs while a pair gains is the same as to cut all documents at
//!   the median of one key, the gain of being right: a selection takes the place of two sorts.
//! - A node's documents are copied into its two children with terms renumbered from 0. A term that only
//!   one document of the child holds, or all of them do, cannot tell where documents belong and is dropped
//!   on the way; what stays soon fits 16-bit numbers and the caches, and is read from front to back.
//! - Gains are integers, so sums do not depend on the order of additions, and the order of the documents
//!   is the same for any number of threads and on every machine.

mod forward;
mod gain;
mod node;
#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicBool, Ordering};

pub use forward::Forward;
use gain::Gains;
use node::{Child, Id, Node};

/// The children of nodes of fewer postings are done one after the other.
const PARALLEL_POSTINGS: usize = if cfg!(test) { 1 << 6 } else { 1 << 16 };

/// In all passes but the last, terms that fewer documents hold do not count.
const COMMON_DF: u32 = 128;

/// How far to go.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How often to start anew with the order that the pass before found. What passes before the last
    /// find, by the common terms only, is a better start than the input's order: on a crawl of Debian's
    /// documentation the logarithms of d-gaps take 2.39 bits per posting after one pass, 2.33 after two
    /// for a quarter more time, and 2.32 after three. At least one is made.
    pub passes: u32,
    /// Rounds of exchanges in a node, at most.
    pub iterations: u32,
    /// Nodes of so many documents or fewer are not cut again; their documents keep their order.
    pub leaf: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { passes: 2, iterations: 20, leaf: 16 }
    }
}

/// What [`bisect`] hands to its `progress`, summed up: each document once per level and pass.
pub fn work(forward: &Forward, options: &Options) -> u64 {
    let levels = levels(forward.documents() as usize, options.leaf);
    u64::from(forward.documents()) * u64::from(levels) * u64::from(options.passes.max(1))
}

/// How often so many documents are halved until the larger half is a leaf.
fn levels(documents: usize, leaf: usize) -> u32 {
    let (mut n, mut levels) = (documents, 1);
    while n > leaf.max(1) {
        n = n.div_ceil(2);
        levels += 1;
    }
    levels
}

/// The new docID of each document, at its old one; none if `cancel` was set meanwhile.
///
/// Documents without a kept term come last, in their old order. Works on the threads of the current rayon
/// pool; `progress` is called from any of them with the work done since, which adds up to [`work`].
pub fn bisect(
    forward: &Forward,
    options: &Options,
    progress: &(dyn Fn(u64) + Sync),
    cancel: &AtomicBool,
) -> Option<Vec<u32>> {
    let documents = forward.documents() as usize;
    let levels = levels(documents, options.leaf);
    let passes = options.passes.max(1);
    let run = Run { options, gains: Gains::new(), progress, cancel };
    let (mut old_of_new, without) = forward.with_and_without_terms();
    progress(without.len() as u64 * u64::from(levels) * u64::from(passes));
    for pass in 1..=passes {
        let root = forward.root(old_of_new.clone(), if pass < passes { COMMON_DF } else { 0 });
        run.order(root, &mut old_of_new, levels);
        if run.cancelled() {
            return None;
        }
    }
    old_of_new.extend(without);
    let mut new_of_old = vec![0; documents];
    for (new, &old) in (0..).zip(&old_of_new) {
        new_of_old[old as usize] = new;
    }
    Some(new_of_old)
}

/// What the whole recursion shares.
struct Run<'a> {
    options: &'a Options,
    gains: Gains,
    progress: &'a (dyn Fn(u64) + Sync),
    cancel: &'a AtomicBool,
}

impl Run<'_> {
    fn cancelled(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }

    /// Writes the documents of a node in their order; there are up to `levels` levels from it down.
    fn order<I: Id>(&self, node: Node<'_, I>, order: &mut [u32], levels: u32) {
        let n = node.documents();
        if n <= self.options.leaf.max(1) {
            order.copy_from_slice(&node.docs);
            return (self.progress)(n as u64 * u64::from(levels));
        }
        let parallel = node.postings() >= PARALLEL_POSTINGS;
        let Some(cut) = node.cut(self.options, &self.gains, self.cancel) else { return };
        let (left, right) = node.split(&cut);
        drop((node, cut));
        (self.progress)(n as u64);
        let (low, high) = order.split_at_mut(left.documents());
        let descend = |child, order: &mut [u32]| match child {
            Child::Short(node) => self.order(node, order, levels - 1),
            Child::Long(node) => self.order(node, order, levels - 1),
        };
        if parallel {
            rayon::join(|| descend(left, low), || descend(right, high));
        } else {
            descend(left, low);
            descend(right, high);
        }
    }
}
