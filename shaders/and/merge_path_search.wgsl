//#import and/candidates/candidates
//#import and/merge_path
//#import and/halves
//#import and/keep
//#import and/decoded

// For a list that is much longer than the candidates: a search by halves over its skip entries for each candidate. Only
// blocks that may contain one are decoded.

fn key_of(t: Term, i: u32, blocks: bool) -> u32 {
    return first_of(t, i);
}

fn work(number: u32, own: u32, me: Me) {
    let job = job_of(params.first + number);
    let query = query_of(job.query);
    let t = term_of(query.first + params.round);
    let count = count_of(job.query, params.round - 1u);
    if job.part * THREADS >= count || !far(t, count) {
        return;
    }
    let i = job.part * THREADS + own;
    let slot = slot_of(query, params.round - 1u, i);
    var doc = NONE;
    var block = NONE;
    if i < count {
        doc = candidates[slot];
        let at = search(t, doc, 0u, t.blocks, true);
        if doc < DOCS && first_of(t, at) <= doc {
            block = at;
        }
    }
    let position = find_decoded(t, doc, block, me);
    keep(query, t, i, slot, count, position, doc);
}
