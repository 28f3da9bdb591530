//#import topk/hits

// The k-th best hit is found by counting. The values are cut into buckets of equal width, the bucket with the k-th is
// cut into buckets again, and so on until it holds one value. Then all hits that are no worse are brought together and
// put in order.

const BUCKETS: u32 = 1024u;
const BUCKET_BITS: u32 = 10u;

var<workgroup> sizes: array<atomic<u32>, BUCKETS>;
var<workgroup> least: atomic<u32>;
var<workgroup> greatest: atomic<u32>;
// least and greatest value
var<workgroup> range_now: vec2<u32>;
// the bucket with the k-th value, how many values are in higher ones, and how many in it
var<workgroup> found: vec3<u32>;
var<workgroup> places: atomic<u32>;

// The value to choose a hit by: its score, or among hits of one score its document's place, earlier ones first.
fn value_of(hit: vec2<u32>, by_place: bool) -> u32 {
    if by_place {
        return ~place_of(hit.x);
    }
    return hit.y;
}

// The `wanted`-th greatest value of the n hits at `base`, or with `by_place` of those with this score; how many of the
// wanted ones have just that value, and how many hits have it. n and wanted are at least 1.
fn kth(base: u32, n: u32, wanted: u32, by_place: bool, score: u32, thread: u32) -> vec3<u32> {
    if thread == 0u {
        atomicStore(&least, 0xffffffffu);
        atomicStore(&greatest, 0u);
    }
    workgroupBarrier();
    var low = 0xffffffffu;
    var high = 0u;
    for (var i = thread; i < n; i += THREADS) {
        let hit = hits[base + i];
        if !by_place || hit.y == score {
            low = min(low, value_of(hit, by_place));
            high = max(high, value_of(hit, by_place));
        }
    }
    atomicMin(&least, low);
    atomicMax(&greatest, high);
    workgroupBarrier();
    if thread == 0u {
        range_now = vec2<u32>(atomicLoad(&least), atomicLoad(&greatest));
        found = vec3<u32>(0u, 0u, n);
    }
    let range = workgroupUniformLoad(&range_now);
    low = range.x;
    high = range.y;
    var rest = wanted;
    var there = n;
    while low < high {
        let bits = 32u - countLeadingZeros(high - low);
        let shift = max(bits, BUCKET_BITS) - BUCKET_BITS;
        for (var i = thread; i < BUCKETS; i += THREADS) {
            atomicStore(&sizes[i], 0u);
        }
        workgroupBarrier();
        for (var i = thread; i < n; i += THREADS) {
            let hit = hits[base + i];
            let value = value_of(hit, by_place);
            if (!by_place || hit.y == score) && value >= low && value <= high {
                atomicAdd(&sizes[(value - low) >> shift], 1u);
            }
        }
        workgroupBarrier();
        let each = BUCKETS / THREADS;
        let top = BUCKETS - 1u - thread * each;
        var sum = 0u;
        for (var i = 0u; i < each; i++) {
            sum += atomicLoad(&sizes[top - i]);
        }
        let total = sum_up_to(sum, thread);
        if total >= rest && total - sum < rest {
            var above = total - sum;
            for (var i = 0u; i < each; i++) {
                let size = atomicLoad(&sizes[top - i]);
                if above + size >= rest {
                    found = vec3<u32>(top - i, above, size);
                    break;
                }
                above += size;
            }
        }
        let bucket = workgroupUniformLoad(&found);
        low += bucket.x << shift;
        high = low + min(high - low, (1u << shift) - 1u);
        rest -= bucket.y;
        there = bucket.z;
    }
    return vec3<u32>(low, rest, there);
}

// Puts `count` hits at `at` in order: a bitonic network whose steps all go the same way, so that places behind the last
// hit never move.
fn put_in_order(at: u32, count: u32, thread: u32) {
    for (var size = 2u; size < 2u * count; size *= 2u) {
        for (var distance = size / 2u; distance > 0u; distance /= 2u) {
            storageBarrier();
            for (var t = thread; t < count; t += THREADS) {
                // the first step of a size compares from both ends
                let other = select(t ^ distance, t ^ (size - 1u), distance == size / 2u);
                if t < other && other < count {
                    let a = vec2<u32>(best[at + 2u * t], best[at + 2u * t + 1u]);
                    let b = vec2<u32>(best[at + 2u * other], best[at + 2u * other + 1u]);
                    if better(b, a) {
                        put(at, t, b);
                        put(at, other, a);
                    }
                }
            }
        }
    }
}

@compute @workgroup_size(THREADS)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) grid: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let q = group.y * grid.x + group.x;
    if q >= params.queries {
        return;
    }
    let n = hits_of(q);
    let base = start_of(q);
    // a hit is chosen if it has a greater score, or this one and a place up to that
    var score = 0u;
    var last_place = 0xffffffffu;
    if n > params.k {
        let by_score = kth(base, n, params.k, false, 0u, thread);
        score = by_score.x;
        if by_score.y < by_score.z {
            last_place = ~kth(base, n, by_score.y, true, score, thread).x;
        }
    }
    if thread == 0u {
        atomicStore(&places, 0u);
    }
    workgroupBarrier();
    let at = best_of(q);
    for (var i = thread; i < n; i += THREADS) {
        let hit = hits[base + i];
        if hit.y > score || (hit.y == score && place_of(hit.x) <= last_place) {
            let place = atomicAdd(&places, 1u);
            if place < params.k {
                put(at, place, hit);
            }
        }
    }
    put_in_order(at, min(n, params.k), thread);
    put_counts(q, thread);
}
