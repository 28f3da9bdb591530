//#import and/candidates/candidates
//#import and/pmf
//#import and/keep

// The last level: every candidate's docID among those of the list.

fn work(number: u32, own: u32, me: Me) {
    let job = job_of(params.first + number);
    let query = query_of(job.query);
    let count = count_of(job.query, params.round - 1u);
    let i = job.part * THREADS + own;
    if i >= count {
        return;
    }
    let slot = slot_of(query, params.round - 1u, i);
    let t = term_of(query.first + params.round);
    let doc = candidates[slot];
    var position = NONE;
    if doc < DOCS {
        let at = last_key(query, t, i, count, params.other, doc);
        position = select(NONE, at, key_of(t, at, false) == doc);
    }
    keep(query, t, i, slot, count, position, doc);
}
