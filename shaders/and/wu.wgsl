//#import and/candidates/candidates
//#import find

// A workgroup a query: list after list, and of each as many candidates at a time as there are threads: flags, their
// scan, and the move of those that stay. Covers lists from `round` to before `other`, and `span` candidates of each
// from `number` on.

// Hillis and Steele's scan, in two halves so that no thread waits for another's reads.
var<workgroup> scanned: array<u32, 2u * THREADS>;

// The sum of x over the threads before this one, and over all.
fn hillis_steele(x: u32, own: u32) -> vec2<u32> {
    var side = 0u;
    scanned[own] = x;
    workgroupBarrier();
    for (var distance = 1u; distance < THREADS; distance *= 2u) {
        var sum = scanned[side + own];
        if own >= distance {
            sum += scanned[side + own - distance];
        }
        side = THREADS - side;
        scanned[side + own] = sum;
        workgroupBarrier();
    }
    let found = vec2<u32>(scanned[side + own] - x, scanned[side + THREADS - 1u]);
    workgroupBarrier();
    return found;
}

fn work(q: u32, own: u32, me: Me) {
    let query = query_of(q);
    for (var n = params.round; n < min(query.terms, params.other); n++) {
        let t = term_of(query.first + n);
        let count = count_of(q, n - 1u);
        var kept = 0u;
        if params.number > 0u {
            kept = count_of(q, n);
        }
        let end = params.number + min(params.span, count - min(params.number, count));
        for (var base = params.number; base < end; base += THREADS) {
            let i = base + own;
            let slot = slot_of(query, n - 1u, i);
            var busy = i < end;
            var doc = NONE;
            if busy {
                doc = candidates[slot];
                busy = doc < DOCS;
            }
            let position = find(t, query.first + n, doc, busy, me);
            let flag = select(0u, 1u, position != NONE);
            let before = hillis_steele(flag, own);
            if flag == 1u {
                let other = slot_of(query, n, kept + before.x);
                candidates[other] = doc;
                if params.ranked == 1u {
                    scores[other] = scores[slot] + share_at(t, position, doc);
                }
            }
            kept += before.y;
        }
        // nobody needs the count of the list before any more
        workgroupBarrier();
        if own == 0u {
            set_count(q, n, kept);
        }
        // the next list's candidates, and their number, are there for all threads
        storageBarrier();
        workgroupBarrier();
    }
}
