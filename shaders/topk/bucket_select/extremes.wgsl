//#import topk/bucket_select/state

// The least and the greatest value of a phase (`number`): a workgroup takes a tile.

var<workgroup> least: atomic<u32>;
var<workgroup> greatest: atomic<u32>;

@compute @workgroup_size(THREADS)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) grid: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let number = group.y * grid.x + group.x;
    if number >= params.jobs {
        return;
    }
    let job = job_of(number);
    let phase = params.number;
    let at = state_of(job.query);
    let first = job.part * TILE;
    let end = min(first + TILE, hits_of(job.query));
    if first >= end || !searches(job.query, at, phase) {
        return;
    }
    if thread == 0u {
        // its complement
        atomicStore(&least, 0u);
        atomicStore(&greatest, 0u);
    }
    workgroupBarrier();
    let base = query_of(job.query).start;
    let score = range_of(at, 0u).x;
    var low = 0xffffffffu;
    var high = 0u;
    for (var i = first + thread; i < end; i += THREADS) {
        let hit = hits[base + i];
        if phase == 0u || hit.y == score {
            let value = value_of(hit, phase);
            low = min(low, value);
            high = max(high, value);
        }
    }
    atomicMax(&least, ~low);
    atomicMax(&greatest, high);
    workgroupBarrier();
    if thread == 0u {
        let words = at + RANGE + 2u * phase;
        atomicMax(&tallies[words], atomicLoad(&least));
        atomicMax(&tallies[words + 1u], atomicLoad(&greatest));
    }
}
