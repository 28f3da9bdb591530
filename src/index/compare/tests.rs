//! Planted differences of each kind are found, and nothing else.

use super::*;
use crate::base::means::Means;
use crate::index::tests::{Plan, Text, build, reordered};
use crate::order::Permutation;
use std::path::Path;

const TEXTS: [Text<'_>; 4] = [
    ("A", "http://a.test/", "one", "x y z"),
    ("B", "", "two", "x x y"),
    ("C", "", "", "w x"),
    ("D", "", "four", "v v v v"),
];

fn made(dir: &Path, name: &str, texts: &[Text<'_>], plan: &Plan) -> Index {
    let path = dir.join(name);
    build(&path, texts, plan).unwrap();
    Index::open(&path).unwrap()
}

/// Each part that differs, how often, and its first difference.
fn found(first: &Index, second: &Index) -> Vec<(Part, u64, Difference)> {
    let parts = Part::ALL.map(|(part, ..)| part).to_vec();
    let found = compare(first, second, &Comparison { parts, keep: 2, means: Means::new(2, 1) }).unwrap();
    let different = found.into_iter().filter(|differences| differences.count > 0);
    different.map(|mut part| (part.part, part.count, part.shown.remove(0))).collect()
}

fn parts(found: &[(Part, u64, Difference)]) -> Vec<(Part, u64)> {
    found.iter().map(|(part, count, _)| (*part, *count)).collect()
}

fn plan() -> Plan {
    Plan { impacts: Some(1), tables: Some(1), stored: Some(1), ranks: Some(vec![0.25; 4]), ..Plan::default() }
}

#[test]
fn test_an_index_equals_itself_and_its_like() {
    let dir = tempfile::tempdir().unwrap();
    let one = made(dir.path(), "one", &TEXTS, &plan());
    // Other batches, and so other threads.
    let like = made(dir.path(), "like", &TEXTS, &Plan { batch: 1, ..plan() });
    assert_eq!(found(&one, &like), []);
    let none = made(dir.path(), "none", &[], &Plan::default());
    let again = made(dir.path(), "again", &[], &Plan::default());
    assert_eq!(found(&none, &again), []);
    assert!(found(&one, &none).len() > 6 && found(&none, &one).len() > 6);
}

#[test]
fn test_a_difference_of_each_kind_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let one = made(dir.path(), "one", &TEXTS, &plan());
    let with = |name: &str, change: &dyn Fn(&mut [Text<'static>; 4])| {
        let mut texts = TEXTS;
        change(&mut texts);
        found(&one, &made(dir.path(), name, &texts, &plan()))
    };
    let id = with("id", &|texts| texts[2].0 = "E");
    assert_eq!(parts(&id), [(Part::Ids, 1)]);
    assert_eq!((&id[0].2.at[..], &id[0].2.first[..], &id[0].2.second[..]), ("document 2", "C", "E"));
    assert_eq!(parts(&with("url", &|texts| texts[0].1 = "http://b.test/")), [(Part::Names, 1)]);
    assert_eq!(parts(&with("title", &|texts| texts[3].2 = "for")), [(Part::Names, 1)]);
    // The same terms in another order: only the texts tell.
    assert_eq!(parts(&with("text", &|texts| texts[0].3 = "z y x")), [(Part::Texts, 1)]);

    let term = with("term", &|texts| texts[0].3 = "x y q");
    assert_eq!(parts(&term), [(Part::Texts, 1), (Part::Terms, 2)]);
    assert_eq!((&term[1].2.at[..], &term[1].2.first[..]), ("term \"q\"", "nothing"));

    // The same length, another frequency: x and y are in other lists than before.
    let tf = with("tf", &|texts| texts[1].3 = "x y y");
    assert_eq!(parts(&tf)[..2], [(Part::Texts, 1), (Part::Lists, 2)]);
    assert_eq!(tf[1].2.at, "term \"x\", posting 1");
    assert_eq!(
        (&tf[1].2.first[..], &tf[1].2.second[..]),
        ("document 1, tf 2, of 3 postings", "document 1, tf 1, of 3 postings")
    );

    let longer = with("longer", &|texts| texts[3].3 = "v v v v v");
    let kinds: Vec<Part> = longer.iter().map(|(part, ..)| *part).collect();
    assert_eq!(kinds[..4], [Part::Statistics, Part::Lengths, Part::Texts, Part::Lists]);
    assert_eq!((&longer[1].2.at[..], &longer[1].2.first[..], &longer[1].2.second[..]), ("document 3", "4", "5"));

    let ranks = Plan { ranks: Some(vec![0.25, 0.25, 0.3, 0.2]), ..plan() };
    assert_eq!(parts(&found(&one, &made(dir.path(), "ranks", &TEXTS, &ranks))), [(Part::Ranks, 2)]);
    let fewer = made(dir.path(), "fewer", &TEXTS[..3], &Plan { ranks: None, ..plan() });
    let fewer = found(&one, &fewer);
    let last = |part: Part| fewer.iter().find(|found| found.0 == part).map(|found| found.2.clone()).unwrap();
    assert_eq!((&last(Part::Ids).at[..], &last(Part::Ids).second[..]), ("document 3", "nothing"));
    assert_eq!(last(Part::Terms).second, "nothing");
    assert_eq!(last(Part::Ranks).at, "document 0");
}

#[test]
fn test_options_and_orders() {
    let dir = tempfile::tempdir().unwrap();
    let one = made(dir.path(), "one", &TEXTS, &plan());
    let codecs = crate::codec::parse_list("vbyte").unwrap();
    let bare = found(&one, &made(dir.path(), "bare", &TEXTS, &Plan { codecs, ..Plan::default() }));
    // Codecs, impacts, tables, texts and ranks; their documents, too, have no texts and no ranks.
    assert_eq!(parts(&bare), [(Part::Options, 5), (Part::Ranks, 4), (Part::Texts, 4)]);
    assert_eq!(bare[0].2.second, "vbyte");

    let moved = made(dir.path(), "moved", &TEXTS, &plan());
    let moved_to = moved.dir().to_owned();
    reordered(&moved_to, &Permutation::new(vec![1, 0, 2, 3]));
    let moved = found(&one, &Index::open(&moved_to).unwrap());
    let kinds: Vec<Part> = moved.iter().map(|(part, ..)| *part).collect();
    for part in [Part::Options, Part::Ids, Part::Names, Part::Places, Part::Texts, Part::Lists] {
        assert!(kinds.contains(&part), "{part:?} of {kinds:?}");
    }
    assert!(!kinds.contains(&Part::Terms) && !kinds.contains(&Part::Statistics));
}

/// Many terms: they are read in parts, which end where either index has fewer in between.
#[test]
fn test_many_terms_side_by_side() {
    let dir = tempfile::tempdir().unwrap();
    let text = |words: std::ops::Range<u32>| words.map(|word| format!("{word:06} ")).collect::<String>();
    let [first, second] = [text(0..150_000), text(149_000..300_000) + "000007"];
    let codecs = || crate::codec::parse_list("raw").unwrap();
    let index = |name: &str, text: &str| {
        made(dir.path(), name, &[("A", "", "", text)], &Plan { codecs: codecs(), batch: 4096, ..Plan::default() })
    };
    let (first, second) = (index("first", &first), index("second", &second));
    for (one, other, place) in [(&first, &second, "there"), (&second, &first, "nothing")] {
        let found = found(one, other);
        let terms = found.iter().find(|found| found.0 == Part::Terms).unwrap();
        assert_eq!((terms.1, &terms.2.at[..], &terms.2.first[..]), (148_999 + 150_000, "term \"000000\"", place));
        assert!(found.iter().all(|found| found.0 != Part::Lists), "what both have is the same");
    }
}
