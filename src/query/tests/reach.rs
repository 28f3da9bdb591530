//! Methods that look at the bounds of ranges.

use super::methods::{check, with_index};
use super::*;
use crate::query::and::AND;
use crate::query::or::OR;

/// Words of many shares, each often once and now and then many times, in documents of all lengths.
fn texts(documents: usize) -> Vec<String> {
    let mut random = 7u64;
    let mut next = |below: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % below
    };
    let words = [("a", 70), ("b", 40), ("c", 25), ("d", 12), ("e", 9), ("f", 1)];
    let text = |_| {
        let mut text = "filler ".repeat(next(60) as usize);
        for (word, share) in words {
            if next(100) < share {
                let times = if next(12) == 0 { 1 + next(30) } else { 1 + next(2) };
                text.push_str(&format!("{word} ").repeat(times as usize));
            }
        }
        text
    };
    (0..documents).map(text).collect()
}

// small weights make terms optional whose lists have gaps
const QUERIES: [&str; 9] =
    ["a", "a b", "a c d", "b e", "a b c d e", "e d", "a^2.5 b f", "a^9 e^0.3", "b^5 d^0.3 e^0.2"];

/// The defaults, and others under which impacts are greater than the stored ones, in all documents or in short ones.
const PARAMETERS: [(f32, f32); 3] = [(0.9, 0.4), (1.2, 0.75), (0.1, 0.9)];

#[test]
fn test_methods_agree_whatever_ranges_have_bounds() {
    for range in [0, 1, 3, 64] {
        with_index(&texts(3000), &format!("simdbp:range={range}"), |index, oracle| {
            for (k1, b) in PARAMETERS {
                let bm25 = Bm25 { k1, b };
                let searcher = Searcher::new(index, None, bm25).unwrap();
                for text in QUERIES {
                    [1, 10, 200].into_iter().for_each(|k| check(&searcher, oracle, text, bm25, k));
                }
            }
        });
    }
}

/// In more documents than a conjunction or a disjunction takes together.
#[test]
fn test_what_is_taken_together_leaves_no_trace() {
    for range in [0, 3] {
        with_index(&texts(20_000), &format!("simdbp:range={range}"), |index, _| {
            for (k1, b) in PARAMETERS {
                let searcher = Searcher::new(index, None, Bm25 { k1, b }).unwrap();
                for text in QUERIES {
                    let plan = searcher.plan(&searcher.parse_weighted(text).unwrap()).unwrap();
                    let found = |or: &str, and: &str, mode, k| {
                        let (or, intersect) = (OR.find(or).unwrap(), AND.find(and).unwrap());
                        let methods = CpuMethods { or, intersect, ..CpuMethods::default() };
                        searcher.search_with(&plan, mode, k, &methods).unwrap()
                    };
                    for (mode, k) in [(Mode::And, 3), (Mode::And, 50), (Mode::Or, 3), (Mode::Or, 50)] {
                        let plain = found("exhaustive", "ranked-and", mode, k);
                        assert_eq!(found("block-max-maxscore", "daat", mode, k), plain, "{mode:?} {text}, k = {k}");
                    }
                }
            }
        });
    }
}

#[test]
fn test_bounds_of_ranges_save_blocks_and_look_ups() {
    let work = |range: u32, mode: Mode| {
        let mut sum = (0, 0);
        with_index(&texts(20_000), &format!("simdbp:range={range}"), |index, _| {
            let searcher = Searcher::new(index, None, Bm25::default()).unwrap();
            let methods = CpuMethods {
                or: OR.find("block-max-maxscore").unwrap(),
                intersect: AND.find("daat").unwrap(),
                ..CpuMethods::default()
            };
            for text in QUERIES {
                let plan = searcher.plan(&searcher.parse_weighted(text).unwrap()).unwrap();
                let work = searcher.explain(&plan, mode, 3, &methods).unwrap().1;
                work.terms.iter().for_each(|term| sum = (sum.0 + term.decoded, sum.1 + term.scored));
            }
        });
        sum
    };
    for mode in [Mode::And, Mode::Or] {
        let (without, with) = (work(0, mode), work(1, mode));
        assert!(with.0 < without.0 && with.1 < without.1, "{mode:?}: {with:?} {without:?}");
    }
}
