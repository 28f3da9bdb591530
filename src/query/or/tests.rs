//! Methods that go by documents, over postings in a slice.

use super::*;
use crate::postings::tests::Plain;
use crate::query::cpu::{Bm25Scorer, Weight};
use crate::score::{Bound, BoundReader, Norm};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// A list, and its term's weight.
fn term() -> impl Strategy<Value = (BTreeMap<u32, u32>, f32)> {
    let postings = proptest::collection::btree_map(0u32..400, prop_oneof![3 => Just(1u32), 1 => 1u32..50], 1..200);
    (postings, prop_oneof![1u32..20, 1u32..1 << 20].prop_map(|weight| weight as f32))
}

proptest! {
    #[test]
    fn test_every_method_finds_what_scoring_all_documents_finds(
        terms in proptest::collection::vec(term(), 1..6),
        lens in proptest::collection::vec(1u32..900, 400),
        block_len in 1usize..20,
        k in 1usize..30,
    ) {
        let norm = Norm::new(0.9, 0.4, 400, 400 * 450);
        let scorer = Bm25Scorer::new(&lens, norm, BoundReader::new(norm, norm, 900));
        let lists: Vec<(Vec<u32>, Vec<u32>)> = terms.iter().map(|(postings, _)| postings.clone().into_iter().unzip()).collect();
        let open = || {
            let terms = lists.iter().zip(&terms).enumerate();
            let open = terms.map(|(order, ((docs, tfs), (_, factor)))| {
                let weight = Weight::new(*factor);
                let parts = docs.iter().zip(tfs).map(|(&doc, &tf)| scorer.part(&weight, doc, tf, 0));
                let cursor = Plain { docs, tfs, block_len, bound: |_| Bound(u32::MAX), at: 0 };
                Scored::new(order as u32, order, cursor, weight, parts.fold(0.0, f32::max))
            });
            open.collect::<Vec<Scored<'_, Plain<'_>>>>()
        };
        let mut expected: Vec<Hit> = (0..400)
            .filter(|doc| terms.iter().any(|(postings, _)| postings.contains_key(doc)))
            .map(|doc| {
                let parts = terms.iter().filter_map(|(postings, factor)| Some((postings.get(&doc)?, factor)));
                let score = parts.map(|(&tf, &factor)| scorer.part(&Weight::new(factor), doc, tf, 0)).sum();
                Hit { doc, score }
            })
            .collect();
        expected.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.doc.cmp(&b.doc)));
        expected.truncate(k);
        // with nothing known, and with the most that can be
        let least = expected.get(k - 1).map_or(0.0, |hit| hit.score);
        let found = |run: fn(&mut [Scored<'_, Plain<'_>>], &Bm25Scorer<'_>, &mut TopK<'_>)| {
            let [first, second] = [0.0, least].map(|least| {
                let mut top = TopK::new(k, None).known(least);
                run(&mut open(), &scorer, &mut top);
                top.into_sorted()
            });
            assert_eq!(first, second);
            first
        };
        prop_assert_eq!(found(|terms, scorer, top| exhaustive::run(terms, scorer, top)), &expected[..], "exhaustive");
        prop_assert_eq!(found(|terms, scorer, top| maxscore::run(terms, scorer, top)), &expected[..], "maxscore");
        prop_assert_eq!(found(|terms, scorer, top| wand::run(terms, scorer, top)), &expected[..], "wand");
        prop_assert_eq!(found(|terms, scorer, top| block_max_wand::run(terms, scorer, top)), &expected[..], "block-max-wand");
    }
}

#[test]
fn test_the_method_on_a_gpu_goes_by_k() {
    let name = |k, queries| planned(k, queries).name;
    assert_eq!([10, 100_000, 1_000_000].map(|k| name(k, 1)), ["ranges", "ranges", "accumulators"]);
    assert_eq!([10, 8_000, 16_000].map(|k| name(k, 64)), ["ranges", "ranges", "ranges-exhaustive"]);
    assert_eq!(name(1_000_000, 2), "ranges-exhaustive");
}
