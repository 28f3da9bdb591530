//#import codec/gaps
//#import numbers

// simple9 and simple16: a block is an array of gaps; see simple_array.wgsl.

fn decode_block(block: Block, me: Me) -> Docs {
    let n = block.len - 1u;
    // A word per number, and one more for each of 16 numbers that are too wide: not more than 143.
    let words = n + 16u;
    let done = numbers_of_rows(block.at, 0u, words, 0u, 0u, n, me);
    _ = numbers_of_rows(block.at, 0u, words, 96u, done, n, me);
    team_barrier();
    let i = me.base + 4u * me.lane;
    var gaps: Docs;
    gaps[0] = vec4<u32>(scratch[i], scratch[i + 1u], scratch[i + 2u], scratch[i + 3u]);
    return docs_of_gaps(block.first, gaps, me);
}
