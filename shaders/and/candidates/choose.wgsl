//#import and/candidates/candidates

// The least class of the best k (`other`) results of each query, and how many results are in it and above: a workgroup
// a query.

fn work(q: u32, own: u32, me: Me) {
    let each = CLASSES / THREADS;
    // the first thread has the highest classes
    let top = CLASSES - 1u - own * each;
    var sum = 0u;
    for (var c = 0u; c < each; c++) {
        sum += atomicLoad(&state[class_of(q, top - c)]);
    }
    let before = scan(sum, me);
    if own == 0u && before.y < params.other {
        // all results
        set_chosen(q, 0u, before.y);
    }
    if before.x < params.other && before.x + sum >= params.other {
        var above = before.x;
        for (var c = 0u; c < each; c++) {
            above += atomicLoad(&state[class_of(q, top - c)]);
            if above >= params.other {
                let query = query_of(q);
                set_chosen(q, class_edge(top - c, query.class_times, query.class_shift), above);
                break;
            }
        }
    }
}
