//! `pagerank.bin`: written, read, checked, moved and kept.

use super::reencoding::files;
use super::reordering::permutation_of;
use super::*;
use crate::Error;
use crate::index::change::reencode::{Change, PartChange, reencode};
use crate::index::change::reorder::{Reorder, reorder};
use std::fs;
use std::path::PathBuf;

const RANKS: [f32; 4] = [0.15, 0.4, 0.05, 0.4];

fn make(target: &Path, ranks: Option<&[f32]>) -> crate::Result<PathBuf> {
    let texts = [("a", "", "", "x y"), ("b", "", "", "x z"), ("c", "", "", "y"), ("d", "", "", "z z")];
    let plan =
        Plan { codecs: codec::parse_list("vbyte").unwrap(), ranks: ranks.map(<[f32]>::to_vec), ..Plan::default() };
    build(target, &texts, &plan)?;
    Ok(target.to_owned())
}

fn problems(index: &Path) -> Vec<String> {
    verify(index).unwrap().problems.iter().map(ToString::to_string).collect()
}

#[test]
fn test_ranks_are_stored_and_read() {
    let dir = tempfile::tempdir().unwrap();
    let with = make(&dir.path().join("with"), Some(&RANKS)).unwrap();
    let without = make(&dir.path().join("without"), None).unwrap();
    assert_eq!(Index::open(&with).unwrap().pagerank(), Some(&RANKS[..]));
    assert_eq!(Index::open(&without).unwrap().pagerank(), None);
    assert_eq!((problems(&with), problems(&without)), (vec![], vec![]));
    let mut all = files(&with);
    assert_eq!(all.remove("pagerank.bin").unwrap().len(), 64 + 16);
    assert!(all == files(&without), "nothing else differs");
    let wrong = make(&dir.path().join("wrong"), Some(&RANKS[..3]));
    assert!(matches!(wrong, Err(Error::Invalid { .. })), "{wrong:?}");
}

#[test]
fn test_nonsense_is_seen() {
    let dir = tempfile::tempdir().unwrap();
    for (ranks, expected) in [
        ([0.15, 0.4, f32::NAN, 0.4], "document 2 has the rank NaN"),
        ([0.15, f32::INFINITY, 0.05, 0.4], "document 1 has the rank inf"),
        ([0.15, 0.4, 0.05, -0.4], "document 3 has the rank -0.4"),
        ([0.15, 0.4, 0.001, 0.4], "document 2 has the rank 0.001"),
        ([0.15, 0.4, 0.06, 0.4], "add up to 1.01"),
    ] {
        let index = make(&dir.path().join("index"), Some(&ranks)).unwrap();
        let found = problems(&index);
        assert!(found.iter().any(|problem| problem.contains(expected)), "{found:?}");
        // Any ranks can be sorted.
        assert_eq!(permutation_of(&index, "pagerank").unwrap().documents(), 4);
        fs::remove_dir_all(&index).unwrap();
    }
}

#[test]
fn test_reordering_moves_them_and_reencoding_keeps_them() {
    let dir = tempfile::tempdir().unwrap();
    let index = make(&dir.path().join("index"), Some(&RANKS)).unwrap();
    let highest = permutation_of(&index, "pagerank").unwrap();
    assert_eq!(highest.old_of_new(), [1, 3, 0, 2]);
    let change = Reorder {
        permutation: &highest,
        order: "pagerank".to_owned(),
        output: None,
        force: false,
        impacts: false,
        tables: false,
        means: Means::new(2, 1 << 30),
    };
    reorder(&index, &change).unwrap();
    let check = || {
        let index = Index::open(&index).unwrap();
        assert_eq!(index.pagerank(), Some(&[0.4, 0.4, 0.15, 0.05][..]));
        assert_eq!(index.name(0).unwrap().id, "b");
        assert_eq!(index.manifest().order, "pagerank");
        assert_eq!(index.input_places(), Some(&[1, 3, 0, 2][..]));
    };
    check();
    let add = codec::parse_list("raw").unwrap();
    let change = Change {
        add,
        remove: Vec::new(),
        impacts: PartChange::Keep,
        tables: PartChange::Keep,
        from: None,
        output: None,
        gpu: None,
        means: Means::new(2, 1),
    };
    reencode(&index, &change).unwrap();
    check();
    assert_eq!(problems(&index), Vec::<String>::new());

    let without = make(&dir.path().join("without"), None).unwrap();
    let error = permutation_of(&without, "pagerank").unwrap_err().to_string();
    assert!(error.contains("index --links"), "{error}");
}
