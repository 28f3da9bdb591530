//! Hits of queries that came before, and blocks of documents' names.

use crate::Result;
use crate::index::{DocName, Index, NameBlock};
use crate::query::{Hit, Mode, Query};
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What decides the hits of a query in one index, with one kind of scores.
#[derive(Clone, Debug, PartialEq)]
struct Key {
    query: Query,
    mode: Mode,
    k: usize,
}

// weights are never NaN
impl Eq for Key {}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        for (term, weight) in &self.query.terms {
            (term, weight.to_bits()).hash(state);
        }
        (self.mode as u8, self.k).hash(state);
    }
}

/// Bytes of an entry, about.
#[derive(Clone)]
struct Bytes;

impl Weighter<Key, Arc<[Hit]>> for Bytes {
    fn weight(&self, key: &Key, hits: &Arc<[Hit]>) -> u64 {
        let terms: usize = key.query.terms.iter().map(|(term, _)| term.len() + 40).sum();
        (128 + terms + size_of_val(&**hits)) as u64
    }
}

/// Hits of queries that came before, in bounded memory; the least useful make room. For one index and one kind of
/// scores. Order of terms matters only for which entry is found: the hits are the same.
pub struct ResultCache {
    cache: Option<Cache<Key, Arc<[Hit]>, Bytes>>,
    hits: AtomicU64,
    misses: AtomicU64,
}

impl ResultCache {
    /// With room for `bytes` bytes; with 0 it keeps nothing.
    pub fn new(bytes: u64) -> Self {
        let entries = (bytes / 512).clamp(16, 1 << 24) as usize;
        let cache = (bytes > 0).then(|| Cache::with_weighter(entries, bytes, Bytes));
        Self { cache, hits: AtomicU64::new(0), misses: AtomicU64::new(0) }
    }

    /// The hits of a query, if they are there.
    pub fn get(&self, query: &Query, mode: Mode, k: usize) -> Option<Arc<[Hit]>> {
        let found = self.cache.as_ref()?.get(&Key { query: query.clone(), mode, k });
        if found.is_some() { &self.hits } else { &self.misses }.fetch_add(1, Ordering::Relaxed);
        found
    }

    /// Keeps the hits of a query.
    pub fn put(&self, query: &Query, mode: Mode, k: usize, hits: &[Hit]) {
        if let Some(cache) = &self.cache {
            cache.insert(Key { query: query.clone(), mode, k }, hits.into());
        }
    }

    /// How often a query was there, and how often not.
    pub fn counts(&self) -> [u64; 2] {
        [&self.hits, &self.misses].map(|count| count.load(Ordering::Relaxed))
    }

    /// Bytes in use.
    pub fn bytes(&self) -> u64 {
        self.cache.as_ref().map_or(0, Cache::weight)
    }
}

/// Bytes of a block.
#[derive(Clone)]
struct BlockBytes;

impl Weighter<usize, Arc<NameBlock>> for BlockBytes {
    fn weight(&self, _: &usize, block: &Arc<NameBlock>) -> u64 {
        32 + block.bytes()
    }
}

/// Blocks of the document table, inflated, in bounded memory. Documents of one page of results lie in as many blocks,
/// and to inflate one takes longer than to find the page's hits.
pub struct NameCache(Option<Cache<usize, Arc<NameBlock>, BlockBytes>>);

impl NameCache {
    /// With room for `bytes` bytes; with 0 it keeps nothing.
    pub fn new(bytes: u64) -> Self {
        let entries = (bytes / (16 << 10)).clamp(16, 1 << 24) as usize;
        Self((bytes > 0).then(|| Cache::with_weighter(entries, bytes, BlockBytes)))
    }

