use super::*;
use crate::index::{Index, verify};
use crate::postings::List;
use std::collections::BTreeMap;
use std::path::Path;

pub(super) fn options(output: &Path, threads: usize) -> SyntheticOptions {
    SyntheticOptions {
        documents: 10_000,
        postings: Some(1_000_000),
        means: Means::new(threads, 1 << 30),
        seed: 42,
        ..SyntheticOptions::new(output.to_owned())
    }
}

fn files(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut names = vec!["manifest.json".to_owned()];
    names.extend(Index::open(dir).unwrap().manifest().files.iter().map(|file| file.name.clone()));
    names.into_iter().map(|name| (name.clone(), std::fs::read(dir.join(name)).unwrap())).collect()
}

#[test]
fn test_an_index_is_sound_and_the_same_for_any_number_of_threads() {
    let dir = tempfile::tempdir().unwrap();
    let [one, four, other] = ["one", "four", "other"].map(|name| dir.path().join(name));
    let made = write(&options(&one, 1)).unwrap();
    let found = verify(&one).unwrap();
    assert_eq!(found.problem_count, 0, "{:?}", found.problems);
    write(&options(&four, 4)).unwrap();
    assert!(files(&one) == files(&four), "threads change bytes");
    let seeded = SyntheticOptions { seed: 43, postings: Some(50_000), ..options(&other, 2) };
    write(&seeded).unwrap();
    assert!(matches!(write(&options(&other, 2)), Err(Error::Exists { .. })));
    write(&SyntheticOptions { force: true, seed: 42, ..seeded }).unwrap();

    let index = Index::open(&one).unwrap();
    let s = index.statistics();
    assert_eq!((&s, s.documents), (&made.statistics, 10_000));
    assert!(s.postings.abs_diff(1_000_000) < 2_000, "{s:?}");
    assert_eq!(s.duplicate_ids, 0);
    let dfs: Vec<u32> = (0..s.terms as u32).map(|id| index.term(id).unwrap().df).collect();
    assert!(dfs.is_sorted_by(|a, b| a >= b) && dfs[0] == 9_500 && dfs[dfs.len() - 1] == 1);
    for id in [0, 7, 4_711] {
        assert_eq!(index.lookup(names::term(id).as_bytes()).unwrap(), Some(id as u32));
    }
    assert_eq!(index.lookup(b"t00").unwrap(), None);
    assert_eq!(index.names(&[5_000]).unwrap()[0].id, "GX000-05-0000370");
    // 100 of 278 postings of a document, so that share of about 800 tokens
    let lens = index.lens();
    let mean = s.tokens as f64 / 10_000.0;
    assert!((200.0..400.0).contains(&mean), "{mean}");
    let logs: Vec<f64> = lens.iter().map(|&len| f64::from(len.max(1)).ln()).collect();
    let middle = logs.iter().sum::<f64>() / 1e4;
    let spread = (logs.iter().map(|log| (log - middle).powi(2)).sum::<f64>() / 1e4).sqrt();
    assert!((0.5..1.1).contains(&spread), "{spread}");
}

#[test]
fn test_a_whole_collection_has_278_postings_a_document() {
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("index");
    let whole = SyntheticOptions { postings: None, documents: 3_000, ..options(&target, 2) };
    let made = write(&whole).unwrap();
    let mean = made.statistics.tokens as f64 / 3_000.0;
    assert!((600.0..1_000.0).contains(&mean), "{mean}");
    assert!(made.statistics.postings.abs_diff(3_000 * 2_778 / 10) < 2_000, "{:?}", made.statistics);
    let index = Index::open(&target).unwrap();
    let term = index.term(0).unwrap();
    assert!(matches!(index.list(&term, index.codec(None).unwrap()).unwrap(), List::Blocks(_)));
    assert!(term.cf > 4 * u64::from(term.df), "frequent terms stand more often in a document");
}

#[test]
fn test_options_that_make_no_sense_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("index");
    let base = || options(&target, 1);
    let refused = |options: SyntheticOptions| write(&options).unwrap_err();
    for bad in [
        SyntheticOptions { documents: 0, ..base() },
        SyntheticOptions { documents: 1 << 32, ..base() },
        SyntheticOptions { clustering: 1.0, ..base() },
        SyntheticOptions { clustering: f64::NAN, ..base() },
        SyntheticOptions { postings: Some(10_000_000), ..base() },
        SyntheticOptions { postings: Some(0), ..base() },
        SyntheticOptions { terms: Some(0), ..base() },
        SyntheticOptions { terms: Some(1 << 33), ..base() },
        SyntheticOptions { terms: Some(10), ..base() },
    ] {
        let text = format!("{bad:?}");
        assert!(matches!(refused(bad), Error::Invalid { .. }), "{text}");
    }
    assert!(matches!(refused(SyntheticOptions { codecs: "zip".to_owned(), ..base() }), Error::UnknownName { .. }));
    let Error::Memory { needed, .. } = refused(SyntheticOptions { means: Means::new(1, 1 << 20), ..base() }) else {
        panic!("a megabyte is too little")
    };
    let cancelled = base();
    cancelled.means.cancel.store(true, Ordering::Relaxed);
    assert!(matches!(refused(cancelled), Error::Interrupted));
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "nothing is left behind");
    write(&SyntheticOptions { means: Means::new(1, needed), ..base() }).unwrap();
}
