//#import topk/radix_sort/state

// How many hits of each tile have which digit: a workgroup takes a tile.

const COPIES: u32 = 4u;

// threads that take turns count in different copies
var<workgroup> sizes: array<atomic<u32>, DIGITS * COPIES>;

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
    let first = job.part * TILE;
    let end = min(first + TILE, hits_of(job.query));
    if first >= end {
        return;
    }
    for (var i = thread; i < DIGITS * COPIES; i += THREADS) {
        atomicStore(&sizes[i], 0u);
    }
    workgroupBarrier();
    let base = query_of(job.query).start;
    let moved = moved_to(job.query);
    for (var i = first + thread; i < end; i += THREADS) {
        atomicAdd(&sizes[(thread % COPIES) * DIGITS + digit_of(hit_at(base, moved, i))], 1u);
    }
    workgroupBarrier();
    if thread < DIGITS {
        var sum = 0u;
        for (var copy = 0u; copy < COPIES; copy++) {
            sum += atomicLoad(&sizes[copy * DIGITS + thread]);
        }
        let counters = counters_of(job.query);
        atomicStore(&tallies[counters.x + thread * counters.y + job.part], sum);
    }
}