    /// The names of some documents; a block that is not there is inflated once.
    ///
    /// # Errors
    /// [`Error::Damaged`](crate::Error::Damaged).
    pub fn names(&self, index: &Index, mut docs: Vec<u32>) -> Result<HashMap<u32, Arc<DocName>>> {
        docs.sort_unstable();
        docs.dedup();
        let mut last: Option<(usize, Arc<NameBlock>)> = None;
        let name = |doc: u32| {
            let number = index.name_block_of(doc)?;
            let block = match last.take() {
                Some((of, block)) if of == number => block,
                _ => self.block(index, number)?,
            };
            let name = match block.name(doc) {
                Some(name) => name,
                // says what is damaged, and where
                None => index.name(doc)?,
            };
            last = Some((number, block));
            Ok((doc, Arc::new(name)))
        };
        docs.into_iter().map(name).collect()
    }

    fn block(&self, index: &Index, number: usize) -> Result<Arc<NameBlock>> {
        let read = || index.name_block(number).map(Arc::new);
        match &self.0 {
            Some(cache) => cache.get_or_insert_with(&number, read),
            None => read(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::tests::{Plan, build};

    fn query(words: &[(&str, f32)]) -> Query {
        Query { terms: words.iter().map(|&(word, weight)| (word.to_owned(), weight)).collect() }
    }

    #[test]
    fn test_everything_that_decides_hits_is_in_the_key() {
        let cache = ResultCache::new(1 << 20);
        let hits = [Hit { doc: 7, score: 1.5 }];
        cache.put(&query(&[("a", 1.0), ("b", 2.0)]), Mode::Or, 10, &hits);
        let found = |terms: &[(&str, f32)], mode, k| cache.get(&query(terms), mode, k).is_some();
        assert!(found(&[("a", 1.0), ("b", 2.0)], Mode::Or, 10));
        assert!(!found(&[("a", 1.0), ("b", 1.0)], Mode::Or, 10), "a weight");
        assert!(!found(&[("a", 1.0)], Mode::Or, 10), "a term");
        assert!(!found(&[("a", 1.0), ("b", 2.0)], Mode::And, 10), "the mode");
        assert!(!found(&[("a", 1.0), ("b", 2.0)], Mode::Or, 11), "k");
        assert_eq!(cache.counts(), [1, 4]);
        let none = ResultCache::new(0);
        none.put(&query(&[("a", 1.0)]), Mode::Or, 10, &hits);
        assert!(none.get(&query(&[("a", 1.0)]), Mode::Or, 10).is_none());
    }

    /// With any room the names are those of the index, and blocks stay within the room.
    #[test]
    fn test_names_are_those_of_the_index() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("index");
        let ids: Vec<String> =
            (0..4000).map(|i| format!("http://host-{}.test/{}", i % 7, "p".repeat(i % 40))).collect();
        let docs: Vec<_> = ids.iter().map(|id| (id.as_str(), "", id.get(7..20).unwrap_or(""), "x")).collect();
        build(&target, &docs, &Plan::default()).unwrap();
        let index = Index::open(&target).unwrap();
        assert!(index.name_block_of(3999).unwrap() > 5);
        for bytes in [0, 1, 100_000, 1 << 20] {
            let cache = NameCache::new(bytes);
            for step in [1, 7, 300, 1] {
                let wanted: Vec<u32> = (0..4000).rev().step_by(step).chain([17, 17]).collect();
                let found = cache.names(&index, wanted.clone()).unwrap();
                assert!(
                    wanted.iter().all(|&doc| *found[&doc] == index.name(doc).unwrap()),
                    "{bytes} bytes, step {step}"
                );
                assert!(cache.0.as_ref().is_none_or(|cache| cache.weight() <= bytes));
            }
            assert!(cache.names(&index, vec![3, 4000]).is_err(), "a document that does not exist");
        }
    }

    #[test]
    fn test_memory_is_bounded() {
        let cache = ResultCache::new(64 << 10);
        for number in 0..5_000 {
            cache.put(&query(&[(&number.to_string(), 1.0)]), Mode::Or, 10, &[Hit { doc: number, score: 1.0 }; 10]);
            assert!(cache.bytes() <= 64 << 10);
        }
        assert!(cache.bytes() > 16 << 10, "{}", cache.bytes());
    }
}
