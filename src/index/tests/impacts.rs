//! `impacts.bin`: the impacts of the postings, wherever and however the file is made.

use super::reencoding::{change as recode, files, texts};
use super::reordering::{change as move_to, permutation_of};
use super::*;
use crate::Error;
use crate::index::change::reencode::{Change, PartChange, reencode};
use crate::index::change::reorder::{Reorder, reorder};
use crate::index::format::manifest::MANIFEST;
use crate::index::{Place, TermInfo};
use crate::postings::{END, List};
use crate::score::{Bound, idf};
use proptest::prelude::*;
use std::fs;

const NAME: &str = "impacts.bin";

fn make(target: &Path, texts: &[(String, String)], plan: &Plan) {
    let texts: Vec<Text<'_>> = texts.iter().map(|(id, text)| (id.as_str(), "", "", text.as_str())).collect();
    build(target, &texts, plan).unwrap();
}

fn plan(codecs: &str, threads: usize) -> Plan {
    Plan { codecs: codec::parse_list(codecs).unwrap(), window: 1 << 12, impacts: Some(threads), ..Plan::default() }
}

/// Every term's impacts as the documentation says, from plain maps, and the greatest share of a score.
pub(crate) fn expected(oracle: &Oracle) -> (BTreeMap<String, Vec<u8>>, f32) {
    let documents = oracle.lens.len();
    let tokens: u64 = oracle.lens.iter().map(|&len| u64::from(len)).sum();
    let average = tokens as f64 / documents as f64;
    let (base, slope) = (0.9f32 * (1.0 - 0.4f32), (f64::from(0.9f32) * f64::from(0.4f32) / average) as f32);
    let idf_of = |df: usize| {
        let (n, df) = (documents as f64, df as f64);
        (1.0 + (n - df + 0.5) / (df + 0.5)).ln() as f32
    };
    let saturation = |doc: u32, tf: u32| {
        let k = base + slope * oracle.lens[doc as usize] as f32;
        tf as f32 / (tf as f32 + k)
    };
    let mut maximum = 0f32;
    for list in oracle.lists.values() {
        for &(doc, tf) in list {
            maximum = maximum.max(idf_of(list.len()) * saturation(doc, tf));
        }
    }
    let step = maximum / 255.0;
    let quantised = |list: &[(u32, u32)]| {
        let factor = idf_of(list.len()) / step;
        list.iter().map(|&(doc, tf)| (saturation(doc, tf) * factor + 0.5).floor().clamp(1.0, 255.0) as u8).collect()
    };
    (oracle.lists.iter().map(|(term, list)| (term.clone(), quantised(list))).collect(), maximum)
}

fn check(target: &Path, oracle: &Oracle) {
    let index = Index::open(target).unwrap();
    let impacts = index.impacts().unwrap();
    let (expected, maximum) = expected(oracle);
    assert_eq!(index.manifest().impacts.maximum, Some(maximum));
    assert!((impacts.quantizer().step() * 255.0 - maximum).abs() < 1e-5);
    let mut greatest = 0;
    for (term, bytes) in &expected {
        let info = index.term(index.lookup(term.as_bytes()).unwrap().unwrap()).unwrap();
        assert_eq!(impacts.list(&info).unwrap(), bytes, "{term}");
        let words = impacts.words(&info).unwrap();
        assert_eq!(words.len(), if info.df == 1 { 0 } else { bytes.len().div_ceil(4) });
        let most = bytes.iter().copied().max().unwrap();
        greatest = greatest.max(most);
        assert!(impacts.bound(&info) >= most && impacts.bound(&info) - most <= 1, "{term}: {most}");
        if let Place::List { list, .. } = info.place {
            let (at, window) = (impacts.place(list).unwrap(), index.manifest().window_words);
            assert_eq!(at / window, (at + words.len() as u64) / window, "{term} leaves its window");
        }
        block_bounds(&index, &info, bytes);
    }
    assert_eq!(greatest, 255, "the greatest share of a score");
    let verified = verify(target).unwrap();
    assert!(verified.problems.is_empty(), "{:?}", verified.problems);
}

/// No impact of a block exceeds what the block's skip entry says.
fn block_bounds(index: &Index, info: &TermInfo, bytes: &[u8]) {
    let quantizer = index.impacts().unwrap().quantizer().term(info.df);
    for codec in index.codecs() {
        let List::Blocks(list) = index.list(info, codec).unwrap() else { return };
        let lens = (0..list.blocks()).map(|block| list.block_len(block));
        let mut at = 0;
        for (block, len) in lens.enumerate() {
            let bound = if list.skips.is_empty() { list.bound } else { Bound(list.skip(block).bound) };
            let most = bytes[at..at + len].iter().copied().max().unwrap();
            assert!(quantizer.bound(bound) >= most, "block {block} of {}", codec.codec().name());
            at += len;
        }
    }
}

