// A workgroup a query: list after list, and of each as many candidates at a time as there are threads: flags, their scan, and the move of
// those that stay.

@compute @workgroup_size(THREADS)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) grid: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
    //TEAM_BUILTINS
) {
    let q = group.y * grid.x + group.x;
    if q >= params.jobs {
        return;
    }
    //TEAM
    let query = query_of(q);
    var count = count_of(q, 0u);
    for (var n = 1u; n < query.terms; n++) {
        let t = term_of(query.first + n);
        var kept = 0u;
        for (var base = 0u; base < count; base += THREADS) {
            let i = base + thread;
            let slot = slot_of(query, n - 1u, i);
            var busy = i < count;
            var doc = NONE;
            if busy {
                doc = candidates[slot];
                busy = doc < DOCS;
            }
            let position = find(t, query.first + n, doc, busy, thread, me);
            let flag = select(0u, 1u, position != NONE);
            let before = scan(flag, thread);
            if flag == 1u {
                let other = slot_of(query, n, kept + before.x);
                candidates[other] = doc;
                if params.ranked == 1u {
                    scores[other] = scores[slot] + share_at(t, position, doc);
                }
            }
            kept += before.y;
        }
        // the next list's candidates are there for all threads
        storageBarrier();
        workgroupBarrier();
        count = kept;
    }
    if thread == 0u {
        set_count(q, query.terms - 1u, count);
    }
}
