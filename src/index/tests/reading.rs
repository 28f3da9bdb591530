//! The reader gives back what was written.

use super::*;
use crate::index::Place;
use crate::postings::{Cursor, END, Postings};
use crate::score::threshold::LEVELS;
use proptest::prelude::*;

/// Every way of reading every list agrees with the oracle.
fn check(target: &Path, texts: &[Text<'_>]) {
    let oracle = Oracle::new(texts.iter().map(|text| text.3));
    let index = Index::open(target).unwrap();
    assert_eq!(index.lens(), oracle.lens);
    let mut terms = Vec::new();
    index
        .each_term(|term, id| {
            terms.push((String::from_utf8(term.to_vec()).unwrap(), id));
            true
        })
        .unwrap();
    assert_eq!(terms.iter().map(|term| &term.0).collect::<Vec<_>>(), oracle.lists.keys().collect::<Vec<_>>());
    for (term, id) in &terms {
        assert_eq!(index.lookup(term.as_bytes()).unwrap(), Some(*id));
        let list = &oracle.lists[term];
        let info = index.term(*id).unwrap();
        assert_eq!(info.df as usize, list.len());
        assert_eq!(info.cf, list.iter().map(|posting| u64::from(posting.1)).sum::<u64>());
        assert_eq!(info.tf_max, list.iter().map(|posting| posting.1).max().unwrap());
        let mut impacts: Vec<f32> =
            list.iter().map(|&(doc, tf)| index.default_norm().impact(tf, oracle.lens[doc as usize])).collect();
        impacts.sort_by(|a, b| b.total_cmp(a));
        for codec in index.codecs() {
            let open = || index.cursor(&info, codec).unwrap();
            let thresholds = open().list().thresholds();
            for level in LEVELS {
                let (found, impact) = (thresholds.impact(level), impacts.get(level - 1).copied().unwrap_or(0.0));
                assert!(found <= impact && impact - found < 3e-5, "{term}, {level}: {found} for {impact}");
            }
            let mut cursor = open();
            for &(doc, tf) in list {
                assert_eq!((cursor.doc(), cursor.tf()), (doc, tf), "{term}");
                cursor.advance();
            }
            assert_eq!((cursor.doc(), cursor.advance()), (END, END));
            assert!(cursor.damage().is_none());
            for step in [1, 3, 50, 129, 300] {
                let mut cursor = open();
                let mut target = 0;
                loop {
                    let expected = list.iter().find(|posting| posting.0 >= target);
                    let (bound, until) = cursor.bound_at(target.max(cursor.doc()));
                    assert_eq!(cursor.seek(target), expected.map_or(END, |posting| posting.0), "{term} {target}");
                    let Some(&(doc, tf)) = expected else { break };
                    assert_eq!(cursor.seek(doc / 2), doc, "never backwards");
                    assert_eq!(cursor.tf(), tf);
                    let near = list.iter().filter(|posting| posting.0 >= target && posting.0 < until);
                    for &(doc, tf) in near.filter(|_| info.df > 1) {
                        assert!(bound.admits(tf, oracle.lens[doc as usize], index.default_norm()), "{term} {doc}");
                    }
                    target = doc + step;
                }
                assert!(cursor.damage().is_none());
            }
        }
    }
    for (doc, text) in texts.iter().enumerate() {
        let name = index.name(doc as u32).unwrap();
        assert_eq!((&name.id[..], &name.url[..], &name.title[..]), (text.0, text.1, text.2));
    }
    assert!(index.name(texts.len() as u32).is_err());
    assert!(index.term(terms.len() as u32).is_err());
    assert_eq!(index.lookup(b"no such term").unwrap(), None);
}

#[test]
fn test_lists_around_block_edges_in_every_window() {
    let texts: Vec<String> = (0..400)
        .map(|doc| {
            let lists = [1, 2, 3, 126, 127, 128, 129, 130, 255, 256, 257, 384, 399, 400];
            lists.iter().filter(|&&n| doc < n).map(|n| format!("t{n} ").repeat(1 + doc % 4)).collect()
        })
        .collect();
    let texts: Vec<Text<'_>> = texts.iter().map(|text| ("id", "", "", text.as_str())).collect();
    let dir = tempfile::tempdir().unwrap();
    for window in [512, 1024, 1 << 29] {
        let target = dir.path().join(window.to_string());
        build(&target, &texts, &Plan { window, ..Plan::default() }).unwrap();
        check(&target, &texts);
        assert!(verify(&target).unwrap().problems.is_empty());
    }
}

#[test]
fn test_no_document_no_term() {
    let dir = tempfile::tempdir().unwrap();
    for texts in [&[][..], &[("a", "", "", ""); 3], &[("a", "b", "c", "x")]] {
        let target = dir.path().join(format!("{}", texts.len()));
        build(&target, texts, &Plan::default()).unwrap();
        check(&target, texts);
        let problems = verify(&target).unwrap().problems;
        assert!(problems.is_empty(), "{problems:?}");
    }
}

#[test]
fn test_names_of_every_kind() {
    let long = "ü".repeat(40_000);
    let ids: Vec<String> = (0..3000).map(|i| format!("http://a.test/{i}")).collect();
    let mut texts: Vec<Text<'_>> = ids.iter().map(|id| (id.as_str(), id.as_str(), "title", "x")).collect();
    texts.push((&long[..65536], "", "", "x"));
    texts.push(("id", &long[..65536], &long[..4096], "x"));
    texts.push(("id", "id", "", "y"));
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("index");
    build(&target, &texts, &Plan::default()).unwrap();
    check(&target, &texts);
    // Names over the limit are cut at a character.
    let target = dir.path().join("long");
    build(&target, &[(&long, &long, &format!("x{long}"), "x")], &Plan::default()).unwrap();
    let name = Index::open(&target).unwrap().name(0).unwrap();
    assert_eq!((name.id.len(), name.url.len(), name.title.len()), (65536, 65536, 4095));
}

/// A choice without effect is refused, but earlier releases took it, and their indexes open.
#[test]
fn test_an_index_with_a_parameter_that_decides_nothing_opens() {
    assert!(matches!(crate::codec::codec("pfor:exceptions=0.3"), Err(crate::Error::Invalid { .. })));
    let codecs = vec![crate::codec::family("pfor").unwrap().codec("exceptions=0.3").unwrap()];
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("index");
    let texts: Vec<String> = (0..300).map(|doc| format!("all w{}", doc % 7)).collect();
    let texts: Vec<Text<'_>> = texts.iter().map(|text| ("id", "", "", text.as_str())).collect();
    build(&target, &texts, &Plan { codecs, ..Plan::default() }).unwrap();
    check(&target, &texts);
}

#[test]
fn test_unknown_codec_lists_the_choices() {
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("index");
    build(
        &target,
        &[("a", "", "", "x x")],
        &Plan { codecs: vec![crate::codec::codec("vbyte").unwrap()], ..Plan::default() },
    )
    .unwrap();
    let index = Index::open(&target).unwrap();
    assert_eq!(index.codec(None).unwrap().codec().name(), "vbyte");
    let error = index.codec(Some("para-ef")).err().unwrap().to_string();
    assert!(error.contains("para-ef") && error.contains("there are: vbyte"), "{error}");
    let info = index.term(0).unwrap();
    assert_eq!(info.place, Place::Single { doc: 0 });
    assert_eq!(Cursor::new(index.list(&info, index.codec(None).unwrap()).unwrap()).tf(), 2);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn test_random_collections(
        texts in proptest::collection::vec("([a-c]( [a-c]){0,9}|[a-z]{0,3})( [d-f][a-f]{0,2}){0,6}", 1..400),
        window in prop_oneof![Just(1u64 << 10), Just(1 << 29)],
    ) {
        let texts: Vec<Text<'_>> = texts.iter().map(|text| (&text[..text.len() / 2], text.as_str(), "", text.as_str())).collect();
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("index");
        build(&target, &texts, &Plan { window, batch: 64, ..Plan::default() }).unwrap();
        check(&target, &texts);
        let problems = verify(&target).unwrap().problems;
        prop_assert!(problems.is_empty(), "{problems:?}");
    }
}

/// An index that another one takes the place of stays as it was for its readers; who asks for files by name is told.
#[test]
fn test_another_index_in_its_place() {
    let dir = tempfile::tempdir().unwrap();
    let (place, aside) = (dir.path().join("index"), dir.path().join("aside"));
    build(&place, &[("a", "", "", "tide wave"), ("b", "", "", "wave")], &Plan::default()).unwrap();
    build(&aside, &[("c", "", "", "tide wave"), ("d", "", "", "wave")], &Plan::default()).unwrap();
    let index = Index::open(&place).unwrap();
    index.in_place().unwrap();
    crate::index::change::checksums::checksums(&index, &index.manifest().files).unwrap();
    std::fs::rename(&place, dir.path().join("old")).unwrap();
    std::fs::rename(&aside, &place).unwrap();
    index.unchanged().unwrap();
    assert_eq!(index.name(0).unwrap().id, "a");
    let error = index.in_place().unwrap_err();
    assert!(matches!(error, crate::Error::Changed { .. }), "{error}");
    // its checksums are not those of the files that have their names now
    let error = crate::index::change::checksums::checksums(&index, &index.manifest().files).unwrap_err();
    assert!(matches!(error, crate::Error::Changed { .. }), "{error}");
    assert!(verify(&place).unwrap().problems.is_empty());
}
