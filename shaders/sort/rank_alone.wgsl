//#import sort/sums_alone

// Ranks by teams of one thread, for adapters without subgroup operations.

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
