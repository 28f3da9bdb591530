//#import pmf_keys
//#import and/halves

// Parallel Merge Find (Ding et al., WWW 2009, section 7): the last key of a list that is at most a candidate's docID.

// The keys among which candidate i finds its own if that of each `step`-th of all `count` is known; all keys if step is
// 0.
fn keys_between(query: Query, t: Term, i: u32, count: u32, step: u32) -> vec2<u32> {
    let keys = keys_of(t);
    if step == 0u {
        return vec2<u32>(0u, keys);
    }
    let before = i - i % step;
    let low = min(heads[query.start + before], keys - 1u);
    var high = keys - 1u;
    if before + step < count {
        high = min(heads[query.start + before + step], high);
    }
    // in damaged lists they may fall
    return vec2<u32>(low, max(low, high) + 1u);
}

// The key of candidate i, on the last level: of each `step`-th it is known.
fn last_key(query: Query, t: Term, i: u32, count: u32, step: u32, doc: u32) -> u32 {
    if step > 0u && i % step == 0u {
        return min(heads[query.start + i], keys_of(t) - 1u);
    }
    let range = keys_between(query, t, i, count, step);
    return search(t, doc, range.x, range.y, true);
}
