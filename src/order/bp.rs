//! Recursive graph bisection: an order of documents in which documents that share terms lie together.
//!
//! The documents are cut in two halves. Documents change sides while that makes the lists of both halves cheaper to
//! store; then each half is cut in the same way, down to a few documents. A term in `l` of the `n` documents of the
//! left half and in `r` of the right half costs `l·log2(n/(l+1)) + r·log2(n/(r+1))` bits, about the cost of its d-gaps
//! if its documents lie anywhere in their halves. So a document on the left gains, by going right, the sum over its
//! terms of `f(r) − f(l−1)` with `f(x) = (x+1)·log2(x+2) − x·log2(x+1)`; see `gain.rs`.
//!
//! Dhulipala, Kabiljo, Karrer, Ottaviano, Pupyrev, Shalita, Compressing Graphs and Indexes with Recursive
//! Graph Bisection, KDD 2016, doi:10.1145/2939672.2939862; Mackenzie, Mallia, Petri, Culpepper, Suel,
//! ECIR 2019, doi:10.1007/978-3-030-15712-8_22; Mackenzie, Petri, Moffat, Tradeoff Options for Bipartite
//! Graph Partitioning, TKDE 2022, doi:10.1109/TKDE.2022.3175410.
//!
//! What makes it fast here:
//! - Exchanging the best pairs of both sides while a pair gains is a cut of all documents at the median of one key, the
//!   gain of being right. So one selection replaces two sorts.
//! - A node's documents are copied into its two children with terms renumbered from 0. A term in one document of the
//!   child, or in all, cannot tell where documents belong and is dropped on the way. The other terms soon fit 16-bit
//!   numbers and the caches, and are read from front to back.
//! - It starts from the order of the documents' URLs where that is a good one. Then one pass is enough, and in small
//!   nodes few exchanges.
//! - Terms lie in two rooms in turn: a node's children write to the room that its parent's terms were in.
//! - Gains are integers, so sums do not depend on the order of additions. The order of the documents is the same for
//!   any number of threads and on every machine.

mod forward;
mod gain;
mod node;
mod nth;
mod start;
#[cfg(test)]
mod tests;

use forward::Forward;
use gain::Gains;
use node::{COUNTERS, Child, Id, Node, Scratch, TASKS};
use rayon::prelude::*;
use start::Start;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{Documents, Family, Needs, Permutation};
use crate::base::means::{Means, Stage, Unit};
use crate::base::params::{Domain, Param};
use crate::{Error, Result};

/// `bp`.
pub static BP: Family = Family {
    name: "bp",
    about: "recursive graph bisection, from the order of URLs if that is a good one; takes longest, and gives the smallest index",
    paper: Some("Dhulipala et al.: Compressing graphs and indexes with recursive graph bisection (KDD 2016)"),
    params: &[Param {
        name: "min-df",
        about: "leaves out terms in fewer documents",
        domain: Domain::Count { from: 2, to: u32::MAX as u64 },
        default: "2",
    }],
    needs: Needs::Nothing,
    check: |_| Ok(()),
    make: |settings, documents, means| bisected(documents, settings.get("min-df"), means),
};

/// The stage that decides docIDs; its unit is documents halved.
pub const STAGE: Stage = Stage { name: "ordering", unit: Unit::Share };

/// All threads share a node that has the postings of so many threads, if all had equally many. To hand out the parts of
/// a smaller one takes longer than to leave it to one thread.
const SHARED: usize = 2;
/// The children of nodes with fewer postings are put in order by one thread.
const LEAST_JOINED: usize = if cfg!(test) { 1 << 6 } else { 1 << 16 };

/// How far a pass goes.
#[derive(Clone, Copy, Debug)]
struct Pass {
    /// It ignores terms in fewer documents.
    min_df: u32,
    /// Nodes of so many documents or fewer are not cut again; their documents keep their order.
    leaf: usize,
    /// A node is settled when only one in so many of its documents changes sides,
    settled: usize,
    /// or after so many rounds of exchanges,
    iterations: u32,
    /// or, where nodes of so many documents or fewer are left sooner, after so many there.
    small: Option<(usize, u32)>,
}

