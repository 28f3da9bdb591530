// The path of a merge of candidates and the blocks of a list, in a grid of candidates by postings, and the diagonals
// that cut it into parts of WEIGHT (Green, McColl and Bader: GPU merge path, ICS 2012). A block counts as BLOCK
// postings at the place of its first docID, so that no block has to be decoded to find the cuts.

// A list this much longer than the candidates is not cut.
fn far(t: Term, count: u32) -> bool {
    return t.df / max(count, 1u) > RATIO;
}

fn candidate(query: Query, i: u32) -> u32 {
    return candidates[slot_of(query, params.round - 1u, i)];
}

// How many candidates, and how many blocks, stand before the diagonal `d`: a block does if the candidates below its
// first docID and the blocks before it take up less than d.
fn cut(query: Query, t: Term, count: u32, d: u32) -> vec2<u32> {
    var low = 0u;
    var high = min(t.blocks, (d + BLOCK - 1u) / BLOCK);
    while low < high {
        let middle = (low + high) >> 1u;
        // d > middle BLOCK
        let x = d - middle * BLOCK;
        let before = x > count || candidate(query, x - 1u) >= first_of(t, middle);
        if before { low = middle + 1u; } else { high = middle; }
    }
    if low == 0u {
        return vec2<u32>(min(d, count), 0u);
    }
    // the last block before the diagonal may reach over it
    let first = first_of(t, low - 1u);
    var least = select(0u, d - low * BLOCK, d > low * BLOCK);
    var most = min(count, d - (low - 1u) * BLOCK);
    least = min(least, most);
    if least > 0u && candidate(query, least - 1u) >= first {
        return vec2<u32>(least, low);
    }
    while least < most {
        let middle = (least + most) >> 1u;
        if candidate(query, middle) < first { least = middle + 1u; } else { most = middle; }
    }
    return vec2<u32>(least, low);
}
