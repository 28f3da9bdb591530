//#import topk/hits

// Puts the chosen hits of each query, which are in `scratch`, in order: the place of a hit is the number of better
// ones. A workgroup takes THREADS of them.

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
    let parts = (params.k + THREADS - 1u) / THREADS;
    let q = number / parts;
    let part = number % parts;
    if part == 0u {
        put_counts(q, thread);
    }
    let count = min(hits_of(q), params.k);
    let i = part * THREADS + thread;
    if i >= count {
        return;
    }
    let first = q * params.k;
    let hit = scratch[first + i];
    var place = 0u;
    for (var other = 0u; other < count; other++) {
        place += select(0u, 1u, better(scratch[first + other], hit));
    }
    put(best_of(q), place, hit);
}
