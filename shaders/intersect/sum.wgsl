// How many candidates of each THREADS slots stay.

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
    let count = count_of(job.x, params.round - 1u);
    if job.y * THREADS >= count {
        return;
    }
    var flag = 0u;
    if i < count {
        flag = flags[query.start + i];
    }
    let all = scan(flag, me).y;
    if own == 0u {
        sums[query.start / THREADS + job.y] = all;
    }
}
