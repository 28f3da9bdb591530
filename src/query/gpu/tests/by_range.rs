//! Postings that lie range by range.

use super::*;
use crate::query::gpu::ranges::QUERY_TERMS;
use crate::query::gpu::ranges::kernels::{Ranges, TILE};
use crate::query::gpu::residence::NEVER;

/// Frequencies about those that a posting by range has bits for, in lists that lie by single ranges and by groups of
/// them. One list has all documents of some groups and none elsewhere; others begin late and end early.
#[test]
fn test_postings_of_every_shape() {
    let Some(gpu) = gpu() else { return };
    let tfs = [1, 2, 14, 15, 16, 30, 31, 32, 62, 63, 64, 510, 511, 512, 1022, 1023, 1024, 3000];
    let mut random = Random(11);
    let text = |doc: u32| {
        let mut text = format!("x{}", doc % 7);
        let mut add = |word: &str, times: usize| text += &format!(" {word}").repeat(times);
        let tf = tfs[random.below(tfs.len() as u32) as usize];
        // 600 and 2,000 documents, and 300 and 400
        if doc % 10 == 3 {
            add("often", if random.once_in(20) { tf } else { 1 });
        }
        if !doc.is_multiple_of(3) && doc < 3000 {
            add("early", 1 + random.below(3) as usize);
        }
        if doc % 20 == 3 {
            add("seldom", if random.once_in(3) { tf } else { 2 });
        }
        if (3968..4368).contains(&doc) {
            add("together", 1 + (doc % 5) as usize);
        }
        text
    };
    let documents: Vec<String> = (0..6000).map(text).collect();
    let texts = ["often seldom", "early together often", "seldom together x1", "often", "seldom", "early x3 x4 often"];
    // blocks of 32 and of 160 are no multiples of the blocks of 128 that frequencies and impacts lie in
    for (codec, scores) in [
        ("simdbp", Scores::Bm25),
        ("raw", Scores::Impacts),
        ("parapfor:segment=32", Scores::Bm25),
        ("parapfor:segment=160", Scores::Bm25),
        ("parapfor:segment=96", Scores::Impacts),
    ] {
        let built = Built::with(&documents, codec, Some(1));
        let index = built.open();
        let searcher = Searcher::new(&index, None, Bm25::default()).unwrap().with_scores(scores).unwrap();
        let plans = plans(&searcher, &texts);
        for bits in 6..=8 {
            let mut engine = engine(&searcher, &gpu, Options { range_bits: Some(bits), ..AT_ONCE }).unwrap();
            for k in [3, 700] {
                let report = check_batch(&mut engine, &plans, k, &format!("{codec}, ranges of 2^{bits}"));
                assert_eq!(report.decoded == 0, bits <= 7, "{bits}: {report:?}");
            }
        }
    }
}

/// Lists without tables, over several tiles: spread, in one stretch of documents of which several are in a range, on
/// both sides of a tile's edge; and a frequency that a posting by range has no bits for.
#[test]
fn test_lists_without_tables() {
    let Some(gpu) = gpu() else { return };
    let edge = TILE << 6;
    let text = |doc: u32| {
        let mut text = ["z", "often z", "often often"][doc as usize % 3].to_owned();
        let mut add = |word: &str, times: u32| text += &format!(" {word}").repeat(times as usize);
        if doc % 700 == 50 {
            add("few", [1, 5, 2][doc as usize / 700 % 3]);
        }
        if (70_000..70_250).contains(&doc) {
            add("near", 1 + doc % 7);
        }
        if [edge - 1, edge].contains(&doc) {
            add("two", 3);
        }
        if doc == 90_001 {
            add("few", 40_000);
        }
        text
    };
    let texts: Vec<String> = (0..edge + 9000).map(text).collect();
    let built = Built::with(&texts, "simdbp", Some(1));
    let index = built.open();
    let ranges = Ranges::of(edge + 9000, None);
    assert!(ranges.padded() > TILE && ranges.shift == 6 && ranges.table_df() > 250);
    let texts = ["few", "few often", "near two", "two few near often", "near z", "often near", "few near"];
    for scores in [Scores::Bm25, Scores::Impacts] {
        let searcher = Searcher::new(&index, None, Bm25::default()).unwrap().with_scores(scores).unwrap();
        let plans = plans(&searcher, &texts);
        let mut engine = engine(&searcher, &gpu, AT_ONCE).unwrap();
        for k in [1, 3, 150] {
            let report = check_batch(&mut engine, &plans, k, &format!("{scores:?}, {k}"));
            assert_eq!(report.decoded, 0, "{report:?}");
        }
    }
}

