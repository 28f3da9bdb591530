//! PageRank: how often a reader who follows links at random is on each page.
//!
//! Page, Brin, Motwani and Winograd, *The PageRank citation ranking: bringing order to the Web*, Stanford 1999. At each
//! step the reader follows one of the page's links with probability [`DAMPING`], each with equal chance, and goes to
//! any document otherwise. A page without links always leads to any document. With N documents, L(u) links on u, and D
//! the ranks of all pages without links, summed:
//!
//! ```text
//! rank(v) = (1 - d)/N + d · (D/N + Σ rank(u)/L(u) over all u that link to v)
//! ```
//!
//! All ranks begin with 1/N. Each step brings them nearer to the solution by the factor d at least. If a step changed
//! them by [`TOLERANCE`] in sum, they are within d/(1 - d) times that of the solution.
//!
//! Every document sums its gifts over the pages that link to it, in docID order; sums over all documents go by chunks
//! of a fixed size. So the ranks are the same to the last bit for any number of threads.

use super::family::lacking;
use super::graph::{CHUNK, LinkGraph};
use super::{Family, Needs, Permutation};
use crate::Result;
use crate::base::means::Means;
use rayon::prelude::*;

/// `pagerank`.
pub static PAGERANK: Family = Family {
    name: "pagerank",
    about: "by PageRank, highest first",
    paper: Some("Page, Brin, Motwani, Winograd: The PageRank citation ranking (Stanford, 1999)"),
    params: &[],
    needs: Needs::Links,
    check: |_| Ok(()),
    make: |_, documents, _| match documents.ranks() {
        Some(ranks) => Ok(highest_first(ranks)),
        None => Err(lacking("pagerank", "the index has no ranks; build it with `gamut index --links`")),
    },
};

/// How likely the reader is to follow a link.
pub const DAMPING: f64 = 0.85;

/// The ranks are done when a step changes them by less than this, added up over all documents.
pub const TOLERANCE: f64 = 1e-9;

/// No more steps than this are made. The change before the first is below 2, so that 132 steps always do.
pub const MAX_STEPS: u32 = 200;

/// Ranks, and how they were found.
#[derive(Clone, Debug, PartialEq)]
pub struct PageRank {
    /// Of each document; they add up to 1.
    pub values: Vec<f32>,
    /// Steps made.
    pub steps: u32,
    /// What the last step changed, added up over all documents.
    pub change: f64,
}

/// Bytes that [`pagerank`] needs beside the graph, for so many documents.
pub fn memory(documents: u64) -> u64 {
    20 * documents
}

/// Ranks documents by their links, on the threads of the rayon pool it is called in.
///
/// # Errors
/// [`crate::Error::Interrupted`] when the work is cancelled.
pub fn pagerank(graph: &LinkGraph, means: &Means) -> Result<PageRank> {
    let documents = graph.documents();
    let share = 1.0 / documents as f64;
    let mut ranks = vec![share; documents];
    let mut given = vec![0.0; documents];
    let (mut steps, mut change) = (0, f64::INFINITY);
    while documents > 0 && steps < MAX_STEPS && change >= TOLERANCE {
        means.go_on()?;
        let lost = give(&ranks, graph.out_degrees(), &mut given);
        let common = (1.0 - DAMPING) * share + DAMPING * lost * share;
        change = receive(graph, &given, common, &mut ranks);
        steps += 1;
    }
    Ok(PageRank { values: ranks.iter().map(|&rank| rank as f32).collect(), steps, change })
}

/// What each document gives to each of its targets; returns the summed ranks of documents without links.
fn give(ranks: &[f64], out_degrees: &[u32], given: &mut [f64]) -> f64 {
    let parts = given.par_chunks_mut(CHUNK).zip(ranks.par_chunks(CHUNK)).zip(out_degrees.par_chunks(CHUNK));
    let lost = parts.map(|((given, ranks), degrees)| {
        let mut lost = 0.0;
        for ((given, &rank), &degree) in given.iter_mut().zip(ranks).zip(degrees) {
            if degree == 0 {
                lost += rank;
            }
            // Nobody asks what a page without links gives.
            *given = rank / f64::from(degree.max(1));
        }
        lost
    });
    lost.collect::<Vec<f64>>().into_iter().sum()
}

/// The ranks after a step; returns the sum of their changes.
fn receive(graph: &LinkGraph, given: &[f64], common: f64, ranks: &mut [f64]) -> f64 {
    let changes = ranks.par_chunks_mut(CHUNK).enumerate().map(|(chunk, ranks)| {
        let (mut ranks, mut change) = (ranks.iter_mut(), 0.0);
        graph.sums(chunk, given, |sum| {
            if let Some(rank) = ranks.next() {
                let new = common + DAMPING * sum;
                change += (new - *rank).abs();
                *rank = new;
            }
        });
        change
    });
    changes.collect::<Vec<f64>>().into_iter().sum()
}

