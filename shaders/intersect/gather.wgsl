// The results that are wanted: docIDs, or (docID, score).

fn work(number: u32, own: u32, me: Me) {
    let job = jobs[params.first + number];
    let query = query_of(job.x);
    let i = job.y * THREADS + own;
    let last = last_round(query);
    if i >= count_of(job.x, last) {
        return;
    }
    let slot = slot_of(query, last, i);
    if params.other == CHOSEN && scores[slot] < least_score(job.x) {
        return;
    }
    var place = 0u;
    if params.other == CHOSEN {
        // as many as were counted
        place = atomicAdd(&state[place_of(job.x)], 1u);
    } else {
        place = atomicLoad(&state[place_of(job.x)]) + i;
    }
    let head = select(COUNTS + params.queries, 0u, params.other == IN_PLACE);
    if params.ranked == 1u {
        results[head + 2u * place] = candidates[slot];
        results[head + 2u * place + 1u] = scores[slot];
    } else {
        results[head + place] = candidates[slot];
    }
}
