//! External ids of very many documents.
//!
//! A [`DocSet`] marks documents, [`IdReader::read`] unpacks each block of `docs.zst` that has one of them once, and
//! [`Ids`] has their ids. The reader keeps the ids of blocks that are asked for again, as far as its memory goes.

use super::reader::Index;
use crate::base::in_order::in_order;
use crate::base::means::Means;
use crate::{Error, Result};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Blocks that a task unpacks.
const TASK: usize = 64;

/// A set of docIDs. Threads add to it together.
pub struct DocSet {
    words: Vec<AtomicU64>,
}

impl DocSet {
    /// For docIDs below `documents`.
    pub fn new(documents: u64) -> Self {
        Self { words: (0..documents.div_ceil(64)).map(|_| AtomicU64::new(0)).collect() }
    }

    /// Adds a docID; one that is out of range is left out.
    pub fn add(&self, doc: u32) {
        let Some(word) = self.words.get(doc as usize / 64) else { return };
        // most documents come again, and reading does not take the line from other cores
        let bit = 1 << (doc % 64);
        if word.load(Ordering::Relaxed) & bit == 0 {
            word.fetch_or(bit, Ordering::Relaxed);
        }
    }

    fn word(&self, i: usize) -> u64 {
        self.words.get(i).map_or(0, |word| word.load(Ordering::Relaxed))
    }

    /// The docIDs of a range that are in the set, ascending.
    fn of(&self, range: Range<u32>) -> impl Iterator<Item = u32> {
        let words = range.start as usize / 64..(range.end as usize).div_ceil(64);
        words.flat_map(move |i| {
            let first = 64 * i as u64;
            let mut word = self.word(i);
            let low = u64::from(range.start).saturating_sub(first).min(63);
            word &= u64::MAX << low;
            let high = u64::from(range.end).saturating_sub(first);
            word &= if high < 64 { (1 << high) - 1 } else { u64::MAX };
            std::iter::from_fn(move || {
                let bit = (word != 0).then(|| word.trailing_zeros())?;
                word &= word - 1;
                Some(first as u32 + bit)
            })
        })
    }
}

/// The ids of a [`DocSet`], each as text of the caller's.
pub struct Ids {
    words: Vec<Word>,
    text: String,
    /// Where each member's text ends.
    ends: Vec<usize>,
}

/// 64 docIDs of a set, and the members before them.
struct Word {
    members: u64,
    before: u32,
}

impl Ids {
    /// The texts of documents, in their order; `None` if one is not in the set.
    ///
    /// Each text is three places of memory behind the document, mostly none of them in a cache. All documents take one
    /// step before the next, so that they wait together.
    pub fn texts(&self, docs: impl ExactSizeIterator<Item = u32>) -> Option<Vec<&str>> {
        let mut places = Vec::with_capacity(docs.len());
        for doc in docs {
            let word = self.words.get(doc as usize / 64)?;
            let bit = 1 << (doc % 64);
            if word.members & bit == 0 {
                return None;
            }
            places.push((word.before + (word.members & (bit - 1)).count_ones()) as usize);
        }
        let mut texts = Vec::with_capacity(places.len());
        for at in places {
            let start = if at == 0 { 0 } else { *self.ends.get(at - 1)? };
            texts.push(self.text.get(start..*self.ends.get(at)?)?);
        }
        Some(texts)
    }
}

/// The ids of a block, one behind the other.
struct Block {
    text: Box<str>,
    ends: Box<[u32]>,
}

impl Block {
    fn get(&self, i: usize) -> Option<&str> {
        let start = if i == 0 { 0 } else { *self.ends.get(i - 1)? };
        self.text.get(start as usize..*self.ends.get(i)? as usize)
    }

    fn bytes(&self) -> u64 {
        (size_of::<Self>() + self.text.len() + 4 * self.ends.len()) as u64
    }
}

/// Reads ids of an index, and keeps those of blocks that are asked for often.
pub struct IdReader<'a> {
    index: &'a Index,
    slots: Vec<Slot>,
    /// Bytes that kept blocks may take, and take.
    memory: u64,
    kept: AtomicU64,
    /// A block found no room.
    full: AtomicBool,
}

#[derive(Default)]
struct Slot {
    block: Mutex<Option<Arc<Block>>>,
    /// Calls that asked for the block, halved at times.
    uses: AtomicU8,
}

impl<'a> IdReader<'a> {
    /// Keeps blocks of `memory` bytes, beside 32 bytes for each block of the index.
    pub fn new(index: &'a Index, memory: u64) -> Self {
        let slots = (0..index.names.frames()).map(|_| Slot::default()).collect();
        Self { index, slots, memory, kept: AtomicU64::new(0), full: AtomicBool::new(false) }
    }

    /// The ids of a set, on the threads of `means`; `put` appends an id to a text in the caller's way.
    ///
    /// # Errors
    /// [`Error::Damaged`], [`Error::Interrupted`].
    pub fn read(&mut self, set: DocSet, means: &Means, put: impl Fn(&str, &mut String) + Sync) -> Result<Ids> {
        let (mut text, mut ends) = (String::new(), Vec::new());
        let tasks = self.slots.len().div_ceil(TASK);
        let work = |task: usize| -> Result<(String, Vec<usize>)> {
            let (mut text, mut ends) = (String::new(), Vec::new());
            let mut scratch = (String::new(), Vec::new());
            for i in TASK * task..(TASK * (task + 1)).min(self.slots.len()) {
                let docs = self.index.names.frame_docs(i)?;
                let mut wanted = set.of(docs.clone()).peekable();
                if wanted.peek().is_none() {
                    continue;
                }
                let mut append = |id: &str| {
                    put(id, &mut text);
                    ends.push(text.len());
                };
                match self.kept(i, &mut scratch)? {
                    None => self.index.names.ids_of(i, wanted, append)?,
                    Some(block) => {
                        for doc in wanted {
                            let id = block.get((doc - docs.start) as usize);
                            append(id.ok_or_else(|| self.index.names.no_document(doc))?);
                        }
                    }
                }
            }
            Ok((text, ends))
        };
        in_order::<_, Error>(tasks, means, work, |(part, part_ends)| {
            ends.extend(part_ends.iter().map(|end| text.len() + end));
            text.push_str(&part);
            Ok(())
        })?;
        self.forget();
        let mut count = 0;
        let words = set.words.into_iter().map(|word| {
            let word = Word { members: word.into_inner(), before: count };
            count += word.members.count_ones();
            word
        });
        Ok(Ids { words: words.collect(), text, ends })
    }

