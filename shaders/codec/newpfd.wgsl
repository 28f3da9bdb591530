//#import codec/gaps
//#import numbers

// newpfd and optpfd: slots of b bits, then a Simple-16 array with the places of the exceptions and their high parts.
// scratch: 256 numbers of the array, and an addend for each of 128 slots.

fn decode_block(block: Block, me: Me) -> Docs {
    let m = block.len - 1u;
    let places = 32u - countLeadingZeros(m);
    let head = word(block.at);
    let b = head & 31u;
    let count = min(extractBits(head, 5u, places), m);
    let array_at = 5u + places + m * b;

    let i = 4u * me.lane;
    let sum = me.base + 256u + i;
    scratch[sum] = 0u;
    scratch[sum + 1u] = 0u;
    scratch[sum + 2u] = 0u;
    scratch[sum + 3u] = 0u;
    // Four places or more in a word, then a word for each high part, and one more for 16 of them: not more than 175.
    let words = (count + 3u) / 4u + count + 16u;
    let done = numbers_of_rows(block.at, array_at, words, 0u, 0u, 2u * count, me);
    _ = numbers_of_rows(block.at, array_at, words, 96u, done, 2u * count, me);
    team_barrier();
    let step = me.base + i;
    let steps = vec4<u32>(scratch[step], scratch[step + 1u], scratch[step + 2u], scratch[step + 3u]) + vec4<u32>(1u);
    let sums = running(steps);
    let at = vec4<u32>(team_sum_before(sums.w, me)) + sums - vec4<u32>(1u);
    let high = step + count;
    let slots = me.base + 256u;
    if i < count {
        scratch[slots + (at.x & 127u)] = scratch[high] + 1u;
    }
    if i + 1u < count {
        scratch[slots + (at.y & 127u)] = scratch[high + 1u] + 1u;
    }
    if i + 2u < count {
        scratch[slots + (at.z & 127u)] = scratch[high + 2u] + 1u;
    }
    if i + 3u < count {
        scratch[slots + (at.w & 127u)] = scratch[high + 3u] + 1u;
    }
    team_barrier();
    let low = 5u + places + b * i;
    let highs = vec4<u32>(scratch[sum], scratch[sum + 1u], scratch[sum + 2u], scratch[sum + 3u]);
    let lows = vec4<u32>(
        field(block.at, low, b),
        field(block.at, low + b, b),
        field(block.at, low + 2u * b, b),
        field(block.at, low + 3u * b, b),
    );
    var gaps: Docs;
    gaps[0] = lows | (highs << vec4<u32>(b));
    return docs_of_gaps(block.first, gaps, me);
}
