//#import and/candidates/candidates

// The candidates that stay move up, in order, to the other half.

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
    let to = sums[query.start / THREADS + job.part] + scan(flag, me).x;
    if flag == 1u {
        let slot = slot_of(query, params.round - 1u, i);
        // to <= i
        let other = slot_of(query, params.round, to);
        candidates[other] = candidates[slot];
        if params.ranked == 1u {
            scores[other] = scores[slot];
        }
    }
}
