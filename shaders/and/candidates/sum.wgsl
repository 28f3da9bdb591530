//#import and/candidates/candidates

// How many candidates of each THREADS slots stay.

fn work(number: u32, own: u32, me: Me) {
    let job = job_of(params.first + number);
    let query = query_of(job.query);
    let i = job.part * THREADS + own;
    let count = count_of(job.query, params.round - 1u);
    if job.part * THREADS >= count {
        return;
    }
    var flag = 0u;
    if i < count {
        flag = flags[query.start + i];
    }
    let all = scan(flag, me).y;
    if own == 0u {
        sums[query.start / THREADS + job.part] = all;
    }
}
