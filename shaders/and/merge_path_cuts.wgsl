//#import and/candidates/candidates
//#import and/merge_path

// Where each part starts: a thread a part.

fn work(group: u32, own: u32, me: Me) {
    let number = group * THREADS + own;
    if number >= params.jobs {
        return;
    }
    let job = job_of(params.first + number);
    let query = query_of(job.query);
    let t = term_of(query.first + params.round);
    let count = count_of(job.query, params.round - 1u);
    var at = vec2<u32>(count, t.blocks);
    let d = job.part * WEIGHT;
    if d < count + t.blocks * BLOCK && !far(t, count) {
        at = cut(query, t, count, d);
    }
    heads[2u * number] = at.x;
    heads[2u * number + 1u] = at.y;
}
