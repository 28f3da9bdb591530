//#import and/candidates/candidates

// Where the candidates of each THREADS slots go: a workgroup a query.

fn work(q: u32, own: u32, me: Me) {
    let query = query_of(q);
    let tiles = (count_of(q, params.round - 1u) + THREADS - 1u) / THREADS;
    var carry = 0u;
    for (var base = 0u; base < tiles; base += THREADS) {
        let at = query.start / THREADS + base + own;
        var sum = 0u;
        if base + own < tiles {
            sum = sums[at];
        }
        let before = scan(sum, me);
        if base + own < tiles {
            sums[at] = carry + before.x;
        }
        carry += before.y;
    }
    if own == 0u {
        set_count(q, params.round, carry);
    }
}