#[test]
fn test_impacts_are_what_the_postings_give() {
    let dir = tempfile::tempdir().unwrap();
    let texts = texts();
    let oracle = Oracle::new(texts.iter().map(|text| text.1.as_str()));
    let mut made = Vec::new();
    for (i, (codecs, threads)) in [("all", 1), ("all", 4), ("parapfor:segment=32", 2), ("hs-lrc", 3)].iter().enumerate()
    {
        let target = dir.path().join(i.to_string());
        make(&target, &texts, &plan(codecs, *threads));
        check(&target, &oracle);
        made.push(fs::read(target.join(NAME)).unwrap());
    }
    assert!(made.iter().all(|bytes| *bytes == made[0]), "neither codecs nor threads show");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn test_impacts_of_any_texts(
        texts in proptest::collection::vec("([a-d]{1,2} ){0,30}", 1..300), threads in 1usize..4,
    ) {
        let texts: Vec<_> = texts.into_iter().map(|text| (String::new(), text)).collect();
        let oracle = Oracle::new(texts.iter().map(|text| text.1.as_str()));
        prop_assume!(!oracle.lists.is_empty());
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("index");
        make(&target, &texts, &plan("pef,para-ef", threads));
        check(&target, &oracle);
    }
}

#[test]
fn test_an_index_without_postings_has_impacts_too() {
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("index");
    make(&target, &[(String::from("d"), String::new())], &plan("raw", 1));
    assert!(Index::open(&target).unwrap().impacts().is_some());
    assert!(verify(&target).unwrap().problems.is_empty());
}

#[test]
fn test_idf_is_positive_and_falls() {
    for documents in [1, 2, 1000, u64::from(END)] {
        let all = documents.min(5000) as u32;
        assert!((1..all).all(|df| idf(documents, df) > idf(documents, df + 1)));
        assert!(idf(documents, documents as u32) > 0.0);
    }
}

#[test]
fn test_reencode_adds_keeps_and_removes_them() {
    let dir = tempfile::tempdir().unwrap();
    let go = Means::new(3, 1);
    let (with, without) = (dir.path().join("with"), dir.path().join("without"));
    make(&with, &texts(), &plan("raw,vbyte", 2));
    make(&without, &texts(), &Plan { impacts: None, ..plan("raw,vbyte", 2) });
    assert!(Index::open(&without).unwrap().impacts().is_none());
    let all = |index: &Path| (files(index), fs::read(index.join(MANIFEST)).unwrap());
    let (full, bare) = (all(&with), all(&without));
    assert!(!String::from_utf8_lossy(&bare.1).contains("maximum"), "an index as it was before there were impacts");
    let set = |impacts| Change { impacts, ..recode("", &[], &go) };
    let run = |change: &Change<'_>| reencode(&without, change);
    assert!(matches!(run(&set(PartChange::Remove)), Err(Error::Invalid { .. })));
    let done = run(&set(PartChange::Write)).unwrap();
    assert_eq!(done.impacts, Some(full.0[NAME].len() as u64));
    assert!(all(&without) == full, "as a build writes them");
    // Other codecs leave them as they are; a damaged file is mended.
    assert_eq!(run(&recode("simdbp", &["vbyte"], &go)).unwrap().impacts, None);
    assert!(files(&without)[NAME] == full.0[NAME]);
    run(&recode("vbyte", &["simdbp"], &go)).unwrap();
    let mut damaged = full.0[NAME].clone();
    damaged[100] ^= 1;
    fs::write(without.join(NAME), damaged).unwrap();
    assert!(matches!(run(&recode("simdbp", &[], &go)), Err(Error::Damaged { .. })));
    run(&set(PartChange::Write)).unwrap();
    assert!(all(&without) == full);
    assert!(matches!(run(&Change { means: stopped(), ..set(PartChange::Write) }), Err(Error::Interrupted)));
    assert!(all(&without) == full);
    run(&set(PartChange::Remove)).unwrap();
    assert!(all(&without) == bare);
}

#[test]
fn test_impacts_move_with_their_postings() {
    let dir = tempfile::tempdir().unwrap();
    let go = Means::new(3, 1 << 30);
    let (with, without) = (dir.path().join("with"), dir.path().join("without"));
    make(&with, &texts(), &plan("para-ef", 2));
    make(&without, &texts(), &Plan { impacts: None, ..plan("para-ef", 2) });
    let permutation = permutation_of(&with, "random:5").unwrap();
    reorder(&with, &move_to(&permutation, &go)).unwrap();
    reorder(&without, &Reorder { impacts: true, ..move_to(&permutation, &go) }).unwrap();
    assert!(files(&with) == files(&without));
    let texts = texts();
    let moved: Vec<&str> = permutation.old_of_new().iter().map(|&old| texts[old as usize].1.as_str()).collect();
    check(&with, &Oracle::new(moved));
}

#[test]
fn test_a_wrong_maximum_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("index");
    make(&target, &texts(), &plan("para-ef", 2));
    let mut manifest = Manifest::read(&target).unwrap();
    let right = manifest.impacts.maximum.unwrap();
    let mut state = |maximum| {
        manifest.impacts.maximum = maximum;
        fs::write(target.join(MANIFEST), manifest.to_json()).unwrap();
        verify(&target).unwrap().problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
    };
    assert!(state(Some(right.next_up())).contains("greatest share of a score is"));
    for wrong in [None, Some(0.0), Some(f32::INFINITY), Some(-1.0)] {
        assert!(state(wrong).contains("does not go with the files"), "{wrong:?}");
    }
    assert_eq!(state(Some(right)), "");
}
