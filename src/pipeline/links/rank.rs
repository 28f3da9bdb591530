//! From hashes to documents, then to a graph, then to ranks.

use std::collections::HashMap;
use std::time::Instant;

use rayon::prelude::*;

use super::spool::Frame;
use super::{Hashed, LinkReport, NONE, Spool};
use crate::base::memory::memory_in_use;
use crate::order::graph::{GraphBuilder, LinkGraph};
use crate::order::pagerank;
use crate::pipeline::report::Lane;
use crate::pipeline::shared::{Shared, threads};
use crate::{Error, Result};

/// Redirects that are followed one after the other.
const MAX_HOPS: usize = 10;

/// Targets that are looked up between two looks at the memory: 8 MiB of hashes.
const GROUP: usize = 1 << 20;

/// Bytes for turning links round, where the graph is not smaller than that.
const MIN_WINDOW: u64 = 4 << 20;

/// The rank of each document, and what it was made from.
///
/// # Errors
/// [`Error::Memory`] if the graph does not fit the budget with what else the process holds, [`Error::Interrupted`],
/// [`Error::Changed`], [`Error::Io`].
pub fn rank(shared: &Shared, mut spool: Spool) -> Result<(Vec<f32>, LinkReport)> {
    let from = Instant::now();
    let pool = threads(shared.plan.threads)?;
    let budget = Budget { given: shared.plan.budget, held: memory_in_use() };
    let (ranked, links) = pool.install(|| -> Result<_> {
        let graph = graph(&mut spool, &budget, &|| shared.stopped())?;
        let ranked = pagerank::pagerank(&graph, &shared.options.means)?;
        Ok((ranked, graph.links()))
    })?;
    shared.clock.record(Lane::Rank, from);
    let (steps, change, seconds) = (ranked.steps, ranked.change, from.elapsed().as_secs_f64());
    Ok((ranked.values, LinkReport { links, steps, change, seconds, ..spool.counts }))
}

/// What may be used beside what the build holds already.
pub(super) struct Budget {
    pub(super) given: u64,
    pub(super) held: u64,
}

impl Budget {
    fn left(&self) -> u64 {
        self.given.saturating_sub(self.held)
    }

    fn allow(&self, bytes: u64) -> Result<()> {
        if bytes <= self.left() {
            return Ok(());
        }
        Err(Error::Memory {
            given: self.given,
            needed: self.held + bytes + bytes / 4,
            what: "the graph of the links of this collection, with all else that the build holds,",
        })
    }
}

/// Hash of a URL → the document that it leads to.
pub(super) struct Addresses(HashMap<u64, u32, Hashed>);

/// Bytes of a table of so many entries: 17 each, in a power of two that is at most 7/8 full.
fn table_bytes(entries: u64) -> u64 {
    17 * (entries * 8 / 7 + 1).next_power_of_two()
}

impl Addresses {
    /// Documents and redirects of a spool.
    pub(super) fn read(spool: &mut Spool) -> Result<Self> {
        let mut documents =
            HashMap::with_capacity_and_hasher((spool.documents + spool.counts.redirects) as usize, Hashed::default());
        let (mut redirects, mut next) = (Vec::with_capacity(spool.counts.redirects as usize), 0);
        spool.each(|frame| {
            for (&hash, doc) in frame.own().iter().zip(next..) {
                if hash != NONE {
                    documents.entry(hash).or_insert(doc);
                }
            }
            next += frame.own().len() as u32;
            redirects.extend_from_slice(frame.redirects());
            Ok(())
        })?;
        Ok(Self::new(documents, redirects))
    }

    /// `redirects`: from, to, in input order.
    fn new(mut documents: HashMap<u64, u32, Hashed>, mut redirects: Vec<[u64; 2]>) -> Self {
        redirects.retain(|[from, _]| !documents.contains_key(from));
        redirects.sort_by_key(|[from, _]| *from);
        redirects.dedup_by_key(|[from, _]| *from);
        let step = |from: u64| redirects.binary_search_by_key(&from, |[from, _]| *from).ok().map(|i| redirects[i][1]);
        let follow = |mut at: u64| {
            for _ in 1..MAX_HOPS {
                match documents.get(&at) {
                    Some(&doc) => return Some(doc),
                    None => at = step(at)?,
                }
            }
            documents.get(&at).copied()
        };
        let led: Vec<(u64, u32)> = redirects.iter().filter_map(|&[from, to]| Some((from, follow(to)?))).collect();
        documents.extend(led);
        Self(documents)
    }

    /// Appends the documents that hashes lead to, ascending.
    fn documents(&self, hashes: &[u64], out: &mut Vec<u32>) {
        let start = out.len();
        out.extend(hashes.iter().filter_map(|hash| self.0.get(hash)));
        out[start..].sort_unstable();
    }
}

