// Sums over the threads of a workgroup. A team is a subgroup, whatever its size.

struct Me {
    // team * size + lane; nothing says that a thread's local_invocation_index is that
    thread: u32,
    team: u32,
    lane: u32,
    // threads of a team
    size: u32,
}

var<workgroup> team_sums: array<u32, TEAMS>;

// Exclusive sum over the threads of the workgroup. Callers that have diverged put a barrier before it.
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

//#fill team_builtins
    @builtin(subgroup_id) team: u32, @builtin(subgroup_size) size: u32, @builtin(subgroup_invocation_id) lane: u32,
//#end
//#fill me
    let me = Me(team * size + lane, team, lane, size);
//#end
