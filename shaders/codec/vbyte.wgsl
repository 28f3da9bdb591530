//#import codec/gaps

// vbyte: a word a thread, in rounds until all gaps are there; 127 of them have at most 635 bytes. Each thread counts
// the gaps that end in its word, a prefix sum numbers them, and each thread writes its own where they belong.

// The bytes behind the last end of a gap in `word`, joined; `open` says how many.
fn joined(word: u32, open: u32) -> u32 {
    let bytes = (word >> 1u) >> (31u - 8u * min(open, 3u));
    let b = select(bytes, word, open == 4u);
    return (b & 0x7fu) | ((b & 0x7f00u) >> 1u) | ((b & 0x7f0000u) >> 2u) | ((b & 0x7f000000u) >> 3u);
}

fn decode_block(block: Block, me: Me) -> Docs {
    let m = block.len - 1u;
    // how many gaps end before the round
    var done = 0u;
    for (var round = 0u; round < 5u; round++) {
        let i = 32u * round + me.lane;
        // The whole team reads, or none of it; the sums are for all teams alike.
        let reads = done < m;
        var four = 0u;
        var before = 0u;
        if reads {
            four = word(block.at + i);
            before = select(word(block.at + i - 1u), 0u, i == 0u);
        }
        let ends = countOneBits(~four & 0x80808080u);
        var k = done + team_sum_before(ends, me);
        done = team_read(k + ends, 31u, me);
        if reads && k < m {
            // The bytes in the word before of the gap that ends in this one: at most four.
            let open = countLeadingZeros(~(before | 0x7f7f7f7fu)) >> 3u;
            var gap = joined(before, open);
            var shift = 7u * open;
            for (var j = 0u; j < 4u; j++) {
                gap |= (four & 0x7fu) << (shift & 31u);
                shift += 7u;
                if (four & 0x80u) == 0u {
                    // 127 and more are not the block's
                    scratch[me.base + min(k, 127u)] = gap;
                    k++;
                    gap = 0u;
                    shift = 0u;
                }
                four >>= 8u;
            }
        }
    }
    team_barrier();
    let i = me.base + 4u * me.lane;
    var gaps: Docs;
    gaps[0] = vec4<u32>(scratch[i], scratch[i + 1u], scratch[i + 2u], scratch[i + 3u]);
    return docs_of_gaps(block.first, gaps, me);
}
