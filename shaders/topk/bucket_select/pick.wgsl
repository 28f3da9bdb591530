//#import topk/bucket_select/state
//#import shared/scan

// The bucket with the k-th value becomes the range of the next round (`number` is this one): a workgroup takes a query.

// the bucket, how many values are in higher ones, and how many in it
var<workgroup> found: vec3<u32>;

@compute @workgroup_size(THREADS)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) grid: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let q = group.y * grid.x + group.x;
    if q >= params.jobs {
        return;
    }
    let phase = params.number / ROUNDS;
    let at = state_of(q);
    if !searches(q, at, phase) {
        return;
    }
    let range = range_of(at, phase);
    var wanted = rest_of(at, phase);
    if params.number == 0u {
        wanted = vec2<u32>(params.k, hits_of(q));
    } else if params.number == ROUNDS {
        wanted = rest_of(at, 0u);
    }
    // from here on the words of the phase change
    storageBarrier();
    let words = at + REST + 2u * phase;
    if range.x >= range.y {
        if thread == 0u {
            atomicStore(&tallies[words], wanted.x);
            atomicStore(&tallies[words + 1u], wanted.y);
        }
        return;
    }
    let each = BUCKETS / THREADS;
    // the first thread has the highest buckets
    let top = at + STATE_WORDS + BUCKETS - 1u - thread * each;
    var sum = 0u;
    for (var i = 0u; i < each; i++) {
        sum += atomicLoad(&tallies[top - i]);
    }
    let total = sum_up_to(sum, thread);
    if total >= wanted.x && total - sum < wanted.x {
        var above = total - sum;
        for (var i = 0u; i < each; i++) {
            let size = atomicLoad(&tallies[top - i]);
            if above + size >= wanted.x {
                found = vec3<u32>(top - i - at - STATE_WORDS, above, size);
                break;
            }
            above += size;
        }
    }
    // the counters of a thread are read by no other
    for (var i = 0u; i < each; i++) {
        atomicStore(&tallies[top - i], 0u);
    }
    let bucket = workgroupUniformLoad(&found);
    if thread == 0u {
        let width = width_of(range);
        let low = range.x + (bucket.x << width);
        let high = low + min(range.y - low, (1u << width) - 1u);
        atomicStore(&tallies[at + RANGE + 2u * phase], ~low);
        atomicStore(&tallies[at + RANGE + 2u * phase + 1u], high);
        atomicStore(&tallies[words], wanted.x - bucket.y);
        atomicStore(&tallies[words + 1u], bucket.z);
    }
}
