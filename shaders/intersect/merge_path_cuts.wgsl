// Where each part starts: a thread a part.

@compute @workgroup_size(THREADS)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) grid: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
    //TEAM_BUILTINS
) {
    //TEAM
    let own = number_of(me);
    let number = (group.y * grid.x + group.x) * THREADS + own;
    if number >= params.jobs {
        return;
    }
    let job = jobs[params.first + number];
    let query = query_of(job.x);
    let t = term_of(query.first + params.round);
    let count = count_of(job.x, params.round - 1u);
    var at = vec2<u32>(count, t.blocks);
    let d = job.y * WEIGHT;
    if d < count + t.blocks * BLOCK && !far(t, count) {
        at = cut(query, t, count, d);
    }
    heads[2u * number] = at.x;
    heads[2u * number + 1u] = at.y;
}
