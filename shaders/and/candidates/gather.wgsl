//#import and/candidates/candidates

// The wanted results: docIDs, or (docID, score).

fn work(number: u32, own: u32, me: Me) {
    let job = job_of(params.first + number);
    let query = query_of(job.query);
    let i = job.part * THREADS + own;
    let last = last_round(query);
    if i >= count_of(job.query, last) {
        return;
    }
    let slot = slot_of(query, last, i);
    if params.other == CHOSEN && scores[slot] < least_score(job.query) {
        return;
    }
    var place = 0u;
    if params.other == CHOSEN {
        // as many as were counted
        place = atomicAdd(&state[place_of(job.query)], 1u);
    } else {
        place = atomicLoad(&state[place_of(job.query)]) + i;
    }
    let head = select(HEAD_WORDS + params.queries, 0u, params.other == IN_PLACE);
    if params.ranked == 1u {
        results[head + 2u * place] = candidates[slot];
        results[head + 2u * place + 1u] = scores[slot];
    } else {
        results[head + place] = candidates[slot];
    }
}
