//#import votes

// Teams are subgroups, whatever their size; Votes comes from votes_*.wgsl.

struct Me {
    // team * size + lane; nothing says that a thread's local_invocation_index is that
    thread: u32,
    team: u32,
    lane: u32,
    // threads of a team
    size: u32,
}

var<workgroup> team_sums: array<u32, TEAMS>;

// Exclusive sum over the threads of the workgroup.
fn scan(x: u32, me: Me) -> u32 {
    let before = subgroupExclusiveAdd(x);
    if me.lane == me.size - 1u {
        team_sums[me.team] = before + x;
    }
    workgroupBarrier();
    var sum = before;
    for (var i = 0u; i < me.team; i++) {
        sum += team_sums[i];
    }
    workgroupBarrier();
    return sum;
}

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

//#fill team_builtins
    @builtin(subgroup_id) team: u32, @builtin(subgroup_size) size: u32, @builtin(subgroup_invocation_id) lane: u32,
//#end
//#fill me
    let me = Me(team * size + lane, team, lane, size);
//#end
