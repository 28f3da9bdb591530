//#import topk/radix_sort/state

// The first k hits of each query: a workgroup takes THREADS of them.

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
    let i = part * THREADS + thread;
    if i < min(hits_of(q), params.k) {
        put(best_of(q), i, hit_at(query_of(q).start, moved_to(q), i));
    }
}
