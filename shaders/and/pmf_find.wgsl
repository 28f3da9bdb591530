//#import and/candidates/candidates
//#import and/pmf
//#import and/decoded
//#import and/keep

// The last level: every candidate's block; then the blocks that have candidates are decoded, and the candidates looked
// up in these.

fn work(number: u32, own: u32, me: Me) {
    let job = job_of(params.first + number);
    let query = query_of(job.query);
    let count = count_of(job.query, params.round - 1u);
    if job.part * THREADS >= count {
        return;
    }
    let i = job.part * THREADS + own;
    let slot = slot_of(query, params.round - 1u, i);
    let t = term_of(query.first + params.round);
    var doc = NONE;
    var block = NONE;
    if i < count {
        doc = candidates[slot];
        let at = last_key(query, t, i, count, params.other, doc);
        if doc < DOCS && first_of(t, at) <= doc {
            block = at;
        }
    }
    let position = find_decoded(t, doc, block, me);
    keep(query, t, i, slot, count, position, doc);
}
