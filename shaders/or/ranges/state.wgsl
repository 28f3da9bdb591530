//#import shared/scan
//#import shared/classes
//#import queries

// What a batch of queries keeps while it is computed: HEAD_WORDS words for the batch, then STATE_WORDS words for each
// query. The threshold is a score that at least k documents reach.

fn state_of(q: u32) -> u32 {
    return HEAD_WORDS + q * STATE_WORDS;
}

var<workgroup> found: u32;
// a thread's number, and how many entries there are above its buckets
var<workgroup> finder: vec2<u32>;

// The highest of `buckets` buckets at `at` of the state that has, with all above it, `wanted` entries; 0 if none has.
// The whole workgroup calls it. It has no more threads than buckets, and a thread has no more buckets than there are
// threads: those of one of them are looked through by all at once. Entries may come meanwhile.
fn highest_bucket(at: u32, buckets: u32, wanted: u32, thread: u32) -> u32 {
    let each = buckets / THREADS;
    let top = at + buckets - 1u;
    var sum = 0u;
    for (var i = 0u; i < each; i++) {
        sum += atomicLoad(&state[top - thread * each - i]);
    }
    if thread == 0u {
        found = 0u;
        finder = vec2<u32>(THREADS, 0u);
    }
    let total = sum_up_to(sum, thread);
    if total >= wanted && total - sum < wanted {
        finder = vec2<u32>(thread, total - sum);
    }
    let its = workgroupUniformLoad(&finder);
    if its.x == THREADS {
        return 0u;
    }
    let place = its.x * each + thread;
    var one = 0u;
    if thread < each {
        one = atomicLoad(&state[top - place]);
    }
    let seen = its.y + sum_up_to(one, thread);
    if thread < each && seen >= wanted && seen - one < wanted {
        found = buckets - 1u - place;
    }
    return workgroupUniformLoad(&found);
}

// An upper bound of a score from one of the sum of its terms' steps. Each term's part becomes a whole number, 1 more at
// most; and the sum is cut off.
fn bound_of(query: Query, sum: u32) -> u32 {
    return bounds_of(query, vec4<u32>(sum)).x;
}

// The same of four.
fn bounds_of(query: Query, sums: vec4<u32>) -> vec4<u32> {
    let more = 1u + ((query.terms + (1u << query.bound_shift) - 1u) >> query.bound_shift);
    return min((sums >> vec4<u32>(query.step_shift)) + vec4<u32>(more), vec4<u32>(0xffffu));
}
