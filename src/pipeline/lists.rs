//! Lists that grow in memory: single-pass in-memory indexing (SPIMI), as Capannini et al. describe it in section 3.
//!
//! A posting goes to the end of its term's list as it comes, so nothing is sorted but the terms, once, when the block
//! is spilled. The run is the one that a sorted block of these postings would give. A posting takes 4 bytes instead of
//! 8, since its list knows the term; a list takes 16 bytes, its place in the table 4 to 8, and what its last chunk has
//! left. All memory is set aside at the start: half of what as many keys take goes to postings, and most of the rest
//! to lists.
//!
//! A list is a chain of chunks, each twice as large as the one before, up to 256 words. A chunk's first word
//! says where the next one is.

use super::run::pack;

/// Words of a list's first chunk.
const FIRST: u16 = 4;
/// Words of its largest ones.
const LARGEST: u16 = 256;

/// Keys of the smallest block: there is room for a posting in an empty one, whatever its list needs.
const LEAST: usize = 1024;

/// A term's list.
#[derive(Clone, Copy, Debug)]
struct List {
    term: u32,
    /// Its first chunk.
    first: u32,
    /// Where the next posting goes, if its last chunk has words left.
    at: u32,
    /// How many.
    left: u16,
    /// Words of its last chunk.
    size: u16,
}

/// The lists of a block.
#[derive(Debug)]
pub struct Lists {
    words: Vec<u32>,
    lists: Vec<List>,
    /// Number of the list of a term, from 1 on, at the place of its hash or behind; 0 is nobody's. At most half full.
    table: Vec<u32>,
    postings: usize,
}

impl Lists {
    /// Lists that take no more memory than a block of `keys` keys, or of 1,024 if that is more.
    pub fn with_room_for(keys: usize) -> Self {
        let keys = keys.max(LEAST);
        // 4 bytes a key for words; 16 for each of an eighth as many lists; and 4 for a table twice as large at least
        let lists = keys / 8;
        Self {
            words: Vec::with_capacity(keys),
            lists: Vec::with_capacity(lists),
            table: vec![0; (2 * lists).next_power_of_two()],
            postings: 0,
        }
    }

    /// Postings held.
    pub fn len(&self) -> usize {
        self.postings
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.postings == 0
    }

    /// Whether there may be no room for another posting.
    pub fn is_full(&self) -> bool {
        self.words.len() + usize::from(LARGEST) > self.words.capacity() || self.lists.len() == self.lists.capacity()
    }

    /// How much of its memory is used, of so much: of words or of lists, whichever is nearer to its end.
    pub fn used(&self) -> (usize, usize) {
        let (words, lists) = (self.words.capacity(), self.lists.capacity());
        let of_words = self.lists.len() * words / lists.max(1);
        (self.words.len().max(of_words), words.saturating_sub(usize::from(LARGEST)))
    }

    /// Forgets all postings, and keeps the memory.
    pub fn clear(&mut self) {
        self.words.clear();
        self.lists.clear();
        self.table.fill(0);
        self.postings = 0;
    }

    /// Appends a posting to its term's list. There must be room; `doc` is below 2^24, `tf` from 1 to 255.
    pub fn push(&mut self, term: u32, doc: u32, tf: u32) {
        debug_assert!(!self.is_full(), "the caller looks before");
        let number = self.number_of(term);
        let list = &mut self.lists[number];
        if list.left == 0 {
            let chunk = self.words.len() as u32;
            if list.size == 0 {
                list.first = chunk;
            } else {
                // its last chunk ends here
                self.words[list.at as usize - usize::from(list.size)] = chunk;
            }
            list.size = next_size(list.size);
            (list.at, list.left) = (chunk + 1, list.size - 1);
            self.words.resize(chunk as usize + usize::from(list.size), 0);
        }
        self.words[list.at as usize] = doc << 8 | tf;
        list.at += 1;
        list.left -= 1;
        self.postings += 1;
    }

