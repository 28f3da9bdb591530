//#import and/halves

// Parallel Merge Find.

fn key_of(t: Term, i: u32, blocks: bool) -> u32 {
    return first_of(t, i);
}

// The blocks that candidate i may fall into if each `step`-th of all `count` is known; all if step is 0.
fn blocks_between(query: Query, t: Term, i: u32, count: u32, step: u32) -> vec2<u32> {
    if step == 0u {
        return vec2<u32>(0u, t.blocks);
    }
    let before = i - i % step;
    let low = min(heads[query.start + before], t.blocks - 1u);
    var high = t.blocks - 1u;
    if before + step < count {
        high = min(heads[query.start + before + step], high);
    }
    // in damaged lists they may fall
    return vec2<u32>(low, max(low, high) + 1u);
}
