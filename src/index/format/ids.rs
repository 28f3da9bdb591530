//! `ids.bin`: external id → docID.
//!
//! ```text
//! [header: 16 words]
//! [start of each bucket, and the end of the last one: a word each]
//! [entries, bucket by bucket: fingerprint, docID, a word each]
//! ```
//! The hash of an id is its XXH3-64, `h`. With `n` documents there are `b = ⌈n / 8⌉` buckets, and the id's bucket is
//! `⌊⌊h / 2^32⌋ · b / 2^32⌋`. Its fingerprint is `h mod 2^32`. Entries of a bucket are sorted by fingerprint and then
//! by docID. A start is a number of entries, from 0 on. That is 8.5 bytes a document, and 4 to 8 for the whole file.
//!
//! A look-up reads one bucket, and compares the id with those of the documents with its fingerprint: of 2^29 look-ups
//! about one meets another document. Documents with the same id have an entry each, in the order of their docIDs.
//!
//! The file is a function of the ids in docID order.

use super::{HEADER_WORDS, Kind, header};
use crate::Result;
use std::ops::Range;
use xxhash_rust::xxh3::xxh3_64;

/// File of ids.
pub(in crate::index) const IDS: &str = "ids.bin";

/// Documents of a bucket, on average.
const BUCKET: usize = 8;

/// Entries that are sorted at a time, at least; and the most parts of a file.
const PART: usize = 1 << 20;
const PARTS: usize = 16;

/// The hash of an id.
pub(in crate::index) fn hash(id: &str) -> u64 {
    xxh3_64(id.as_bytes())
}

fn buckets(documents: usize) -> usize {
    documents.div_ceil(BUCKET)
}

fn bucket(hash: u64, buckets: usize) -> usize {
    ((u128::from(hash >> 32) * buckets as u128) >> 32) as usize
}

/// Words of the file for so many documents.
pub(in crate::index) fn words(documents: usize) -> usize {
    HEADER_WORDS + buckets(documents) + 1 + 2 * documents
}

/// Gives the words of the file, part by part. `hashes` are those of the ids, in docID order. Takes half a byte a
/// document, and 8 bytes for a sixteenth of the documents or for a million of them.
pub(in crate::index) fn write(hashes: &[u64], mut out: impl FnMut(&[u32]) -> Result<()>) -> Result<()> {
    write_parts(hashes, (hashes.len() / PARTS).max(PART), &mut out)
}

fn write_parts(hashes: &[u64], part: usize, out: &mut impl FnMut(&[u32]) -> Result<()>) -> Result<()> {
    out(&header(Kind::Ids, 0))?;
    let buckets = buckets(hashes.len());
    let mut starts = vec![0u32; buckets + 1];
    hashes.iter().for_each(|&hash| starts[bucket(hash, buckets) + 1] += 1);
    for i in 0..buckets {
        starts[i + 1] += starts[i];
    }
    out(&starts)?;
    let mut first = 0;
    while first < buckets {
        // at least one bucket, and then as many as the part has room for
        let most = starts[first] as usize + part;
        let end =
            (first + 1).max(starts.partition_point(|&start| start as usize <= most).saturating_sub(1)).min(buckets);
        let from = starts[first] as usize;
        let mut entries = vec![[0; 2]; starts[end] as usize - from];
        let mut next: Vec<u32> = starts[first..end].iter().map(|&start| start - from as u32).collect();
        for (doc, &hash) in (0..).zip(hashes) {
            let bucket = bucket(hash, buckets);
            if (first..end).contains(&bucket) {
                let at = &mut next[bucket - first];
                entries[*at as usize] = [hash as u32, doc];
                *at += 1;
            }
        }
        for i in first..end {
            entries[starts[i] as usize - from..starts[i + 1] as usize - from].sort_unstable();
        }
        out(entries.as_flattened())?;
        first = end;
    }
    Ok(())
}

/// The docIDs that may have an id, ascending; `None` if the words are damaged. `words` is the whole file, of the length
/// of [`words`].
pub(in crate::index) fn candidates(words: &[u32], documents: usize, id: &str) -> Option<Vec<u32>> {
    let (hash, buckets) = (hash(id), buckets(documents));
    if documents == 0 {
        return Some(Vec::new());
    }
    let (starts, entries) = words.get(HEADER_WORDS..)?.split_at_checked(buckets + 1)?;
    let bucket = bucket(hash, buckets);
    let range: Range<usize> = *starts.get(bucket)? as usize..*starts.get(bucket + 1)? as usize;
    let entries = entries.as_chunks::<2>().0.get(range)?;
    let mut found: Vec<u32> =
        entries.iter().filter(|[fingerprint, _]| *fingerprint == hash as u32).map(|[_, doc]| *doc).collect();
    found.dedup();
    found.iter().all(|&doc| (doc as usize) < documents).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn file(hashes: &[u64], part: usize) -> Vec<u32> {
        let mut words = Vec::new();
        let mut out = |part: &[u32]| {
            words.extend(part);
            Ok(())
        };
        write_parts(hashes, part, &mut out).unwrap();
        words
    }

    /// The entries in the order of the file, the obvious way.
    fn sorted(hashes: &[u64]) -> Vec<[u32; 2]> {
        let of = |(doc, &hash): (u32, &u64)| (bucket(hash, buckets(hashes.len())), hash as u32, doc);
        let mut all: Vec<_> = (0..).zip(hashes).map(of).collect();
        all.sort_unstable();
        all.into_iter().map(|(_, fingerprint, doc)| [fingerprint, doc]).collect()
    }

    proptest! {
        #[test]
        fn test_the_file_does_not_depend_on_parts(numbers in proptest::collection::vec(0u32..300, 0..400), part in 1usize..500) {
            let ids: Vec<String> = numbers.iter().map(|number| format!("id{number}")).collect();
            let hashes: Vec<u64> = ids.iter().map(|id| hash(id)).collect();
            let words = file(&hashes, part);
            prop_assert_eq!(words.len(), super::words(ids.len()));
            prop_assert!(4 * (words.len() - HEADER_WORDS) <= 12 * ids.len() + 4);
            prop_assert_eq!(&words, &file(&hashes, usize::MAX >> 1));
            let entries = sorted(&hashes);
            prop_assert_eq!(&words[words.len() - 2 * ids.len()..], entries.as_flattened());
            for number in 0..300 {
                let wanted = (0..).zip(&numbers).filter(|(_, n)| **n == number).map(|(doc, _)| doc).collect::<Vec<u32>>();
                prop_assert_eq!(candidates(&words, ids.len(), &format!("id{number}")).unwrap(), wanted);
            }
        }

        #[test]
        fn test_any_words_give_docids_or_nothing(mut words: Vec<u32>, documents in 0usize..40, id: String) {
            if let Some(found) = candidates(&words, documents, &id) {
                prop_assert!(found.iter().all(|&doc| (doc as usize) < documents));
            }
            words.resize(super::words(documents), 0);
            words.iter_mut().for_each(|word| *word %= 64);
            if let Some(found) = candidates(&words, documents, &id) {
                prop_assert!(found.len() <= documents && found.iter().all(|&doc| (doc as usize) < documents));
            }
        }
    }

    #[test]
    fn test_the_greatest_hash_is_in_the_last_bucket() {
        for buckets in [1, 2, 3, 1 << 29] {
            assert_eq!((bucket(0, buckets), bucket(u64::MAX, buckets)), (0, buckets - 1));
        }
    }
}
