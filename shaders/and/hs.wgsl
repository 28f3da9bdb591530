//#import and/halves

// Hash buckets: the places of the postings of each 2^shift docIDs.
fn range_of(t: Term, row: u32, doc: u32) -> vec2<u32> {
    let kept = table_of(row);
    let bucket = doc >> (kept.y & 31u);
    if bucket >= kept.z {
        return vec2<u32>(0u, 0u);
    }
    return vec2<u32>(tables[kept.x + bucket], tables[kept.x + bucket + 1u]);
}
