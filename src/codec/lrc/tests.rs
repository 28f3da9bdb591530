//! Layouts, lists that are hard for lines, and what the module says about bounds.

use super::super::testing::{check, check_gpu, check_gpu_survives, encoded, from_gaps, words_of};
use super::line::{ListLine, Slope, least_squares};
use super::*;
use proptest::prelude::*;

fn codec(spec: &str) -> Arc<dyn Codec> {
    super::super::codec(spec).unwrap()
}

fn codecs() -> [Arc<dyn Codec>; 5] {
    ["lrc", "lrc-seg", "seg-lrc", "hs-lrc", "hs-lrc:bucket=256"].map(codec)
}

fn codecs_with_exceptions() -> [Arc<dyn Codec>; 4] {
    ["lrc:exceptions=0.1", "lrc-seg:exceptions=0.2", "seg-lrc:exceptions=0.02", "hs-lrc:exceptions=0.6"].map(codec)
}

/// The layout is part of the format: these words never change.
#[test]
fn test_literal_words_of_short_lists() {
    for codec in codecs() {
        assert!(words_of(codec.as_ref(), &[7]).is_empty());
        // no line: 1, 3 and 290 less their positions are 0, 1, 287, of 9 bits
        assert_eq!(words_of(codec.as_ref(), &[10, 11, 13, 300]), [9 << 1 | 1 << 15 | 287 << 24, 287 >> 8]);
        // 32 bits are code 31
        assert_eq!(words_of(codec.as_ref(), &[0, u32::MAX]), [31 << 1 | (u32::MAX - 1) << 6, (u32::MAX - 1) >> 26]);
        // docIDs 9 apart: a slope of 8 has mantissa 1024 and shift 4; slots have no bits
        let docs: Vec<u32> = (0..20).map(|i| 40 + 9 * i).collect();
        assert_eq!(words_of(codec.as_ref(), &docs), [1 | (1024 | 4 << 11) << 1]);
    }
}

#[test]
fn test_literal_words_of_long_lists() {
    let words = |spec: &str, docs: &[u32]| words_of(codec(spec).as_ref(), docs);
    let docs: Vec<u32> = (0..130).map(|i| 40 + 3 * i).collect();
    assert_eq!(words("lrc", &docs), [40, 0, 3]);
    assert_eq!(words("lrc-seg", &docs), [40, 0, 3, 2, 0]);
    let slope = 1024 | 2 << 11;
    assert_eq!(words("seg-lrc", &docs), [1 | slope << 1, 2 << 1 | 2 << 6]);
    // The last docID has nine bits: buckets of 256, which start at positions 0 and 72, a line of slope 72. The line of
    // the first bucket starts 40 above its least docID, the other bucket's line at it.
    let entries = [40 | slope << 12, slope << 12];
    let expected = [8 | 2 << 5, 0, 72, entries[0] | entries[1] << 28, entries[1] >> 4, 2, 0];
    assert_eq!(words("hs-lrc", &docs), expected);

    // The same with one docID moved up by one, which turns the lines a little: slots of one bit or two.
    let mut docs: Vec<u32> = (0..128).map(|i| 40 + 3 * i).collect();
    docs[64] += 1;
    let widths = |words: &[u32]| (words.len() as u32, words[1] & 63);
    assert_eq!(widths(&words("lrc", &docs)), (3 + 4, 1));
    assert_eq!(widths(&words("lrc-seg", &docs)), (3 + 2 + 4, 1));
}

/// The lists that are hard for all codecs, if they have a line of their own.
#[test]
fn test_every_docid_lies_within_the_bounds_of_its_list() {
    let mut seen = 0;
    for docs in super::super::testing::hard_lists().into_iter().filter(|docs| docs.len() >= BLOCK) {
        for spec in ["lrc", "lrc-seg", "lrc:exceptions=0.3", "lrc-seg:exceptions=0.3"] {
            let bounds = list_bounds(&words_of(codec(spec).as_ref(), &docs), docs[0]).unwrap();
            for (i, &doc) in docs.iter().enumerate() {
                // heights have 32 bits behind the point, so a height that is whole may come out lower by less than this
                let (height, doc) = (bounds.slope * i as f64, f64::from(doc));
                assert!(height + bounds.low - 1.001 < doc, "{spec}: {doc} at {i}, {bounds:?}");
                assert!(doc < height + bounds.low + bounds.span + 0.001, "{spec}: {doc} at {i}, {bounds:?}");
            }
            seen += 1;
        }
    }
    assert!(seen > 20, "{seen} lists");
    for damaged in [&[][..], &[1, 2], &[1, 33, 0]] {
        assert!(list_bounds(damaged, 0).is_err());
    }
}