/// Who links to whom.
pub(super) fn graph(spool: &mut Spool, budget: &Budget, stopped: &dyn Fn() -> bool) -> Result<LinkGraph> {
    let (documents, redirects) = (spool.documents, spool.counts.redirects);
    let table = table_bytes(documents + redirects);
    let found = 40 * redirects;
    budget.allow(table + found)?;
    let addresses = Addresses::read(spool)?;
    let mut builder = GraphBuilder::default();
    let (mut group, mut targets) = (Vec::new(), 0);
    // A hash and a docID, twice.
    let group_bytes = 24 * spool.counts.addresses.min(GROUP as u64);
    let mut flush = |group: &mut Vec<Frame>| {
        if stopped() {
            return Err(Error::Interrupted);
        }
        let looked_up: Vec<_> = group.par_iter().map(|frame| look_up(&addresses, frame)).collect();
        group.clear();
        let mut links = Vec::new();
        for (docs, ends) in looked_up {
            let mut start = 0;
            for end in ends {
                links.clear();
                links.extend_from_slice(&docs[start..end]);
                builder.push(&mut links);
                start = end;
            }
        }
        budget.allow(table + builder.memory() + group_bytes)
    };
    spool.each(|frame| {
        targets += frame.target_count();
        group.push(frame);
        if targets >= GROUP {
            targets = 0;
            flush(&mut group)?;
        }
        Ok(())
    })?;
    flush(&mut group)?;
    drop(addresses);
    // All at once, at most.
    let whole = 8 * documents + 4 * spool.counts.addresses;
    let held = builder.memory() + builder.finish_memory() + pagerank::memory(documents);
    budget.allow(held + whole.min(MIN_WINDOW))?;
    Ok(builder.finish((budget.left() - held).min(whole)))
}

/// The documents that those of a frame link to, and where those of each end.
fn look_up(addresses: &Addresses, frame: &Frame) -> (Vec<u32>, Vec<usize>) {
    let (mut docs, mut ends) = (Vec::with_capacity(frame.target_count()), Vec::with_capacity(frame.own().len()));
    for targets in frame.targets() {
        addresses.documents(targets, &mut docs);
        ends.push(docs.len());
    }
    (docs, ends)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses(documents: &[u64], redirects: &[[u64; 2]]) -> Addresses {
        let mut table: HashMap<u64, u32, Hashed> = HashMap::default();
        for (&hash, doc) in documents.iter().zip(0..) {
            table.entry(hash).or_insert(doc);
        }
        Addresses::new(table, redirects.to_vec())
    }

    #[test]
    fn test_redirects_lead_to_documents() {
        let chain: Vec<[u64; 2]> = (0..30).map(|i| [100 + i, 101 + i]).collect();
        let mut redirects = vec![[50, 10], [50, 20], [10, 20], [60, 61], [61, 62], [62, 60], [70, 99], [20, 50]];
        redirects.extend(&chain);
        let found = addresses(&[10, 20, 10, 130], &redirects);
        let doc = |hash: u64| found.0.get(&hash).copied();
        assert_eq!((doc(10), doc(20)), (Some(0), Some(1)), "the first of two documents, and before any redirect");
        assert_eq!(doc(50), Some(0), "the first of two redirects");
        assert_eq!([60, 61, 62, 70, 99].map(doc), [None; 5], "a loop, a way out of the crawl");
        assert_eq!((doc(120), doc(119), doc(129)), (Some(3), None, Some(3)), "ten redirects, not eleven");
        let mut docs = vec![7];
        found.documents(&[50, 20, 1, 10, 60], &mut docs);
        assert_eq!(docs, [7, 0, 0, 1]);
    }

    #[test]
    fn test_memory_is_asked_for_before_it_is_taken() {
        let dir = tempfile::tempdir().unwrap();
        let mut spool = super::super::SpoolWriter::create(dir.path()).unwrap();
        let batch = super::super::BatchLinks { own: vec![1; 100_000], ends: vec![0; 100_000], ..Default::default() };
        spool.append(&batch).unwrap();
        let mut spool = spool.finish().unwrap();
        let mut with = |given: u64| graph(&mut spool, &Budget { given, held: 1 << 20 }, &|| false);
        let Err(Error::Memory { needed, given: 2_000_000, .. }) = with(2_000_000) else { panic!("too little") };
        assert!(needed > 2_000_000);
        assert_eq!(with(64 << 20).unwrap().documents(), 100_000);
        let stopped = graph(&mut spool, &Budget { given: u64::MAX, held: 0 }, &|| true);
        assert!(matches!(stopped, Err(Error::Interrupted)));
    }
}