    /// The number of a term's list, which is made if there is none.
    fn number_of(&mut self, term: u32) -> usize {
        let mask = self.table.len() - 1;
        let mut place = (u64::from(term).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize & mask;
        loop {
            match self.table[place] {
                0 => break,
                number if self.lists[number as usize - 1].term == term => return number as usize - 1,
                _ => place = (place + 1) & mask,
            }
        }
        self.lists.push(List { term, first: 0, at: 0, left: 0, size: 0 });
        self.table[place] = self.lists.len() as u32;
        self.lists.len() - 1
    }

    /// Sorts the terms. No posting can be appended from then on, until [`Self::clear`].
    pub fn sort(&mut self) {
        self.lists.sort_unstable_by_key(|list| list.term);
    }

    /// The postings as keys, list by list.
    pub fn keys(&self) -> impl Iterator<Item = u64> + '_ {
        self.lists.iter().flat_map(move |list| {
            let (mut chunk, mut size) = (list.first as usize, next_size(0));
            let mut at = chunk + 1;
            std::iter::from_fn(move || {
                if at == list.at as usize {
                    return None;
                }
                if at == chunk + usize::from(size) {
                    chunk = self.words[chunk] as usize;
                    size = next_size(size);
                    at = chunk + 1;
                }
                let posting = self.words[at];
                at += 1;
                Some(pack(list.term, posting >> 8, posting & 0xff))
            })
        })
    }
}

/// Words of the chunk behind one of so many.
fn next_size(size: u16) -> u16 {
    if size == 0 { FIRST } else { (2 * size).min(LARGEST) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::pipeline::run::{Run, RunWriter};

    /// Postings come in document order, those of one document in any order of terms.
    fn check(postings: &[(u32, u32, u32)], lists: &mut Lists) {
        postings.iter().for_each(|&(term, doc, tf)| lists.push(term, doc, tf));
        let mut expected: Vec<u64> = postings.iter().map(|&(term, doc, tf)| pack(term, doc, tf)).collect();
        expected.sort_by_key(|key| key >> 32);
        lists.sort();
        assert!(lists.keys().eq(expected));
        assert_eq!(lists.len(), postings.len());
    }

    proptest! {
        #[test]
        fn gives_what_a_stable_sort_gives(
            documents in prop::collection::vec(prop::collection::vec((prop_oneof![0u32..6, 0u32..100, Just(u32::MAX - 1)], 1u32..256), 0..40), 1..60),
        ) {
            let numbered = documents.iter().zip(0..).flat_map(|(doc, i)| doc.iter().map(move |&(term, tf)| (term, i, tf)));
            let postings: Vec<_> = numbered.collect();
            let mut lists = Lists::with_room_for(1 << 16);
            check(&postings, &mut lists);
            lists.clear();
            assert!(lists.is_empty() && lists.keys().next().is_none());
            check(&postings, &mut lists);
        }
    }

    /// Until it says that it is full, it takes every posting and no memory beyond what it set aside.
    #[test]
    fn it_is_full_before_it_grows() {
        for keys in [LEAST, 1 << 12, 5000, 1 << 16] {
            for terms in [1, 7, 300, u32::MAX] {
                let mut lists = Lists::with_room_for(keys);
                let room = |lists: &Lists| (lists.words.capacity(), lists.lists.capacity(), lists.table.len());
                let (before, mut i) = (room(&lists), 0u32);
                while !lists.is_full() {
                    lists.push(i % terms, i, 1);
                    i += 1;
                }
                assert_eq!(room(&lists), before);
                assert!(lists.len() >= keys / 16, "{} of {keys} with {terms} terms", lists.len());
                let bytes = 4 * before.0 + size_of::<List>() * before.1 + 4 * before.2;
                assert!(bytes <= 8 * keys, "{bytes} for {keys} keys");
                // a long list loses little to chunks, so half of a block's bytes hold most of its postings
                assert!(terms > 1 || keys == LEAST || lists.len() > keys * 3 / 4, "{} of {keys}", lists.len());
            }
        }
    }

    /// The run of lists is that of the sorted block, frame by frame.
    #[test]
    fn the_same_run() {
        let dir = tempfile::tempdir().unwrap();
        let mut lists = Lists::with_room_for(1 << 15);
        let mut keys = Vec::new();
        for doc in 0..5_000 {
            for term in [7, doc % 613 * 31, 100_000 + doc % 5] {
                lists.push(term, doc, 1 + doc % 255);
                keys.push(pack(term, doc, 1 + doc % 255));
            }
        }
        keys.sort_unstable();
        lists.sort();
        let frames = |name: &str, write: &dyn Fn(&mut RunWriter) -> crate::Result<Run>| {
            let run = write(&mut RunWriter::create(&dir.path().join(name)).unwrap()).unwrap();
            let frames = run.frames.iter().map(|f| (f.first_key, f.offset, f.bytes, f.keys, f.sum));
            (run.bytes, frames.collect::<Vec<_>>())
        };
        let sorted = frames("sorted", &|writer| writer.write(&keys, 3));
        assert!(sorted.1.len() > 3);
        assert_eq!(frames("lists", &|writer| writer.write_lists(&lists, 3)), sorted);
    }
}
