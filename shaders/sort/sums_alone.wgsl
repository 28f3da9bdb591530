// Sums over the threads of a workgroup, for adapters without subgroup operations: a team is a thread.

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

//#fill team_builtins
    @builtin(local_invocation_index) invocation: u32,
//#end
//#fill me
    let me = Me(invocation, invocation);
//#end
