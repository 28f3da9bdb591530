// What a batch of queries keeps while it is computed, and the queries themselves.
//
// state: STATE_HEAD words for the batch, then STATE words for each query:
//     threshold, hits, the cuts of all waves but the last, nothing up to 8, BUCKETS counts of scores, BOUND_BUCKETS counts of
//     range bounds.
// The threshold is a score that at least k documents reach.

const STATE_HEAD: u32 = 16u;
const STATE: u32 = 8u + BUCKETS + BOUND_BUCKETS;
const THRESHOLD: u32 = 0u;
const HITS: u32 = 1u;
const CUTS: u32 = 2u;
const SCORES: u32 = 8u;
const RANGE_BOUNDS: u32 = 8u + BUCKETS;

struct Query {
    // number of its first term, and how many it has
    first: u32,
    terms: u32,
    // 1: a document needs all terms
    all: u32,
    k: u32,
    // a range bound is a score shifted right by this and rounded up
    bound_shift: u32,
    // the bucket of a score is that score shifted right by this
    bucket_shift: u32,
}

fn query_of(q: u32) -> Query {
    let a = queries[2u * q];
    let b = queries[2u * q + 1u];
    return Query(a.x, a.y, a.z, a.w, b.x, b.y);
}

fn state_of(q: u32) -> u32 {
    return STATE_HEAD + q * STATE;
}

var<workgroup> found: u32;

// The highest of `buckets` buckets at `at` of the state that has, with all above it, `wanted` entries; 0 if none has. Called by the
// whole workgroup, which has no more threads than there are buckets. Needs scan.wgsl.
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
