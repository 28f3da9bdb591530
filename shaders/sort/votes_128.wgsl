// Which lanes of a subgroup of at most 128 say yes.
alias Votes = vec4<u32>;

fn votes(yes: bool) -> Votes {
    return subgroupBallot(yes);
}

fn lowest(v: Votes) -> u32 {
    for (var word = 0u; word < 3u; word++) {
        if v[word] != 0u {
            return word * 32u + firstTrailingBit(v[word]);
        }
    }
    return 96u + firstTrailingBit(v.w);
}

fn count(v: Votes) -> u32 {
    let ones = countOneBits(v);
    return ones.x + ones.y + ones.z + ones.w;
}

// The lanes before this one.
fn below(lane: u32) -> Votes {
    let part = (1u << (lane & 31u)) - 1u;
    let word = vec4<u32>(lane / 32u);
    let index = vec4<u32>(0u, 1u, 2u, 3u);
    return select(select(vec4<u32>(0u), vec4<u32>(part), word == index), vec4<u32>(0xffffffffu), index < word);
}