    /// A block that is kept from now on, or was. `None` when it is asked for the first time: most queries are few, and
    /// to keep what they ask for takes longer than to read it. `scratch` may hold anything.
    fn kept(&self, i: usize, scratch: &mut (String, Vec<u32>)) -> Result<Option<Arc<Block>>> {
        let (text, ends) = scratch;
        let slot = &self.slots[i];
        let lock = || slot.block.lock().unwrap_or_else(PoisonError::into_inner);
        let uses = slot.uses.load(Ordering::Relaxed);
        slot.uses.store(uses.saturating_add(1), Ordering::Relaxed);
        if let Some(block) = lock().as_ref() {
            return Ok(Some(block.clone()));
        }
        if uses == 0 || self.full.load(Ordering::Relaxed) {
            return Ok(None);
        }
        text.clear();
        ends.clear();
        self.index.names.each_id(i, |id| {
            text.push_str(id);
            ends.push(text.len() as u32);
        })?;
        let block = Block { text: text.as_str().into(), ends: ends.as_slice().into() };
        let bytes = block.bytes();
        let block = Arc::new(block);
        if self.kept.fetch_add(bytes, Ordering::Relaxed) + bytes <= self.memory {
            *lock() = Some(block.clone());
        } else {
            self.kept.fetch_sub(bytes, Ordering::Relaxed);
            self.full.store(true, Ordering::Relaxed);
        }
        Ok(Some(block))
    }

    /// Makes room, if there was none, by the blocks that are asked for least.
    fn forget(&mut self) {
        if !std::mem::take(self.full.get_mut()) {
            return;
        }
        for slot in &mut self.slots {
            let uses = slot.uses.get_mut();
            *uses /= 2;
            let block = slot.block.get_mut().unwrap_or_else(PoisonError::into_inner);
            if *uses == 0
                && let Some(block) = block.take()
            {
                *self.kept.get_mut() -= block.bytes();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::tests::{Plan, build};
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]

        /// By threads, memory for blocks and sets, always the ids of the table.
        #[test]
        fn test_ids_are_those_of_the_table(
            sets in proptest::collection::vec(proptest::collection::vec(0u32..3000, 0..200), 1..8),
            memory in proptest::sample::select(vec![0u64, 5_000, 20_000, 1 << 30]),
            threads in 1usize..4,
        ) {
            let dir = tempfile::tempdir().unwrap();
            let target = dir.path().join("index");
            let ids: Vec<String> = (0..3000).map(|i| format!("http://host-{}.test/{}", i % 7, "p".repeat(i % 40))).collect();
            let docs: Vec<_> = ids.iter().map(|id| (id.as_str(), "", "title", "x")).collect();
            build(&target, &docs, &Plan::default()).unwrap();
            let index = Index::open(&target).unwrap();
            prop_assert!(index.names.frames() > 5);
            let mut reader = IdReader::new(&index, memory);
            for docs in sets {
                let set = DocSet::new(3000);
                docs.iter().for_each(|&doc| set.add(doc));
                set.add(u32::MAX);
                let found = reader.read(set, &Means::new(threads, 1), |id, out| { out.push('<'); out.push_str(id); }).unwrap();
                for doc in 0..3000u32 {
                    let expected = docs.contains(&doc).then(|| vec![format!("<{}", ids[doc as usize])]);
                    let text = found.texts([doc].into_iter());
                    prop_assert_eq!(text.map(|text| text.iter().map(|&id| id.to_owned()).collect()), expected);
                }
                let all: Vec<String> = docs.iter().map(|&doc| format!("<{}", ids[doc as usize])).collect();
                prop_assert_eq!(found.texts(docs.iter().copied()), Some(all.iter().map(String::as_str).collect()));
                prop_assert_eq!(found.texts([3000].into_iter()), None);
                prop_assert_eq!(found.texts([u32::MAX].into_iter()), None);
                let kept: u64 = reader.slots.iter().filter_map(|slot| Some(slot.block.lock().unwrap().as_ref()?.bytes())).sum();
                prop_assert_eq!(kept, reader.kept.load(Ordering::Relaxed));
                prop_assert!(kept <= memory);
            }
        }
    }

    #[test]
    fn test_a_block_is_kept_when_it_is_asked_for_again() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("index");
        build(&target, &[("a", "", "", "x"), ("b", "", "", "x")], &Plan::default()).unwrap();
        let index = Index::open(&target).unwrap();
        let mut reader = IdReader::new(&index, 1 << 20);
        let kept = [0, 1, 2].map(|_| {
            let set = DocSet::new(2);
            set.add(1);
            let ids = reader.read(set, &Means::new(1, 1), |id, out| out.push_str(id)).unwrap();
            assert_eq!([0, 1].map(|doc| ids.texts([doc].into_iter())), [None, Some(vec!["b"])]);
            reader.kept.load(Ordering::Relaxed) > 0
        });
        assert_eq!(kept, [false, true, true]);
    }
}
