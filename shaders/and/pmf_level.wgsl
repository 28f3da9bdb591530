//#import and/candidates/candidates
//#import and/pmf

// A level of Parallel Merge Find: the key of each `number`-th candidate. Candidates of the level before, each
// `other`-th, bound the search; the first level, where `other` is 0, goes over all keys.

fn work(number: u32, own: u32, me: Me) {
    let job = job_of(params.first + number);
    let query = query_of(job.query);
    let count = count_of(job.query, params.round - 1u);
    let head = job.part * THREADS + own;
    // a query's candidates are less than 2^30, a level's step 2^20 at most
    if head > count / params.number {
        return;
    }
    let i = head * params.number;
    if i >= count || (params.other > 0u && i % params.other == 0u) {
        return;
    }
    let t = term_of(query.first + params.round);
    let range = keys_between(query, t, i, count, params.other);
    let doc = candidates[slot_of(query, params.round - 1u, i)];
    heads[query.start + i] = search(t, doc, range.x, range.y, true);
}
