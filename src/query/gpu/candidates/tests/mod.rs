//! Every method over every codec that it reads, against sets; and queries to an index.

mod queries;

use super::layout::MOST_DOCUMENTS;
use crate::codec::{self, Codec};
use crate::gpu::testing::gpu;
use crate::postings::{Encoded, ListWords};
use crate::query::and::{AND, RANGES};
use crate::query::gpu::ListIntersector;
use crate::query::method::EngineKind;
use std::sync::Arc;

/// What lists of docIDs have in common.
fn common(lists: &[&Vec<u32>]) -> Vec<u32> {
    let Some(first) = lists.first() else { return Vec::new() };
    let mut docs = first.to_vec();
    docs.retain(|doc| lists[1..].iter().all(|list| list.binary_search(doc).is_ok()));
    docs
}

/// All methods on a GPU.
fn names() -> Vec<&'static str> {
    AND.on(EngineKind::Gpu).map(|method| method.name).filter(|name| *name != RANGES.name).collect()
}

/// What every method finds over a codec that it reads must be what the lists have in common.
fn check(codec: &Arc<dyn Codec>, specs: &[&str], lists: &[Vec<u32>], queries: &[Vec<usize>], documents: u32) {
    let Some(gpu) = gpu() else { return };
    let encoded: Vec<Encoded> = lists.iter().map(|docs| Encoded::new(codec.as_ref(), docs)).collect();
    let words: Vec<ListWords<'_>> = encoded.iter().map(|list| list.list(codec.as_ref(), documents).unwrap()).collect();
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

/// Increasing numbers below `below`, up to `n` of them.
fn draw(state: &mut u64, n: usize, below: u32) -> Vec<u32> {
    let mut docs: Vec<u32> = (0..n)
        .map(|_| {
            *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((*state >> 33) % u64::from(below)) as u32
        })
        .collect();
    docs.sort_unstable();
    docs.dedup();
    docs
}

/// Lists of every shape: one posting, dense, far apart, clustered, the edges of blocks, and much longer than others.
fn shapes() -> Vec<Vec<u32>> {
    let state = &mut 1;
    let mut clusters: Vec<u32> = draw(state, 12, 540).iter().flat_map(|&c| every(1 + c % 3, c * 110, 70)).collect();
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
        draw(state, 130, DOCUMENTS),
        draw(state, 3000, DOCUMENTS),
        draw(state, 9000, DOCUMENTS),
        [every(1, 100, 300), every(1, 50_000, 513)].concat(),
    ]
}

/// Lists far up: the docIDs of each have more bits than a float, and their lines lose some.
fn high_shapes() -> Vec<Vec<u32>> {
    let state = &mut 9;
    let top = MOST_DOCUMENTS;
    let even: Vec<u32> = (0..9000).map(|i| i * 119_303).collect();
    let mut near = draw(state, 5000, 9000).iter().map(|&i| i * 119_303).collect::<Vec<_>>();
    near.extend(draw(state, 300, top));
    near.sort_unstable();
    near.dedup();
    let tail: Vec<u32> = [1, 5, 1000].into_iter().chain(every(1, top - 3000, 3000)).collect();
    vec![
        vec![top - 1],
        even,
        near,
        every(1, top - 2000, 2000),
        tail,
        draw(state, 20_000, top),
        [every(1, 0, 700), every(1, top - 700, 700)].concat(),
    ]
}

/// All pairs, some of three and four, one list alone, and nothing.
fn queries(lists: usize) -> Vec<Vec<usize>> {
    let mut queries = vec![vec![], vec![3], vec![0]];
    for a in 0..lists {
        queries.extend((a..lists).map(|b| vec![b, a]));
        queries.push(vec![a, (a * 7 + 3) % lists, (a * 5 + 1) % lists]);
        queries.push(vec![lists - 6, a, lists - 2, lists - 1]);
    }
    queries
}

#[test]
fn test_methods_agree_over_every_codec() {
    let lists = shapes();
    let queries = queries(lists.len());
    for codec in codec::all() {
        check(&codec, &names(), &lists, &queries, DOCUMENTS);
    }
}

#[test]
fn test_parameters_and_lengths_of_blocks() {
    let lists = shapes();
    let queries = queries(lists.len());
    let of_blocks = ["pmf:levels=0", "pmf:levels=1", "pmf:levels=4", "merge-path:ratio=0", "merge-path:ratio=1000000"];
    for codec in ["parapfor:segment=512", "parapfor:segment=160"] {
        check(&codec::codec(codec).unwrap(), &of_blocks, &lists, &queries, DOCUMENTS);
    }
    let of_positions = ["gpu-binary:headers=no", "hs:bucket=16", "local-range:segments=3", "interpolation:headers=no"];
    check(&codec::codec("para-ef").unwrap(), &of_positions, &lists, &queries, DOCUMENTS);
    let of_elements = ["pmf-elements:levels=0", "pmf-elements:levels=1", "pmf-elements:levels=4"];
    check(&codec::codec("raw").unwrap(), &of_elements, &lists, &queries, DOCUMENTS);
    for (codec, name) in [("lrc", "lrc"), ("seg-lrc", "lrc"), ("hs-lrc", "hs-lrc")] {
        check(&codec::codec(&format!("{codec}:exceptions=0.1")).unwrap(), &[name], &lists, &queries, DOCUMENTS);
    }
}