/// Lists that are hard for all codecs, with parameters that the tests of all codecs leave out.
#[test]
fn test_hard_lists_with_exceptions() {
    let lists = super::super::testing::hard_lists();
    for codec in codecs_with_exceptions() {
        lists.iter().for_each(|list| check(codec.as_ref(), list));
        check_gpu(codec.as_ref(), &lists);
    }
}

/// Lists where lines are far from docIDs, where buckets are empty or hold nearly all, and where products are large.
fn hard_lists() -> Vec<Vec<u32>> {
    let cluster = |n: u32, at: u32| (0..n).map(move |i| at + i);
    let mut lists = vec![
        // nearly all buckets are empty
        cluster(300, 0).chain([u32::MAX]).collect(),
        [0].into_iter().chain(cluster(1000, u32::MAX - 999)).collect(),
        cluster(200, 5).chain(cluster(500, 1 << 20)).chain(cluster(129, 3 << 30)).collect(),
        // a step in the middle is what turns a line most
        cluster(128, 0).chain(cluster(128, u32::MAX - 127)).collect(),
        cluster(64, 0).chain(cluster(64, u32::MAX - 63)).collect(),
        // the widest gap within a bucket: the steepest slope
        cluster(200, 0).chain([1 << 31, u32::MAX]).collect(),
        [(1 << 31) - 1].into_iter().chain(cluster(200, 1 << 31)).chain([u32::MAX]).collect(),
        [0, (1 << 31) - 1].into_iter().chain(cluster(200, 1 << 31)).collect(),
        // two buckets although there is one block
        cluster(128, (1 << 31) - 64).collect(),
    ];
    let mut state = 1u32;
    let mut random = move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state >> 8
    };
    for (n, gap) in [(128, 1 << 24), (1000, 1 << 22), (5000, 800_000), (20_000, 200_000), (20_000, 3), (3000, 1)] {
        lists.push(from_gaps(random(), (0..n).map(|_| 1 + random() % gap)));
    }
    // gaps that grow, and gaps that shrink
    lists.push(from_gaps(0, (0..2000).map(|i| i * 1000)));
    lists.push(from_gaps(0, (0..2000).map(|i| (2000 - i) * 1000)));
    lists
}

#[test]
fn test_lists_that_are_hard_for_lines() {
    for codec in codecs().iter().chain(&codecs_with_exceptions()) {
        hard_lists().iter().for_each(|list| check(codec.as_ref(), list));
    }
}

#[test]
fn test_shaders_decode_lists_that_are_hard_for_lines() {
    for codec in codecs().iter().chain(&codecs_with_exceptions()) {
        check_gpu(codec.as_ref(), &hard_lists());
    }
}

/// Defaults are in the tests of all codecs.
#[test]
fn test_shaders_with_exceptions_survive_arbitrary_words() {
    let mixed: Vec<u32> = (0..4000u32).map(|i| i.wrapping_mul(2_654_435_769).rotate_left(i % 7) >> (i % 32)).collect();
    for codec in codecs_with_exceptions() {
        for words in [&mixed[..], &[u32::MAX; 300], &mixed[..5]] {
            check_gpu_survives(codec.as_ref(), words);
        }
    }
}

/// A list so long that positions times slopes need more than 32 bits before the point.
#[test]
fn test_a_long_list() {
    let mut state = 1u64;
    let gaps = (0..1_000_000).map(|_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        1 + (state >> 40) as u32 % 8000
    });
    let list = from_gaps(0, gaps);
    assert!(list.len() > 900_000 && list[list.len() - 1] > 3 << 30);
    for codec in codecs() {
        let (words, skips, len) = encoded(codec.as_ref(), &list, u32::MAX);
        assert_eq!(codec.size(&list), len);
        let mut out = [0; BLOCK];
        for (i, block) in list.chunks(BLOCK).enumerate() {
            let out = &mut out[..block.len()];
            codec.decode_block(&words, &skips[i], i, out).unwrap();
            assert_eq!(out, block, "{} block {i}", codec.name());
        }
    }
}

