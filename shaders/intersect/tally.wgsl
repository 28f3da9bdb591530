// How many results of each query are in which class of scores: a workgroup THREADS results.

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
    let i = job.y * THREADS + own;
    let last = last_round(query);
    if i < count_of(job.x, last) {
        let score = scores[slot_of(query, last, i)];
        atomicAdd(&state[class_of(job.x, score >> CLASS_SHIFT)], 1u);
    }
}