/// Made first if the start is not near: the order that it finds by common terms is a better one. The last pass orders
/// its leaves anew; on a crawl of Debian's documentation leaves of 16 in place of 256 make lists 0.05 % smaller and
/// take 8 % more time.
const COARSE: Pass =
    Pass { min_df: 128, leaf: if cfg!(test) { 32 } else { 256 }, settled: 512, iterations: 20, small: None };

/// The last pass, which starts from the order of URLs or of the pass before.
///
/// To go on in small nodes, too, and until one document in 512 changes sides, takes longer, and gains 0.8 % of the bits
/// of lists on a crawl of Debian's documentation; see `docs/measurements/lists.md`.
const FINE: Pass = Pass {
    min_df: 0,
    leaf: 16,
    settled: 64,
    iterations: 20,
    small: Some((if cfg!(test) { 1 << 7 } else { 1 << 14 }, 5)),
};

impl Pass {
    /// Rounds of exchanges in a node of so many documents, at most.
    fn iterations(&self, documents: usize) -> u32 {
        match self.small {
            Some((small, iterations)) if documents <= small => iterations,
            _ => self.iterations,
        }
    }
}

/// Orders documents by their terms; ignores terms in fewer than `min_df` of them.
///
/// # Errors
/// [`Error::Memory`] if the graph does not fit, [`Error::Interrupted`], and those of [`Documents`].
fn bisected(documents: &dyn Documents, min_df: u32, means: &Means) -> Result<Permutation> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(means.threads).build();
    let pool = pool.map_err(|error| Error::Invalid { what: "--threads".to_owned(), why: error.to_string() })?;
    pool.install(|| {
        let count = documents.count();
        // A term in all documents does not tell them apart.
        let lists = documents.lists(min_df..=count.saturating_sub(1))?;
        let dfs: Vec<u32> = lists.iter().map(|&(_, df)| df).collect();
        let postings = dfs.iter().map(|&df| u64::from(df)).sum();
        let needed = Forward::bytes_for(count, lists.len() as u64, postings);
        if needed > means.memory {
            return Err(Error::Memory {
                given: means.memory,
                needed,
                what: "bisecting this index (or leave rare terms out: order bp:MIN_DF)",
            });
        }
        let (start, forward) = rayon::join(
            || Start::choose(documents, &lists, means),
            || {
                Forward::build(count, &dfs, min_df..=count, |list, out| {
                    means.go_on()?;
                    documents.read(lists[list].0, out)
                })
            },
        );
        let (start, forward) = (start?, forward?);
        let passes = if start.near { &[FINE][..] } else { &[COARSE, FINE] };
        means.progress.begin(STAGE, work(&forward, passes));
        bisect(&forward, &start.old_of_new, passes, means).map(Permutation::new).ok_or(Error::Interrupted)
    })
}

