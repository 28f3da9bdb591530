//#import votes
//#import sort/sums_subgroup

// Ranks by subgroups; Votes comes from votes_*.wgsl.

// A team takes TILE / teams neighbouring keys, in rows of one key a lane.
fn first_of(me: Me) -> u32 {
    return me.team * me.size * ITEMS + me.lane;
}

fn stride_of(me: Me) -> u32 {
    return me.size;
}

// How many keys of the team with digit `d` come before this one. All lanes call it together, row by row.
fn rank(d: u32, me: Me) -> u32 {
    var peers = votes(true);
    // for each bit of the digit
    //#for RADIX_BITS
    let one@ = ((d >> @u) & 1u) == 1u;
    let yes@ = votes(one@);
    peers &= select(~yes@, yes@, one@);
    //#end
    // the lowest lane of those with this digit counts for all of them
    let leader = lowest(peers);
    var before = 0u;
    if me.lane == leader {
        before = atomicAdd(&bins[bin(d, me.team)], count(peers));
    }
    return subgroupShuffle(before, leader) + count(peers & below(me.lane));
}
