//! Queries of like size together, so that none in a batch waits long for the slowest.

use super::{Batching, in_pieces};

/// `buckets`.
pub static BUCKETS: Batching = Batching {
    name: "buckets",
    about: "so many queries of like size at a time: shortest lists below 10K in steps of 1K, below 100K in steps of 10K, longer ones",
    paper: "Wu et al.: A batched GPU algorithm for set intersection (I-SPAN 2009), section IV",
    parameter: ("size", "how many queries a batch has", 1024),
    pack,
};

/// Ten of 1,000 lengths, nine of 10,000, and one for all longer lists.
const BUCKET_COUNT: usize = 20;

/// The bucket of a length.
pub(in crate::query) fn bucket(length: u32) -> usize {
    match length {
        0..10_000 => length as usize / 1_000,
        10_000..100_000 => 9 + length as usize / 10_000,
        _ => BUCKET_COUNT - 1,
    }
}

fn pack(shortest: &[u32], size: u64) -> Vec<Vec<usize>> {
    let mut buckets = vec![Vec::new(); BUCKET_COUNT];
    for (query, &length) in shortest.iter().enumerate() {
        buckets[bucket(length)].push(query);
    }
    buckets.into_iter().flat_map(|bucket| in_pieces(bucket, size)).collect()
}
