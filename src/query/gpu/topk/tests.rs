//! Every method against sorting everything.

use super::*;
use crate::gpu::testing::gpu;
use crate::query::topk::{HEAP, HISTOGRAM, PARTIAL_SORT};
use crate::score::SCORE_BITS;
use proptest::prelude::*;
use std::cmp::Reverse;

type Found = Vec<(u32, u32)>;

/// The greatest score.
const MAX: u32 = (1 << SCORE_BITS) - 1;

fn methods(gpu: &Gpu) -> Vec<Chooser> {
    methods_with(gpu, u32::MAX, None)
}

fn methods_with(gpu: &Gpu, documents: u32, places: Option<&[u32]>) -> Vec<Chooser> {
    let rows = TOPK.rows.iter().filter(|row| matches!(row.gpu, Some(GpuTopKWay::Kernels(_))));
    rows.map(|row| Chooser::new(gpu, row, documents, places).unwrap()).collect()
}

fn name(chooser: &Chooser) -> &'static str {
    chooser.kernels().unwrap().method().name
}

/// Among equal scores the place in the input decides, not the docID.
#[test]
fn test_places_in_the_input() {
    let Some(gpu) = gpu() else { return };
    let places: Vec<u32> = (0..3000).map(|doc| doc * 1009 % 3000).collect();
    let hits: Found = (0..3000).map(|doc| (doc, 5 + doc % 3)).collect();
    let mut best = hits.clone();
    best.sort_unstable_by_key(|&(doc, score)| (Reverse(score), places[doc as usize]));
    for topk in methods_with(&gpu, 3000, Some(&places)) {
        for k in [1, 10, 1200] {
            let found = best_of(&gpu, &topk, std::slice::from_ref(&hits), 3000, k).unwrap();
            assert!(found[0] == best[..k as usize], "{}, k = {k}", name(&topk));
        }
    }
}

fn expected(hits: &Found, k: u32) -> Found {
    let mut hits = hits.clone();
    hits.sort_unstable_by_key(|&(doc, score)| (Reverse(score), doc));
    hits.truncate(k as usize);
    hits
}

fn check(gpu: &Gpu, methods: &[Chooser], queries: &[Found], k: u32) {
    let room = queries.iter().map(Vec::len).max().unwrap_or(0).max(1) as u32;
    for topk in methods {
        let found = best_of(gpu, topk, queries, room, k).unwrap();
        assert_eq!(found.len(), queries.len());
        for (found, query) in found.iter().zip(queries) {
            assert!(*found == expected(query, k), "{} of {} hits, k = {k}", name(topk), query.len());
        }
    }
}

#[test]
fn test_hard_hits() {
    let Some(gpu) = gpu() else { return };
    let methods = methods(&gpu);
    let of = |n: u32, score: fn(u32) -> u32| (0..n).map(|i| (i, score(i))).collect::<Found>();
    let scramble = |i: u32| i.wrapping_mul(2_654_435_761) >> 8;
    let mut backwards = of(3000, |i| i);
    backwards.reverse();
    let mut shuffled_ties: Found = (0..2000).map(|i| (scramble(i), 77)).collect();
    shuffled_ties.retain(|hit| hit.0 != 0);
    shuffled_ties.push((0, MAX));
    let queries = [
        Vec::new(),
        vec![(7, 0)],
        vec![(u32::MAX - 1, MAX), (0, MAX), (5, 0)],
        of(1300, |_| 5),
        of(1300, |_| 0),
        of(1300, |_| MAX),
        of(513, |i| i),
        of(512, |i| 511 - i),
        backwards,
        of(3000, |i| i.wrapping_mul(2_654_435_761) >> 8),
        // one more than a tile, and tiles of which only the last has the best
        of(TILE + 1, |i| i.wrapping_mul(2_654_435_761) >> 8),
        of(TILE, |_| 9),
        of(9 * TILE - 1, |i| i / TILE),
        of(5 * TILE, |i| u32::from(i == 5 * TILE - 1)),
        of(3000, |i| i % 3),
        of(3000, |i| if i == 1234 { MAX } else { i % 2 }),
        of(2500, |i| (i % 7) << 21),
        shuffled_ties,
    ];
    for k in [1, 2, 10, 512, 1000, 1300, 3000, 10_000] {
        check(&gpu, &methods, &queries, k);
    }
}

/// More hits than there is room for: the best of those that are there, and their whole number.
#[test]
fn test_many_hits_and_too_many() {
    let Some(gpu) = gpu() else { return };
    let many: Found = (0..300_000u32).map(|i| (i, i.wrapping_mul(2_654_435_761) >> 12)).collect();
    for topk in methods(&gpu) {
        let found = best_of(&gpu, &topk, std::slice::from_ref(&many), 150_000, 100).unwrap();
        assert_eq!(found[0], expected(&many[..150_000].to_vec(), 100), "{}", name(&topk));
        assert!(topk.check(1000, MAX_K).is_ok());
        let error = topk.check(1000, MAX_K + 1).unwrap_err().to_string();
        assert!(error.contains("16385 is over the limit of 16384") && error.contains("partial-sort"), "{error}");
    }
    let new = |method| Chooser::new(&gpu, method, 1000, None);
    assert!(matches!(new(&PARTIAL_SORT), Ok(Chooser::Host)) && matches!(new(&HISTOGRAM), Ok(Chooser::Histogram)));
    assert!(new(&PARTIAL_SORT).unwrap().takes_all() && !new(&HISTOGRAM).unwrap().takes_all());
    assert!(matches!(new(&HEAP), Err(Error::Invalid { .. })));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn test_any_hits(
        queries in prop::collection::vec(
            (any::<u32>(), prop::collection::vec(prop_oneof![0u32..4, 0..=MAX, 1000u32..1100], 0..5000)),
            1..5,
        ),
        k in prop_oneof![1u32..20, 1u32..2000],
    ) {
        let Some(gpu) = gpu() else { return Ok(()) };
        let queries: Vec<Found> = queries
            .into_iter()
            .map(|(odd, scores)| (0u32..).map(|i| i.wrapping_mul(odd | 1) >> 1 << 1).zip(scores).collect())
            .map(|mut hits: Found| {
                hits.sort_unstable();
                hits.dedup_by_key(|hit| hit.0);
                let third = hits.len() / 3;
                hits.rotate_left(third);
                hits
            })
            .collect();
        check(&gpu, &methods(&gpu), &queries, k);
    }
}
