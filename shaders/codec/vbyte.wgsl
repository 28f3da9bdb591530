// vbyte: five words a thread, since 127 gaps have at most 635 bytes. Each thread counts the gaps that end in its
// words, a prefix sum numbers them, and each thread writes its own where they belong.

fn decode_block(block: Block, me: Me) -> Docs {
    let at = block.at + 5u * me.lane;
    var ends = 0u;
    for (var i = 0u; i < 5u; i++) {
        ends += countOneBits(~word(at + i) & 0x80808080u);
    }
    let m = block.len - 1u;
    var k = team_sum_before(ends, me);

    // The bytes before the first word that belong to the gap that ends in it: at most four.
    let before = select(word(at - 1u), 0u, me.lane == 0u);
    let open = countLeadingZeros(~(before | 0x7f7f7f7fu)) >> 3u;
    let bytes = (before >> 1u) >> (31u - 8u * min(open, 3u));
    let start = select(bytes, before, open == 4u);
    var gap = (start & 0x7fu) | ((start & 0x7f00u) >> 1u) | ((start & 0x7f0000u) >> 2u) | ((start & 0x7f000000u) >> 3u);
    var shift = 7u * open;
    for (var i = 0u; i < 5u && k < m; i++) {
        var four = word(at + i);
        for (var j = 0u; j < 4u; j++) {
            gap |= (four & 0x7fu) << (shift & 31u);
            shift += 7u;
            if (four & 0x80u) == 0u {
                // 127 and more are none of the block's
                scratch[me.base + min(k, 127u)] = gap;
                k++;
                gap = 0u;
                shift = 0u;
            }
            four >>= 8u;
        }
    }
    team_barrier();
    let i = me.base + 4u * me.lane;
    var gaps: Docs;
    gaps[0] = vec4<u32>(scratch[i], scratch[i + 1u], scratch[i + 2u], scratch[i + 3u]);
    return docs_of_gaps(block.first, gaps, me);
}