/// With a great k1 scores are small whole numbers, and bounds have little room beside them: the best documents of each
/// range have all words once and are as short as any.
#[test]
fn test_small_scores_of_many_terms() {
    let Some(gpu) = gpu() else { return };
    let mut random = Random(5);
    let mut text = |_| {
        let words = (0..31).filter(|_| !random.once_in(60)).map(|word| format!(" w{word}")).collect::<String>();
        // a word more takes some units from a score
        words + &" filler".repeat(1500 + random.below(12) as usize)
    };
    let texts: Vec<String> = (0..1500).map(&mut text).collect();
    let built = Built::new(&texts, "simdbp");
    let index = built.open();
    let searcher = Searcher::new(&index, None, Bm25 { k1: 1000.0, b: 0.4 }).unwrap();
    let query = |terms: u32| (0..terms).map(|word| format!("w{word} ")).collect::<String>();
    let plans = plans(&searcher, &[6, 12, 20, 31].map(query));
    let mut engine = engine(&searcher, &gpu, Options { by_range_at: Some(NEVER), ..AT_ONCE }).unwrap();
    for k in [1, 3, 10, 30, 100] {
        check_batch(&mut engine, &plans, k, "small scores");
    }
}

/// A list is laid out when it was asked for often enough, and not again; until then it is decoded. It goes with its
/// table.
#[test]
fn test_lists_are_laid_out_when_asked_for_often() {
    let Some(gpu) = gpu() else { return };
    let built = Built::new(&collection(3000), "simdbp");
    let index = built.open();
    let searcher = Searcher::new(&index, None, Bm25::default()).unwrap();
    let plans = plans(&searcher, &["w1 w2"]);
    let mut engine = engine(&searcher, &gpu, Options { by_range_at: Some(3), ..AT_ONCE }).unwrap();
    let free = |engine: &GpuEngine<'_>| engine.lists().by_range().unwrap().free_words();
    let all = free(&engine);
    let mut left = Vec::new();
    for turn in 1..=5 {
        let (hits, report) = search(&mut engine, &plans, Mode::Or, 10).unwrap();
        check(&searcher, &plans[0], Mode::Or, 10, &hits[0], "one more time");
        assert_eq!(report.decoded == 0, turn >= 3, "{turn}: {report:?}");
        left.push(free(&engine));
    }
    assert!(left[1] == all && left[2] < all && left[2] == left[4], "{left:?} of {all}");
}

/// Documents count their terms modulo 256, so no conjunction of more terms goes to the device.
#[test]
fn test_conjunctions_of_many_terms() {
    let Some(gpu) = gpu() else { return };
    let built = Built::new(&collection(2000), "vbyte");
    let index = built.open();
    let searcher = Searcher::new(&index, None, Bm25::default()).unwrap();
    let word = plans(&searcher, &["all"])[0].terms[0];
    let other = plans(&searcher, &["w3"])[0].terms[0];
    let plan = |n: usize| {
        let terms = (0..n).map(|i| crate::query::PlannedTerm { weight: 50.0, ..if i == 7 { other } else { word } });
        Plan { terms: terms.collect(), ..plans(&searcher, &["all"])[0].clone() }
    };
    const { assert!(QUERY_TERMS > 257) };
    let mut engine = engine(&searcher, &gpu, AT_ONCE).unwrap();
    for n in [31, 32, 33, 64, 255, 256, 257] {
        let plans = [plan(n)];
        let (hits, report) = search(&mut engine, &plans, Mode::And, 5).unwrap();
        assert_eq!(report.by_cpu, usize::from(n > 255), "{n} terms");
        assert_eq!(hits[0], searcher.search(&plans[0], Mode::And, 5).unwrap(), "{n} terms");
    }
}