/// The work that [`bisect`] reports in all: each document once per level and pass.
fn work(forward: &Forward, passes: &[Pass]) -> u64 {
    let documents = forward.documents();
    let levels: u32 = passes.iter().map(|pass| levels(documents as usize, pass.leaf)).sum();
    u64::from(documents) * u64::from(levels)
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

/// The new docID of each document, at its old one; none if the work was cancelled.
///
/// It starts from the order in which `start` lists all documents, and keeps that order where nothing tells documents
/// apart. Documents without a kept term come last. Runs on the threads of the current rayon pool; any of
/// them reports the work done since its last report to the progress of `means`. The sum is [`work`].
fn bisect(forward: &Forward, start: &[u32], passes: &[Pass], means: &Means) -> Option<Vec<u32>> {
    let documents = forward.documents() as usize;
    let gains = Gains::new();
    let (mut old_of_new, without) = forward.with_and_without_terms(start);
    let scarce = !forward.leaves_room(rayon::current_num_threads() / SHARED, means.memory);
    let mut rooms = [0; 2].map(|_| vec![0u32; forward.postings()]);
    for pass in passes {
        let levels = levels(documents, pass.leaf);
        means.progress.advance(without.len() as u64 * u64::from(levels));
        let [first, second] = &mut rooms;
        let node = forward.root(old_of_new.clone(), pass.min_df, first);
        let job = Job { room: &mut second[..node.words()], node, order: &mut old_of_new, levels };
        Bisection { pass, gains: &gains, means, scarce }.order_all(job);
        if means.cancelled() {
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
struct Bisection<'a> {
    pass: &'a Pass,
    gains: &'a Gains,
    means: &'a Means,
    /// Whether nodes at once cannot count as one alone could.
    scarce: bool,
}

/// A node to be put in order, with what that needs.
struct Job<'a, N> {
    node: N,
    /// Its children's terms go here.
    room: &'a mut [u32],
    /// Where the order of its documents goes.
    order: &'a mut [u32],
    /// Up to so many levels are below.
    levels: u32,
}

/// Nodes that are put in order when the larger ones are done.
struct Later<'a> {
    /// They take fewer words of memory.
    below: usize,
    jobs: Mutex<Vec<Job<'a, Child<'a>>>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // a push that panicked has pushed nothing
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Bisection<'_> {
    /// Puts all documents of a pass in order: first the large nodes, whose parts are shared out, then with a node for
    /// each thread.
    fn order_all(&self, root: Job<'_, Child<'_>>) {
        let below = root.node.words() / (rayon::current_num_threads() / SHARED).max(1);
        let later = Later { below: below.max(LEAST_JOINED), jobs: Mutex::default() };
        let counters = COUNTERS.min(rayon::current_num_threads());
        self.order_child(root, &mut Scratch::new(TASKS, counters), Some(&later));
        let mut jobs = later.jobs.into_inner().unwrap_or_else(PoisonError::into_inner);
        jobs.par_sort_by_key(|job| std::cmp::Reverse(job.node.words()));
        jobs.into_par_iter().with_max_len(1).for_each(|job| self.order_child(job, &mut Scratch::alone(), None));
    }

    fn order_child<'a>(
        &self,
        Job { node, room, order, levels }: Job<'a, Child<'a>>,
        scratch: &mut Scratch,
        later: Option<&Later<'a>>,
    ) {
        match node {
            Child::Short(node) => self.order(Job { node, room, order, levels }, scratch, later),
            Child::Long(node) => self.order(Job { node, room, order, levels }, scratch, later),
        }
    }

    /// Puts a node's documents in order, but leaves small descendants for later. Its children's terms go to its room,
    /// and its grandchildren's to where its own are.
    fn order<'a, I: Id>(
        &self,
        Job { node, room, order, levels }: Job<'a, Node<'a, I>>,
        scratch: &mut Scratch,
        later: Option<&Later<'a>>,
    ) {
        let n = node.documents();
        if n <= self.pass.leaf.max(1) {
            order.copy_from_slice(&node.docs);
            return self.means.progress.advance(n as u64 * u64::from(levels));
        }
        let Some(cut) = node.cut(self.pass, self.gains, self.means, scratch) else { return };
        let (left, right) = node.split(&cut, room, scratch.tasks());
        drop(cut);
        self.means.progress.advance(n as u64);
        let (low, high) = order.split_at_mut(left.documents());
        let (low_room, high_room) = node.into_words().split_at_mut(left.words());
        let high_room = &mut high_room[..right.words()];
        let joined = left.words() + right.words() >= LEAST_JOINED;
        let children = [(left, low_room, low), (right, high_room, high)];
        let jobs = children.map(|(node, room, order)| Job { node, room, order, levels: levels - 1 });
        if !joined {
            return jobs.into_iter().for_each(|job| self.order_child(job, scratch, later));
        }
        // Two large nodes at once: what one thread does for one of them, the others need not wait for.
        let mut second = scratch.second(self.scarce);
        let order = |job: Job<'a, Child<'a>>, scratch: &mut Scratch| match later {
            Some(later) if job.node.words() < later.below => lock(&later.jobs).push(job),
            _ => self.order_child(job, scratch, later),
        };
        let [left, right] = jobs;
        rayon::join(|| order(left, scratch), || order(right, &mut second));
    }
}
