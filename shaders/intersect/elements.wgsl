// A thread a candidate: it looks the docID up in one list after the other until one lacks it (PARA: Ao et al., PVLDB 4(8), 2011,
// section 4.1).

@compute @workgroup_size(THREADS)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) grid: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
    //TEAM_BUILTINS
) {
    //TEAM
    let own = number_of(me);
    let number = group.y * grid.x + group.x;
    if number >= params.jobs {
        return;
    }
    let job = jobs[params.first + number];
    let query = query_of(job.x);
    let i = job.y * THREADS + own;
    let slot = slot_of(query, 0u, i);
    var busy = i < count_of(job.x, 0u);
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
