//#import topk/bucket_select/state

// Counts the hits in the buckets of a round (`number`): a workgroup takes a tile, and counts in its own memory first.

var<workgroup> sizes: array<atomic<u32>, BUCKETS>;

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
    let phase = params.number / ROUNDS;
    let at = state_of(job.query);
    let first = job.part * TILE;
    let end = min(first + TILE, hits_of(job.query));
    if first >= end || !searches(job.query, at, phase) {
        return;
    }
    let range = range_of(at, phase);
    if range.x >= range.y {
        return;
    }
    for (var i = thread; i < BUCKETS; i += THREADS) {
        atomicStore(&sizes[i], 0u);
    }
    workgroupBarrier();
    let base = query_of(job.query).start;
    let score = range_of(at, 0u).x;
    let width = width_of(range);
    for (var i = first + thread; i < end; i += THREADS) {
        let hit = hits[base + i];
        let value = value_of(hit, phase);
        if (phase == 0u || hit.y == score) && value >= range.x && value <= range.y {
            atomicAdd(&sizes[(value - range.x) >> width], 1u);
        }
    }
    workgroupBarrier();
    for (var i = thread; i < BUCKETS; i += THREADS) {
        let size = atomicLoad(&sizes[i]);
        if size > 0u {
            atomicAdd(&tallies[at + STATE_WORDS + i], size);
        }
    }
}