/// Documents by rank, highest first; equal ones keep their order.
pub fn highest_first(values: &[f32]) -> Permutation {
    let mut docs: Vec<u32> = (0..values.len() as u32).collect();
    docs.par_sort_by(|&a, &b| values[b as usize].total_cmp(&values[a as usize]).then(a.cmp(&b)));
    Permutation::from_old_of_new(&docs)
}

#[cfg(test)]
mod tests {
    use super::super::graph::any_links;
    use super::*;
    use crate::Error;
    use proptest::prelude::*;
    use std::sync::atomic::Ordering;

    fn ranked(links: &[Vec<u32>]) -> PageRank {
        pagerank(&LinkGraph::new(links.iter().cloned()), &Means::new(1, 1)).unwrap()
    }

    /// By repeated steps with a matrix of probabilities.
    fn slow(links: &[Vec<u32>]) -> Vec<f64> {
        let n = links.len();
        let mut goes = vec![vec![1.0 / n as f64; n]; n];
        for (from, row) in goes.iter_mut().enumerate() {
            let follows = |to: usize| to != from && links[from].contains(&(to as u32));
            let count = (0..n).filter(|&to| follows(to)).count();
            for (to, chance) in row.iter_mut().enumerate() {
                let link = if follows(to) { 1.0 / count as f64 } else { 0.0 };
                *chance = if count == 0 { 1.0 / n as f64 } else { 0.15 / n as f64 + 0.85 * link };
            }
        }
        let mut ranks = vec![1.0 / n as f64; n];
        for _ in 0..400 {
            ranks = (0..n).map(|to| (0..n).map(|from| ranks[from] * goes[from][to]).sum()).collect();
        }
        ranks
    }

    proptest! {
        #[test]
        fn prop_ranks_are_those_of_the_matrix(links in any_links(30)) {
            let fast = ranked(&links);
            prop_assert!(fast.change < TOLERANCE && fast.steps <= 132, "{} steps", fast.steps);
            for (fast, slow) in fast.values.iter().zip(slow(&links)) {
                prop_assert!((f64::from(*fast) - slow).abs() < 1e-8 + slow * 1e-7, "{} {}", fast, slow);
            }
        }
    }

    #[test]
    fn test_graphs_without_anything_to_follow() {
        for links in [
            vec![vec![]],
            vec![vec![0]],
            vec![vec![], vec![], vec![]],
            vec![vec![0, 0], vec![1], vec![2, 2]],
            vec![vec![1], vec![2], vec![3], vec![0]],
        ] {
            let found = ranked(&links);
            assert!(found.values.iter().all(|&rank| rank == 1.0 / links.len() as f32), "{links:?}: {found:?}");
        }
        assert!(ranked(&[]).values.is_empty());
    }

    /// Two pages, one link: r0 = (1 - d)/2 + d·r1/2 and r0 + r1 = 1, so that r0 = 0.5/1.425.
    #[test]
    fn test_a_page_without_links_gives_to_all() {
        let found = ranked(&[vec![1, 1, 0], vec![]]);
        assert!((f64::from(found.values[0]) - 0.5 / 1.425).abs() < 1e-7, "{found:?}");
        assert_eq!(highest_first(&found.values).old_of_new(), [1, 0]);
    }

    #[test]
    fn test_any_number_of_threads_gives_the_same_bits() {
        let n = 20_000u32;
        let hash = |i: u32, k: u32| (i.wrapping_mul(2_654_435_761) ^ k.wrapping_mul(40_503)).wrapping_mul(69_069) >> 7;
        let graph = LinkGraph::new((0..n).map(|i| (0..hash(i, 9) % 8).map(|k| hash(i, k) % n % (i + 1)).collect()));
        assert!(graph.links() > 50_000);
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| pagerank(&graph, &Means::new(1, 1)).unwrap())
        };
        let one = on(1);
        assert!((one.values.iter().map(|&rank| f64::from(rank)).sum::<f64>() - 1.0).abs() < 1e-6);
        for threads in [2, 3, 8] {
            assert_eq!(on(threads), one);
        }
        let stopped = Means::new(1, 1);
        stopped.cancel.store(true, Ordering::Relaxed);
        assert!(matches!(pagerank(&graph, &stopped), Err(Error::Interrupted)));
    }

    #[test]
    fn test_equal_ranks_stay_in_order() {
        assert_eq!(highest_first(&[0.1, 0.3, 0.1, 0.4, 0.1]).old_of_new(), [3, 1, 0, 2, 4]);
        assert_eq!(highest_first(&[]).documents(), 0);
    }
}
