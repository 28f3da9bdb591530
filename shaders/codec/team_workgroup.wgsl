// A team is 32 neighbouring threads of the workgroup that communicate through workgroup memory: for adapters without
// subgroups, or with subgroups of another size.

var<workgroup> team_words: array<u32, TEAMS * 32>;

// The sum of x over the team's threads before this one.
fn team_sum_before(x: u32, me: Me) -> u32 {
    let mine = me.team * 32u + me.lane;
    var sum = x;
    for (var distance = 1u; distance < 32u; distance *= 2u) {
        team_words[mine] = sum;
        workgroupBarrier();
        if me.lane >= distance {
            sum += team_words[mine - distance];
        }
        workgroupBarrier();
    }
    return sum - x;
}

// The sum of x over the whole team.
fn team_sum(x: u32, me: Me) -> u32 {
    return team_read(team_sum_before(x, me) + x, 31u, me);
}

// The greatest x of the threads up to and including this one.
fn team_max_up_to(x: u32, me: Me) -> u32 {
    let mine = me.team * 32u + me.lane;
    var greatest = x;
    for (var distance = 1u; distance < 32u; distance *= 2u) {
        team_words[mine] = greatest;
        workgroupBarrier();
        if me.lane >= distance {
            greatest = max(greatest, team_words[mine - distance]);
        }
        workgroupBarrier();
    }
    return greatest;
}

// The greatest x of the whole team.
fn team_max(x: u32, me: Me) -> u32 {
    return team_read(team_max_up_to(x, me), 31u, me);
}

// The x of another thread of the team, lane `source` & 31.
fn team_read(x: u32, source: u32, me: Me) -> u32 {
    team_words[me.team * 32u + me.lane] = x;
    workgroupBarrier();
    let other = team_words[me.team * 32u + (source & 31u)];
    workgroupBarrier();
    return other;
}

var<workgroup> team_bits: array<atomic<u32>, TEAMS * 4>;

// 128 flags: those that threads with `valid` name, 0 to 127.
fn team_flags(flag: u32, valid: bool, me: Me) -> vec4<u32> {
    let first = me.team * 4u;
    if me.lane < 4u {
        atomicStore(&team_bits[first + me.lane], 0u);
    }
    workgroupBarrier();
    if valid {
        atomicOr(&team_bits[first + ((flag >> 5u) & 3u)], 1u << (flag & 31u));
    }
    workgroupBarrier();
    let flags = vec4<u32>(
        atomicLoad(&team_bits[first]),
        atomicLoad(&team_bits[first + 1u]),
        atomicLoad(&team_bits[first + 2u]),
        atomicLoad(&team_bits[first + 3u]),
    );
    workgroupBarrier();
    return flags;
}

// After this the whole team sees the team's writes to `scratch`.
fn team_barrier() {
    workgroupBarrier();
}

//#fill team_builtins
//#end
//#fill me
    let me = Me(thread & 31u, thread >> 5u, (thread >> 5u) * SCRATCH);
//#end
