// Teams of one thread, for adapters without subgroup operations.

struct Me {
    thread: u32,
    team: u32,
}

var<workgroup> partial: array<u32, THREADS>;

// Exclusive sum over the threads of the workgroup.
fn scan(x: u32, me: Me) -> u32 {
    var sum = x;
    for (var distance = 1u; distance < THREADS; distance *= 2u) {
        partial[me.thread] = sum;
        workgroupBarrier();
        if me.thread >= distance {
            sum += partial[me.thread - distance];
        }
        workgroupBarrier();
    }
    return sum - x;
}

// A thread takes ITEMS neighbouring keys.
fn first_of(me: Me) -> u32 {
    return me.thread * ITEMS;
}

fn stride_of(me: Me) -> u32 {
    return 1u;
}

// How many keys of this thread with digit `d` come before this one.
fn rank(d: u32, me: Me) -> u32 {
    return atomicAdd(&bins[bin(d, me.team)], 1u);
}

//#fill team_builtins
    @builtin(local_invocation_index) invocation: u32,
//#end
//#fill me
    let me = Me(invocation, invocation);
//#end
