// How many results of each query are in which class of scores: a workgroup THREADS times SPAN results, which it counts in its own
// memory first.

var<workgroup> counts: array<atomic<u32>, CLASSES>;

@compute @workgroup_size(THREADS)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) grid: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
    //TEAM_BUILTINS
) {
    //TEAM
    let own = number_of(me);
    let number = group.y * grid.x + group.x;
    if number >= params.jobs {
        return;
    }
    let job = jobs[params.first + number];
    let query = query_of(job.x);
    let last = last_round(query);
    let first = job.y * THREADS * SPAN;
    let end = min(first + THREADS * SPAN, count_of(job.x, last));
    if first >= end {
        return;
    }
    for (var c = own; c < CLASSES; c += THREADS) {
        atomicStore(&counts[c], 0u);
    }
    workgroupBarrier();
    for (var i = first + own; i < end; i += THREADS) {
        let score = scores[slot_of(query, last, i)];
        atomicAdd(&counts[min(score >> CLASS_SHIFT, CLASSES - 1u)], 1u);
    }
    workgroupBarrier();
    for (var c = own; c < CLASSES; c += THREADS) {
        let count = atomicLoad(&counts[c]);
        if count > 0u {
            atomicAdd(&state[class_of(job.x, c)], count);
        }
    }
}
