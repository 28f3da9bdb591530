//#import and/candidates/candidates

// The place and the number of each query's results: one workgroup. Unless they stay in place, they start with the
// counters and a word a query.

fn work(number: u32, own: u32, me: Me) {
    var carry = 0u;
    for (var base = 0u; base < params.queries; base += THREADS) {
        let q = base + own;
        var count = 0u;
        if q < params.queries {
            if params.other == CHOSEN {
                count = chosen(q);
            } else {
                count = count_of(q, last_round(query_of(q)));
                set_chosen(q, 0u, count);
            }
        }
        let before = scan(count, me);
        if q < params.queries {
            atomicStore(&state[place_of(q)], select(carry + before.x, query_of(q).start, params.other == IN_PLACE));
            if params.other != IN_PLACE {
                results[HEAD_WORDS + q] = count;
            }
        }
        carry += before.y;
    }
    if own == 0u && params.other != IN_PLACE {
        results[HEAD_RESULTS] = carry;
        results[HEAD_BLOCKS] = atomicLoad(&state[HEAD_BLOCKS]);
    }
}
