//! Cursors over all codecs against postings in a slice.

use super::tf::{self, Frequencies};
use super::*;
use crate::codec::{self, Codec, Skip};
use crate::score::Bound;
use proptest::prelude::*;

/// The slow, obvious way: every question looks at postings one by one.
pub(crate) struct Plain<'a> {
    pub docs: &'a [u32],
    pub tfs: &'a [u32],
    pub block_len: usize,
    /// Of a block.
    pub bound: fn(usize) -> Bound,
    pub at: usize,
}

/// The number of a block.
fn number(block: usize) -> Bound {
    Bound(block as u32)
}

impl Plain<'_> {
    fn block_of(&self, doc: u32) -> usize {
        let behind = self.docs.iter().step_by(self.block_len).filter(|&&first| first <= doc).count();
        behind.saturating_sub(1)
    }
}

impl Postings for Plain<'_> {
    fn doc(&self) -> u32 {
        self.docs.get(self.at).copied().unwrap_or(END)
    }

    fn position(&self) -> usize {
        self.at
    }

    fn advance(&mut self) -> u32 {
        self.at = (self.at + 1).min(self.docs.len());
        self.doc()
    }

    fn seek(&mut self, target: u32) -> u32 {
        while self.doc() < target {
            self.advance();
        }
        self.doc()
    }

    fn tf(&mut self) -> u32 {
        self.tfs.get(self.at).copied().unwrap_or(1)
    }

    fn bound_at(&mut self, doc: u32) -> (Bound, u32) {
        let block = self.block_of(doc);
        ((self.bound)(block), self.docs.get((block + 1) * self.block_len).copied().unwrap_or(END))
    }

    fn window(&mut self, from: u32, end: u32, docs: &mut Vec<u32>) -> usize {
        self.at = self.at.next_multiple_of(self.block_len).max(self.block_of(from) * self.block_len);
        let start = self.at;
        while self.doc() < end {
            let block = &self.docs[self.at..(self.at + self.block_len).min(self.docs.len())];
            docs.extend_from_slice(block);
            self.at += block.len();
        }
        start
    }
}

#[derive(Clone, Debug)]
enum Step {
    Advance,
    Seek(u32),
    Tf,
    BoundAt(u32),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => Just(Step::Advance),
        3 => prop_oneof![1u32..5, 1u32..300, 1u32..20_000].prop_map(Step::Seek),
        3 => Just(Step::Tf),
        1 => (0u32..5000).prop_map(Step::BoundAt),
    ];
    proptest::collection::vec(step, 1..200)
}

fn postings() -> impl Strategy<Value = (Vec<u32>, Vec<u32>)> {
    let gap = prop_oneof![4 => 1u32..4, 2 => 1u32..100, 1 => 1u32..3000];
    let tf = prop_oneof![3 => Just(1u32), 2 => 1u32..9, 1 => 1u32..100_000];
    proptest::collection::vec((gap, tf), 1..1500).prop_map(|postings| {
        let (mut doc, mut docs, mut tfs) = (0, Vec::new(), Vec::new());
        for (gap, tf) in postings {
            doc += gap;
            docs.push(doc - 1);
            tfs.push(tf);
        }
        (docs, tfs)
    })
}

/// What a list lies in. Bounds are numbers of blocks.
struct Words {
    words: Vec<u32>,
    skips: Vec<Skip>,
    tfs: Vec<u32>,
}

impl Words {
    fn new(codec: &dyn Codec, docs: &[u32], tfs: &[u32]) -> Self {
        let mut all = Self { words: Vec::new(), skips: Vec::new(), tfs: Vec::new() };
        codec.encode(docs, &mut all.words, &mut all.skips);
        (0..).zip(&mut all.skips).for_each(|(block, skip)| skip.bound = block);
        tf::encode(tfs, &mut all.tfs);
        all
    }

