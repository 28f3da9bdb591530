//! A thread a docID, within its hash bucket.

use super::{ANYWHERE, GpuIntersect, HALVES, HEADERS, Intersector, On, Recipe, Table, elements, headers};
use crate::codec::{Domain, Param};

const BUCKET: Param = Param {
    name: "bucket",
    about: "postings of a bucket, about: buckets are as few as hold no more each if docIDs are even",
    domain: Domain::Whole { from: 16, to: 512, step: 16 },
    default: "256",
};

/// `hs`.
pub static HS: Intersector = Intersector {
    name: "hs",
    about: "as gpu-binary, but only in the hash bucket of a docID, which its high bits are; pointers to buckets are kept with the list",
    paper: "Ao et al.: Efficient parallel lists intersection and index compression (PVLDB 4(8), 2011), section 4.4",
    on: On::Gpu(GpuIntersect {
        params: &[BUCKET, HEADERS],
        make: |settings, codec| {
            let rule = [include_str!("../../../../shaders/intersect/hs.wgsl"), HALVES];
            let bucket = settings.get(BUCKET.name);
            Ok(Recipe {
                table: Some(Box::new(move |list| {
                    let mut docs = Vec::new();
                    list.decode_all(&mut docs)?;
                    Ok(table(&docs, list.documents, bucket))
                })),
                ..elements(codec, headers(settings, codec), &rule.concat(), ANYWHERE)
            })
        },
    }),
};

/// Where the buckets of a list start, and behind them where the last one ends. With `k` the bits of the greatest docID that there may be and `m` the least number with
/// `len <= bucket 2^m`, the bucket of `x` is `x >> (k - m)`.
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
        // 8 bits, 48 postings in buckets of 16: four buckets of 64 docIDs, of which the third is empty and the last not there
        let docs: Vec<u32> = (0..40).chain(64..72).collect();
        assert_eq!(table(&docs, 255, 16), Table { numbers: [0, 6, 2], words: vec![0, 40, 48] });
        let docs = [1, 200];
        assert_eq!(table(&docs, 255, 16), Table { numbers: [0, 8, 1], words: vec![0, 2] });
        let docs: Vec<u32> = (0..40).chain([255]).collect();
        assert_eq!(table(&docs, 255, 16).words, [0, 40, 40, 40, 41]);
    }
}
