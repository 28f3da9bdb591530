//#import and/candidates/candidates

// Counts the results of each query by class of scores: a workgroup takes THREADS times SPAN results, and counts in its
// own memory first.

var<workgroup> counts: array<atomic<u32>, CLASSES>;

fn work(number: u32, own: u32, me: Me) {
    let job = job_of(params.first + number);
    let query = query_of(job.query);
    let last = last_round(query);
    let first = job.part * THREADS * SPAN;
    let end = min(first + THREADS * SPAN, count_of(job.query, last));
    if first >= end {
        return;
    }
    for (var c = own; c < CLASSES; c += THREADS) {
        atomicStore(&counts[c], 0u);
    }
    workgroupBarrier();
    for (var i = first + own; i < end; i += THREADS) {
        let score = scores[slot_of(query, last, i)];
        atomicAdd(&counts[score_class(score, query.class_times, query.class_shift, CLASSES)], 1u);
    }
    workgroupBarrier();
    for (var c = own; c < CLASSES; c += THREADS) {
        let count = atomicLoad(&counts[c]);
        if count > 0u {
            atomicAdd(&state[class_of(job.query, c)], count);
        }
    }
}
