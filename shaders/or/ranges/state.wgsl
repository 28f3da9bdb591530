//#import shared/scan
//#import shared/classes
//#import queries

// What a batch of queries keeps while it is computed: HEAD_WORDS words for the batch, then STATE_WORDS words for each
// query. The threshold is a score that at least k documents reach.

fn state_of(q: u32) -> u32 {
    return HEAD_WORDS + q * STATE_WORDS;
}

var<workgroup> found: u32;

// The highest of `buckets` buckets at `at` of the state that has, with all above it, `wanted` entries; 0 if none has.
// The whole workgroup calls it; it has no more threads than buckets.
fn highest_bucket(at: u32, buckets: u32, wanted: u32, thread: u32) -> u32 {
    let each = buckets / THREADS;
    let top = buckets - 1u - thread * each;
    var sum = 0u;
    for (var i = 0u; i < each; i++) {
        sum += atomicLoad(&state[at + top - i]);
    }
    if thread == 0u {
        found = 0u;
    }
    let total = sum_up_to(sum, thread);
    if total >= wanted && total - sum < wanted {
        var seen = total - sum;
        for (var i = 0u; i < each; i++) {
            seen += atomicLoad(&state[at + top - i]);
            if seen >= wanted {
                found = top - i;
                break;
            }
        }
    }
    return workgroupUniformLoad(&found);
}

// An upper bound of a score from one of the sum of its terms' steps. Each term's part becomes a whole number, 1 more at
// most; and the sum is cut off.
fn bound_of(query: Query, sum: u32) -> u32 {
    let more = 1u + ((query.terms + (1u << query.bound_shift) - 1u) >> query.bound_shift);
    return min((sum >> query.step_shift) + more, 0xffffu);
}
