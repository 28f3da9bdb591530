//#import topk/hits

// The k-th best hit is found by counting. The values are cut into buckets of equal width, the bucket with the k-th is
// cut into buckets again, and so on until it holds one value. There are two phases: the first one goes by score, the
// second one by place in the input among the hits with the k-th score. A phase has ROUNDS rounds. In each the
// workgroups of all tiles count, and then one workgroup a query picks the bucket.
//
// `tallies` has STATE_WORDS words a query, all 0 at first, and behind these words of a query its BUCKETS counters.

// the complement of the least value of a phase, and the greatest, for both phases
const RANGE: u32 = 0u;
// how many hits with the k-th value of a phase are wanted, and how many there are, for both phases
const REST: u32 = 4u;
// how many hits were gathered
const GATHERED: u32 = 8u;

fn state_of(q: u32) -> u32 {
    return q * (STATE_WORDS + BUCKETS);
}

// The least and the greatest value that the k-th may have.
fn range_of(at: u32, phase: u32) -> vec2<u32> {
    let words = at + RANGE + 2u * phase;
    return vec2<u32>(~atomicLoad(&tallies[words]), atomicLoad(&tallies[words + 1u]));
}

fn rest_of(at: u32, phase: u32) -> vec2<u32> {
    let words = at + REST + 2u * phase;
    return vec2<u32>(atomicLoad(&tallies[words]), atomicLoad(&tallies[words + 1u]));
}

// Whether a phase has something to find: not if all hits are wanted, or all of those with the k-th score.
fn searches(q: u32, at: u32, phase: u32) -> bool {
    if hits_of(q) <= params.k {
        return false;
    }
    let rest = rest_of(at, 0u);
    return phase == 0u || rest.x < rest.y;
}

// The value of a hit in a phase. Earlier places are the greater values.
fn value_of(hit: vec2<u32>, phase: u32) -> u32 {
    if phase == 1u {
        return ~place_of(hit.x);
    }
    return hit.y;
}

// The width of a bucket of a range, as a shift.
fn width_of(range: vec2<u32>) -> u32 {
    let bits = 32u - countLeadingZeros(range.y - range.x);
    return max(bits, BUCKET_BITS) - BUCKET_BITS;
}
