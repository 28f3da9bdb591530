//! Every method over every codec that it reads, against sets.

use crate::codec::{self, Codec, Skip};
use crate::gpu::testing::gpu;
use crate::index::ListWords;
use crate::query::gpu::ListIntersector;
use crate::query::intersect::{INTERSECTORS, On};
use proptest::prelude::*;
use std::sync::Arc;

/// A list in memory.
struct Encoded {
    words: Vec<u32>,
    skips: Vec<Skip>,
    df: u32,
}

impl Encoded {
    fn new(codec: &dyn Codec, docs: &[u32]) -> Self {
        let (mut words, mut skips) = (Vec::new(), Vec::new());
        codec.encode(docs, &mut words, &mut skips);
        Self { words, skips, df: docs.len() as u32 }
    }

    fn list<'a>(&'a self, codec: &'a dyn Codec, documents: u32) -> ListWords<'a> {
        ListWords::in_memory(codec, &self.words, &self.skips, self.df, documents).unwrap()
    }
}

/// What lists of docIDs have in common.
fn common(lists: &[&Vec<u32>]) -> Vec<u32> {
    let Some(first) = lists.first() else { return Vec::new() };
    let mut docs = first.to_vec();
    docs.retain(|doc| lists[1..].iter().all(|list| list.binary_search(doc).is_ok()));
    docs
}

/// Names with parameters of all methods on a GPU that are to be tested.
fn specs() -> Vec<&'static str> {
    let names = INTERSECTORS.iter().filter(|method| matches!(method.on, On::Gpu(_))).map(|method| method.name);
    names.chain(VARIANTS.iter().copied()).collect()
}

/// Other parameters.
const VARIANTS: &[&str] = &[
    "gpu-binary:headers=no",
    "pmf:levels=0",
    "pmf:levels=1",
    "pmf:levels=4",
    "merge-path:ratio=0",
    "merge-path:ratio=1000000",
    "hs:bucket=16",
    "local-range:segments=3",
    "interpolation:headers=no",
];

/// What every method finds over a codec that it reads must be what the lists have in common.
fn check(codec: &Arc<dyn Codec>, specs: &[&str], lists: &[Vec<u32>], queries: &[Vec<usize>], documents: u32) {
    let Some(gpu) = gpu() else { return };
    let encoded: Vec<Encoded> = lists.iter().map(|docs| Encoded::new(codec.as_ref(), docs)).collect();
    let words: Vec<ListWords<'_>> = encoded.iter().map(|list| list.list(codec.as_ref(), documents)).collect();
    let mut intersector = ListIntersector::new(&gpu, codec, &words, documents, "gpu-binary", false).unwrap();
    let lists_of = |query: &[usize]| query.iter().map(|&list| &lists[list]).collect::<Vec<_>>();
    let expected: Vec<Vec<u32>> = queries.iter().map(|query| common(&lists_of(query))).collect();
    for spec in specs.iter().filter(|spec| super::recipe(spec, codec.as_ref()).is_ok()) {
        intersector.change(spec).unwrap();
        let (found, _) = intersector.intersect(queries).unwrap();
        for ((query, found), expected) in queries.iter().zip(&found).zip(&expected) {
            assert_eq!(found, expected, "{spec} over {} for lists {query:?}", codec::spec(codec.as_ref()));
        }
    }
}

fn every(step: u32, from: u32, n: u32) -> Vec<u32> {
    (0..n).map(|i| from + i * step).collect()
}

const DOCUMENTS: u32 = 60_000;

/// Lists of every shape: one posting, dense, far apart, clustered, the edges of blocks, and much longer than others.
fn shapes() -> Vec<Vec<u32>> {
    let mut state = 1u32;
    let mut random = move |below: u32| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) % below
    };
    let mut draw = |n: usize, below: u32| {
        let mut docs: Vec<u32> = (0..n).map(|_| random(below)).collect();
        docs.sort_unstable();
        docs.dedup();
        docs
    };
    let clusters: Vec<u32> =
        draw(12, 500).iter().flat_map(|&c| every(1 + c % 3, c * 110, 70)).filter(|&doc| doc < DOCUMENTS).collect();
    let mut clusters = clusters;
    clusters.sort_unstable();
    clusters.dedup();
    vec![
        vec![5],
        vec![DOCUMENTS - 1],
        vec![0, 59_999],
        every(1, 0, 2000),
        every(2, 0, 1000),
        every(2, 1, 1000),
        every(1, 700, 700),
        every(3, 0, 20_000),
        every(128, 127, 400),
        vec![0, 1, 126, 127, 128, 129, 255, 256, 510, 511, 512, 513, 1023, 1024, 1025, 2047],
        every(1, 0, 40_000),
        clusters,
        draw(130, DOCUMENTS),
        draw(3000, DOCUMENTS),
        draw(9000, DOCUMENTS),
        [every(1, 100, 300), every(1, 50_000, 513)].concat(),
    ]
}

/// All pairs, some of three and four, one list alone, and nothing.
fn queries(lists: usize) -> Vec<Vec<usize>> {
    let mut queries = vec![vec![], vec![3], vec![0], vec![10]];
    for a in 0..lists {
        queries.extend((a..lists).map(|b| vec![b, a]));
        queries.push(vec![a, (a * 7 + 3) % lists, (a * 5 + 1) % lists]);
        queries.push(vec![10, a, 13, 14]);
    }
    queries
}

#[test]
fn test_methods_agree_over_every_codec() {
    let lists = shapes();
    let queries = queries(lists.len());
    for codec in codec::all() {
        check(&codec, &specs(), &lists, &queries, DOCUMENTS);
    }
}
