//! A thread a docID, within its hash bucket.

use super::{AndMethod, GpuAnd};
use crate::codec::{Domain, Param};
use crate::gpu::wgsl;
use crate::query::gpu::recipe::{ANYWHERE, GpuIntersect, HEADERS, Recipe, Table, elements};

const BUCKET: Param = Param {
    name: "bucket",
    about: "postings per bucket, roughly: the fewest buckets that hold no more each if docIDs are evenly spread",
    domain: Domain::Whole { from: 16, to: 512, step: 16 },
    default: "256",
};

/// `hs`.
pub static HS: AndMethod = AndMethod {
    name: "hs",
    short: "hs",
    about: "as gpu-binary, but only in the docID's hash bucket, given by its high bits; pointers to buckets are kept with the list",
    paper: "Ao et al.: Efficient parallel lists intersection and index compression (PVLDB 4(8), 2011), section 4.4",
    cpu: None,
    gpu: Some(GpuAnd::Candidates(GpuIntersect {
        params: &[BUCKET, HEADERS],
        make: |settings, codec| {
            let bucket = settings.get(BUCKET.name);
            Ok(Recipe {
                table: Some(Box::new(move |list| {
                    let mut docs = Vec::new();
                    list.decode_all(&mut docs)?;
                    Ok(table(&docs, list.documents, bucket))
                })),
                ..elements(settings, codec, wgsl!("and/hs"), ANYWHERE)
            })
        },
    })),
};

/// The starts of a list's buckets, and the end of the last one. With `k` the bits of the greatest possible docID and
/// `m` the least number with `len <= bucket 2^m`, the bucket of `x` is `x >> (k - m)`.
fn table(docs: &[u32], documents: u32, bucket: u32) -> Table {
    let k = u32::BITS - (documents.max(1) - 1).leading_zeros();
    let m = (docs.len() as u32).div_ceil(bucket).max(1).next_power_of_two().ilog2();
    let shift = k.saturating_sub(m).min(31);
    let mut words = Vec::new();
    for (position, &doc) in (0u32..).zip(docs) {
        let needed = (doc >> shift) as usize + 1;
        if words.len() < needed {
            words.resize(needed, position);
        }
    }
    let buckets = words.len() as u32;
    words.push(docs.len() as u32);
    Table { numbers: [0, shift, buckets], words }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_buckets_start_where_their_docids_are() {
        // 8 bits, 48 postings in buckets of 16: four buckets of 64 docIDs; the third is empty and the last does not
        // exist
        let docs: Vec<u32> = (0..40).chain(64..72).collect();
        assert_eq!(table(&docs, 255, 16), Table { numbers: [0, 6, 2], words: vec![0, 40, 48] });
        let docs = [1, 200];
        assert_eq!(table(&docs, 255, 16), Table { numbers: [0, 8, 1], words: vec![0, 2] });
        let docs: Vec<u32> = (0..40).chain([255]).collect();
        assert_eq!(table(&docs, 255, 16).words, [0, 40, 40, 40, 41]);
    }
}
