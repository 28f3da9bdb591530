//#import and/candidates/candidates
//#import find

// A thread a candidate: it looks the docID up in one list after the other until one lacks it (PARA: Ao et al., PVLDB
// 4(8), 2011, section 4.1).

fn work(number: u32, own: u32, me: Me) {
    let job = job_of(params.first + number);
    let query = query_of(job.query);
    let i = job.part * THREADS + own;
    let slot = slot_of(query, 0u, i);
    var busy = i < count_of(job.query, 0u);
    var doc = NONE;
    if busy {
        doc = candidates[slot];
        // beyond damage
        busy = doc < DOCS;
    }
    var score = 0u;
    for (var n = 1u; n < query.terms; n++) {
        let t = term_of(query.first + n);
        let position = find(t, query.first + n, doc, busy, me);
        busy = position != NONE;
        if busy && params.ranked == 1u {
            score += share_at(t, position, doc);
        }
    }
    if i < query.room {
        flags[query.start + i] = select(0u, 1u, busy);
        if busy && params.ranked == 1u {
            scores[slot] += score;
        }
    }
}