    fn list<'a>(&'a self, codec: &'a dyn Codec, docs: &[u32]) -> List<'a> {
        let n = docs.len() as u32;
        let list = ListWords::in_memory(codec, &self.words, &self.skips, n, docs[docs.len() - 1] + 1).unwrap();
        let bound = Bound(0);
        List::Blocks(ListWords { bound, tf: Frequencies::new(&self.tfs, n, self.tfs.is_empty()), ..list })
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn test_walks_as_over_a_slice((docs, tfs) in postings(), steps in steps()) {
        for codec in &codec::all() {
            let codec = codec.as_ref();
            let words = Words::new(codec, &docs, &tfs);
            let mut cursor = Cursor::new(words.list(codec, &docs));
            let mut plain = Plain { docs: &docs, tfs: &tfs, block_len: codec.block_len(), bound: number, at: 0 };
            for step in &steps {
                let doc = plain.doc();
                match *step {
                    Step::Advance => prop_assert_eq!(cursor.advance(), plain.advance()),
                    Step::Seek(by) => {
                        let target = doc.saturating_add(by);
                        prop_assert_eq!(cursor.seek(target), plain.seek(target), "{} to {}", codec.name(), target);
                    }
                    Step::Tf => prop_assert_eq!(cursor.tf(), plain.tf(), "{} at {}", codec.name(), doc),
                    Step::BoundAt(ahead) if doc != END => {
                        // Only the greatest of these asked for so far is sure to be answered exactly.
                        let (mut probe, at) = (Cursor::new(words.list(codec, &docs)), doc.saturating_add(ahead));
                        probe.seek(doc);
                        prop_assert_eq!(probe.bound_at(at), plain.bound_at(at), "{} at {}", codec.name(), at);
                    }
                    Step::BoundAt(_) => {}
                }
                prop_assert_eq!(cursor.doc(), plain.doc());
                if plain.doc() != END {
                    prop_assert_eq!(cursor.position(), plain.position());
                }
            }
            prop_assert!(cursor.damage().is_none());
        }
    }

    #[test]
    fn test_windows_and_look_ups_as_in_a_slice(
        (docs, tfs) in postings(),
        widths in proptest::collection::vec((0u32..3000, 1u32..3000), 1..12),
        wanted in proptest::collection::btree_set(0u32..40_000, 1..200),
    ) {
        for codec in &codec::all() {
            let codec = codec.as_ref();
            let words = Words::new(codec, &docs, &tfs);
            let mut cursor = Cursor::new(words.list(codec, &docs));
            let mut plain = Plain { docs: &docs, tfs: &tfs, block_len: codec.block_len(), bound: number, at: 0 };
            let mut from = 0;
            for &(gap, width) in &widths {
                from += gap;
                let (mut found, mut expected) = (vec![7], vec![7]);
                let at = plain.window(from, from + width, &mut expected);
                prop_assert_eq!(cursor.window(from, from + width, &mut found), at, "{}", codec.name());
                prop_assert_eq!(&found, &expected, "{}", codec.name());
                let mut all = vec![0; found.len() - 1];
                cursor.blocks().copy_tfs(at, &mut all).unwrap();
                prop_assert!(all.iter().eq(tfs.iter().skip(at).take(all.len())));
                prop_assert_eq!(cursor.doc(), plain.doc());
                from += width;
            }
            let mut cursor = Cursor::new(words.list(codec, &docs));
            let wanted: Vec<u32> = wanted.iter().copied().collect();
            let (mut hits, mut rest) = (Vec::new(), &wanted[..]);
            while let Some(&doc) = rest.first() {
                let (bound, end) = cursor.bound_at(doc);
                prop_assert_eq!((bound, end), plain.bound_at(doc));
                let (here, later) = rest.split_at(rest.partition_point(|&doc| doc < end));
                let block = cursor.near();
                let start = cursor.blocks().start(block);
                cursor.prefetch(block);
                for some in here.chunks(128) {
                    let there = cursor.docs_of(block);
                    if there.len() > 128 {
                        let (mut which, mut places) = (vec![0; some.len()], vec![0; some.len()]);
                        let found = common(there, some, &mut which, &mut places);
                        for (&which, &place) in which[..found].iter().zip(&places) {
                            let position = start + place as usize;
                            prop_assert_eq!((docs[position], tfs[position]), (some[which as usize], cursor.tf_at(position)));
                            hits.push(docs[position]);
                        }
                        continue;
                    }
                    let (those, these) = matches(there, some);
                    let (mut several, mut picked) = ([7; PICKED], [7; PICKED]);
                    pick(those, some, &mut picked);
                    cursor.blocks().tfs_of(block, these, &mut several).unwrap();
                    let places = (0..128).filter(|place| these >> place & 1 == 1);
                    prop_assert_eq!(those.count_ones(), these.count_ones());
                    for ((place, &tf), &doc) in places.zip(&several).zip(&picked) {
                        prop_assert_eq!((docs[start + place], tfs[start + place]), (doc, tf));
                        prop_assert_eq!(cursor.tf_at(start + place), tf);
                        hits.push(doc);
                    }
                }
                rest = later;
            }
            let expected: Vec<u32> = wanted.into_iter().filter(|doc| docs.binary_search(doc).is_ok()).collect();
            prop_assert_eq!(hits, expected, "{}", codec.name());
        }
    }

    #[test]
    fn test_single_frequencies_are_those_of_the_block((docs, tfs) in postings(), order in any::<[prop::sample::Index; 40]>()) {
        let all = codec::all();
        let codec = all[0].as_ref();
        let words = Words::new(codec, &docs, &tfs);
        let mut blocks = Blocks::new(words.list(codec, &docs));
        for position in order.iter().flat_map(|at| [at.index(docs.len()); 4]) {
            prop_assert_eq!(blocks.tf(position), Some(tfs[position]));
        }
        prop_assert!(blocks.tfs_from(docs.len()).is_err() && blocks.copy_tfs(0, &mut vec![0; docs.len() + 1]).is_err());
    }
}

#[test]
fn test_a_single_posting_is_a_list_of_one_block() {
    let mut cursor = Cursor::new(List::Single { doc: 5, tf: 9 });
    assert_eq!((cursor.doc(), cursor.tf(), cursor.position()), (5, 9, 0));
    assert_eq!((cursor.bound_in(5, 6).is_some(), cursor.bound_in(0, 5), cursor.bound_in(6, 9)), (true, None, None));
    assert_eq!((cursor.near(), matches(cursor.docs_of(0), &[4, 5, 6])), (0, (0b10, 1)));
    let mut tfs = [0; PICKED];
    cursor.blocks().tfs_of(0, 1, &mut tfs).unwrap();
    assert_eq!(tfs[0], 9);
    let mut docs = Vec::new();
    assert_eq!((cursor.window(0, 5, &mut docs), docs.len(), cursor.doc()), (0, 0, 5));
    assert_eq!((cursor.window(5, 6, &mut docs), &docs[..], cursor.doc()), (0, &[5][..], END));
    assert!(cursor.blocks().tfs_from(1).is_err());
}
