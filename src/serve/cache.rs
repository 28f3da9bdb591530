//! Hits of queries that came before, and names of documents that were found.

use crate::index::DocName;
use crate::query::{Hit, Mode, Query};
use quick_cache::Weighter;
use quick_cache::sync::Cache;
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

/// Bytes of a document's names, about.
#[derive(Clone)]
struct NameBytes;

impl Weighter<u32, Arc<DocName>> for NameBytes {
    fn weight(&self, _: &u32, name: &Arc<DocName>) -> u64 {
        (160 + name.id.len() + name.url.len() + name.title.len()) as u64
    }
}

/// Names of documents that were found before, in bounded memory: to read one, a block of some hundred is inflated.
pub struct NameCache(Option<Cache<u32, Arc<DocName>, NameBytes>>);

impl NameCache {
    /// With room for `bytes` bytes; with 0 it keeps nothing.
    pub fn new(bytes: u64) -> Self {
        let entries = (bytes / 512).clamp(16, 1 << 24) as usize;
        Self((bytes > 0).then(|| Cache::with_weighter(entries, bytes, NameBytes)))
    }

    /// The names of a document, if they are there.
    pub fn get(&self, doc: u32) -> Option<Arc<DocName>> {
        self.0.as_ref()?.get(&doc)
    }

    /// Keeps the names of a document.
    pub fn put(&self, doc: u32, name: &Arc<DocName>) {
        if let Some(cache) = &self.0 {
            cache.insert(doc, Arc::clone(name));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
