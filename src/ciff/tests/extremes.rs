//! Frequencies and lengths that no text has: greater than a score counts, or than the document.

use super::*;
use crate::query::and::AND;
use crate::query::method::EngineKind;
use crate::query::or::OR;
use crate::query::{CpuMethods, Hit, Plan as QueryPlan};

/// What each method of either mode finds, with its name.
fn found(searcher: &Searcher<'_>, plan: &QueryPlan, mode: Mode, k: usize) -> Vec<(&'static str, Vec<Hit>)> {
    let search = |name, methods: CpuMethods| (name, searcher.search_with(plan, mode, k, &methods).unwrap());
    match mode {
        Mode::And => {
            let all = AND.on(EngineKind::Cpu);
            all.map(|method| search(method.name, CpuMethods { intersect: method, ..CpuMethods::default() })).collect()
        }
        _ => {
            let all = OR.on(EngineKind::Cpu);
            all.map(|method| search(method.name, CpuMethods { or: method, ..CpuMethods::default() })).collect()
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Pruning by bounds finds what plain sums do.
    #[test]
    fn test_every_method_finds_the_same(
        documents in 20i32..700,
        seed in any::<u64>(),
        powers in [0u32..31, 0u32..31],
        average in prop_oneof![Just(1e-3), Just(1.0), 1f64..1e3, Just(1e9)],
        (k1, b) in prop_oneof![Just((0.9f32, 0.4f32)), Just((1.2, 0.75)), Just((0.0, 0.0)), Just((9.0, 1.0))],
        tables in any::<bool>(),
        range in prop_oneof![Just(0), Just(1), Just(3)],
        k in 1usize..15,
    ) {
        let mut random = seed;
        let mut below = |n: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) % n
        };
        // half of the postings have any frequency up to the greatest, half a small one
        let mut number = |power: u32| {
            let most = if below(2) == 0 { 4 } else { 1 << power };
            1 + below(most) as i32
        };
        let mut list = |every: i32| (0..documents).step_by(every as usize).map(|doc| (doc, number(powers[0]))).collect();
        let lists: [(&str, Vec<(i32, i32)>); 4] = [("a", list(1)), ("b", list(2)), ("c", list(9)), ("d", list(documents))];
        let ids: Vec<String> = (0..documents).map(|doc| format!("{doc}")).collect();
        let records: Vec<(i32, &str, i32)> =
            ids.iter().zip(0..).map(|(id, doc)| (doc, &id[..], number(powers[1]) - 1)).collect();
        let borrowed: Vec<(&str, &[(i32, i32)])> = lists.iter().map(|(term, list)| (*term, &list[..])).collect();
        let mut file = File::new(&borrowed, &records);
        file.header.average_doclength = average;

        let dir = tempfile::tempdir().unwrap();
        let path = put(dir.path(), "file.ciff", &file.bytes());
        let codecs = codec::parse_list(&format!("simdbp:range={range}")).unwrap();
        let input = ImportOptions { codecs, tables, ..options(&path, &dir.path().join("index")) };
        import(&input).unwrap();
        prop_assert_eq!(verify(&input.output).unwrap().problem_count, 0);
        let index = Index::open(&input.output).unwrap();
        let searcher = Searcher::new(&index, None, Bm25 { k1, b }).unwrap();
        for text in ["a", "a b", "a b c d", "a d"] {
            let plan = searcher.plan(&searcher.parse(text).unwrap()).unwrap();
            for (mode, plain) in [(Mode::Or, "exhaustive"), (Mode::And, "ranked-and")] {
                // what has no tables in the index has them in memory
                searcher.prepare(&plan, mode, k).unwrap();
                let found = found(&searcher, &plan, mode, k);
                let expected = found.iter().find(|(name, _)| *name == plain).unwrap().1.clone();
                for (name, hits) in found {
                    prop_assert_eq!(&hits, &expected, "{:?} {} by {}", mode, text, name);
                }
            }
        }
    }
}
