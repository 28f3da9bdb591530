// How many candidates of each THREADS slots stay.

fn work(number: u32, own: u32, me: Me) {
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
