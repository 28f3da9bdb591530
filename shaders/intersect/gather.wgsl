// The results of all queries side by side: docIDs, or (docID, score).

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
    if i >= count_of(job.x, last) {
        return;
    }
    let slot = slot_of(query, last, i);
    let place = atomicLoad(&state[COUNTS + 2u * params.queries + job.x]) + i;
    let head = COUNTS + params.queries;
    if params.ranked == 1u {
        results[head + 2u * place] = candidates[slot];
        results[head + 2u * place + 1u] = scores[slot];
    } else {
        results[head + place] = candidates[slot];
    }
}