#[test]
fn test_high_docids() {
    let lists = high_shapes();
    let queries = queries(lists.len());
    for (codec, names) in [
        ("raw", &["gpu-binary", "pmf-elements", "interpolation", "lr", "local-range", "hs", "hs:bucket=16"][..]),
        ("simdbp", &["merge-path", "pmf", "lr", "hs", "wu"]),
        ("lrc", &["lrc"]),
        ("lrc-seg", &["lrc"]),
        ("seg-lrc", &["lrc"]),
        ("hs-lrc", &["hs-lrc"]),
    ] {
        check(&codec::codec(codec).unwrap(), names, &lists, &queries, MOST_DOCUMENTS);
    }
}

/// Words that say anything may give any answer, but an answer.
#[test]
fn test_damaged_lists_end() {
    let Some(gpu) = gpu() else { return };
    let docs = [every(7, 3, 4000), draw(&mut 5, 3000, DOCUMENTS)];
    for name in ["vbyte", "para-ef", "lrc", "hs-lrc"] {
        let codec = codec::codec(name).unwrap();
        let mut encoded: Vec<Encoded> = docs.iter().map(|docs| Encoded::new(codec.as_ref(), docs)).collect();
        let state = &mut 77;
        for list in &mut encoded {
            for at in draw(state, 60, list.words.len() as u32) {
                list.words[at as usize] = draw(state, 1, u32::MAX)[0].wrapping_mul(2);
            }
            for at in draw(state, 4, list.skips.len() as u32 - 1) {
                list.skips[at as usize].first ^= draw(state, 1, u32::MAX)[0];
            }
        }
        let damaged: Vec<ListWords<'_>> =
            encoded.iter().map(|list| list.list(codec.as_ref(), DOCUMENTS).unwrap()).collect();
        let mut intersector = ListIntersector::new(&gpu, &codec, &damaged, DOCUMENTS, "gpu-binary", false).unwrap();
        for spec in names() {
            // what a method keeps with lists is made of their docIDs, which have to be sound
            if super::recipe(spec, codec.as_ref()).is_ok() && intersector.change(spec).is_ok() {
                let (found, _) = intersector.intersect(&[vec![0, 1], vec![1, 0, 1], vec![0]]).unwrap();
                assert!(found.iter().flatten().all(|&doc| doc < DOCUMENTS || doc == u32::MAX), "{spec} over {name}");
            }
        }
    }
}

#[test]
fn test_refusals() {
    let refused = |spec: &str, codec: &str| {
        let codec = codec::codec(codec).unwrap();
        super::recipe(spec, codec.as_ref()).err().map(|error| error.to_string()).unwrap_or_default()
    };
    assert_eq!(refused("lrc", "seg-lrc"), "");
    assert!(refused("lrc", "simdbp").contains("uses the lines of lrc"));
    assert!(refused("hs-lrc", "lrc").contains("uses the hash buckets"));
    assert!(refused("merge", "raw").contains("runs on the CPU"));
    assert!(refused("pmf:levels=5", "raw").contains("levels is 0 to 4"));
    assert!(refused("pmf-elements", "simdbp").contains("uncompressed lists"));
    assert!(refused("pmf:depth=1", "raw").contains("levels"));
    assert!(names().iter().all(|name| refused("zipper", "raw").contains(name)));
}

#[test]
fn test_batches_are_filled_up_to_their_limits() {
    use super::{Limits, Rows};
    use crate::query::gpu::rows::TermRow;
    let limits = Limits { slots: 1000, queries: 4 };
    let batch = |candidates: &[u32]| {
        let mut rows = Rows::default();
        let mut fits = |df: u32| {
            let fits = limits.hold(&rows, df);
            rows.push(vec![TermRow { df, ..TermRow::default() }], [0; 2]);
            fits
        };
        candidates.iter().take_while(|&&df| fits(df)).count()
    };
    assert_eq!(batch(&[1; 9]), 4, "queries");
    assert_eq!(batch(&[300, 300, 200, 1]), 2, "slots, of which a query has a multiple of 128");
    assert_eq!(batch(&[5000, 1]), 1, "a query with more by itself");
}
