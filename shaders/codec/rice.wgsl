//#import codec/gap_sums

// rice: 12 bits of the quotients a thread, four remainders a thread; two prefix sums.

fn decode_block(block: Block, me: Me) -> Docs {
    let m = block.len - 1u;
    let b = word(block.at) & 31u;
    let quotients = 5u + m * b;

    // The quotients have less than 3 m bits, which is less than 12 a thread. The zero numbered k at bit p ends
    // number k, and has p - k ones before it.
    let bit = 12u * me.lane;
    var zeros = ~field(block.at, quotients + bit, 12u) & 0xfffu;
    var k = team_sum_before(countOneBits(zeros), me);
    if me.lane == 0u {
        scratch[me.base] = 0u;
    }
    for (var step = 0u; step < 12u && zeros != 0u && k < m; step++) {
        // up to number 126
        scratch[me.base + ((k + 1u) & 127u)] = bit + countTrailingZeros(zeros) - k;
        zeros &= zeros - 1u;
        k++;
    }
    team_barrier();

    let i = 4u * me.lane;
    let ones = vec4<u32>(
        scratch[me.base + i],
        scratch[me.base + i + 1u],
        scratch[me.base + i + 2u],
        scratch[me.base + i + 3u],
    );
    var remainders: Docs;
    remainders[0] = fields(block.at, 5u + i * b, b);
    var docs = gap_sums(block.first, remainders, me);
    docs[0] += ones << vec4<u32>(b);
    return docs;
}
