// A team is a subgroup of exactly 32 threads.

// The sum of x over the team's threads before this one.
fn team_sum_before(x: u32, me: Me) -> u32 {
    return subgroupExclusiveAdd(x);
}

// The sum of x over the whole team.
fn team_sum(x: u32, me: Me) -> u32 {
    return subgroupAdd(x);
}

// The greatest x of the threads up to and including this one.
fn team_max_up_to(x: u32, me: Me) -> u32 {
    var greatest = x;
    for (var distance = 1u; distance < 32u; distance *= 2u) {
        let other = subgroupShuffleUp(greatest, distance);
        greatest = select(greatest, max(greatest, other), me.lane >= distance);
    }
    return greatest;
}

// The greatest x of the whole team.
fn team_max(x: u32, me: Me) -> u32 {
    return subgroupMax(x);
}

// The x of another thread of the team, lane `source` & 31.
fn team_read(x: u32, source: u32, me: Me) -> u32 {
    return subgroupShuffle(x, source & 31u);
}

// 128 flags: those that threads with `valid` name, 0 to 127.
fn team_flags(flag: u32, valid: bool, me: Me) -> vec4<u32> {
    let mine = vec4<u32>(flag >> 5u) == vec4<u32>(0u, 1u, 2u, 3u);
    return subgroupOr(select(vec4<u32>(0u), vec4<u32>(1u << (flag & 31u)), mine & vec4<bool>(valid)));
}

// After this the whole team sees the team's writes to `scratch`.
fn team_barrier() {
    workgroupBarrier();
}

//#fill team_builtins
    @builtin(subgroup_id) team: u32, @builtin(subgroup_invocation_id) lane: u32,
//#end
//#fill me
    let me = Me(lane, team, team * SCRATCH);
//#end