/// The bounds of section 4.3 follow from the words as the module says.
#[test]
fn test_docids_lie_between_the_bounds() {
    let mut lists = hard_lists();
    lists.retain(|list| list.len() >= BLOCK);
    for list in &lists {
        for spec in ["lrc", "lrc-seg"] {
            let words = words_of(codec(spec).as_ref(), list);
            let line = ListLine::read(&words, 1).unwrap();
            let low = i64::from(list[0]) - i64::from(list[0].wrapping_sub(words[0]));
            for (i, &doc) in list.iter().enumerate() {
                let above = i64::from(doc) - i64::from(line.at(i)) - low;
                assert!((0..1 << line.width).contains(&above), "{spec}: {doc} at {i}");
            }
        }
        let (words, skips, _) = encoded(codec("seg-lrc").as_ref(), list, 0);
        for (skip, block) in skips.iter().zip(list.chunks(BLOCK)) {
            let words = &words[skip.offset as usize..];
            if block.len() == 1 || words[0] & 1 == 0 {
                continue;
            }
            let slope = Slope::from_code(words[0] >> 1);
            let width = slots::width_of(words[0] >> 17 & 31);
            let slot = crate::base::bits::get_bits(words, 22, width).unwrap();
            let low = i64::from(block[0]) - i64::from(slot);
            for (i, &doc) in (0..).zip(block) {
                let above = i64::from(doc) - i64::from(i) - i64::from(slope.at(i)) - low;
                assert!((0..1 << width).contains(&above), "seg-lrc: {doc} at {i}");
            }
        }
    }
}

#[test]
fn test_a_line_is_that_of_least_squares() {
    assert_eq!(least_squares(&[5]), 0.0);
    assert_eq!(least_squares(&[5, 9]), 4.0);
    assert_eq!(least_squares(&[0, 0, 3, 1]), 0.6);
    assert_eq!(least_squares(&(0..1000).map(|i| 7 * i).collect::<Vec<_>>()), 7.0);
}

proptest! {
    #[test]
    fn test_a_slope_is_near_what_it_stands_for(slope in prop_oneof![0.0..4.0f64, 0.0..1e4, 0.0..5e9], reach in 1u32..128) {
        let stored = Slope::nearest(slope, reach);
        prop_assert!(stored.code() < 1 << Slope::BITS);
        let capped = slope.min(f64::from(u32::MAX) / f64::from(reach)).min(f64::from(2047u32 << 20));
        for i in 0..=reach {
            let exact = capped * f64::from(i);
            let error = (f64::from(stored.at(i)) - exact).abs();
            // half a unit of the mantissa per position and what the floor takes off; twice that where the cap rounds
            // down
            prop_assert!(error <= 1.0 + f64::from(i) * (capped / 1024.0).max(1.0 / 2048.0), "{slope} at {i}: {error}");
            prop_assert_eq!(Slope::from_code(stored.code()).at(i), stored.at(i));
            prop_assert!(i == 0 || stored.at(i) >= stored.at(i - 1));
        }
    }

    #[test]
    fn test_arbitrary_words_never_panic_with_exceptions(
        words in proptest::collection::vec(prop_oneof![any::<u32>(), 0u32..0x4000, Just(0u32), Just(u32::MAX)], 0..200),
        first: u32, offset in 0u32..210, index in 0usize..5, n in 1usize..=BLOCK,
    ) {
        for codec in codecs_with_exceptions() {
            let mut out = vec![0; n];
            if let Ok(used) = codec.decode_block(&words, &Skip { first, offset, bound: 0 }, index, &mut out) {
                prop_assert!(offset as usize + used <= words.len());
            }
        }
    }

    #[test]
    fn test_long_lists_come_back(
        first: u32, gaps in proptest::collection::vec(prop_oneof![4 => 1u32..10, 2 => 1u32..1 << 16, 1 => 1u32..1 << 24], 128..1500),
    ) {
        let list = from_gaps(first >> 1, gaps);
        codecs().iter().chain(&codecs_with_exceptions()).for_each(|codec| check(codec.as_ref(), &list));
    }
}
