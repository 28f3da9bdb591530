// Candidates in decoded blocks. The blocks that a workgroup's candidates need are found first; each of them is decoded
// once, and no others (Ding et al., WWW 2009, section 8.1).

var<workgroup> wanted: array<u32, THREADS>;
var<workgroup> wanted_count: u32;
var<workgroup> decoded: array<u32, TEAMS * BLOCK>;

// The position of `doc` in the list, or NONE. `block` is where it has to be, NONE for a thread without a candidate;
// blocks increase from thread to thread. All threads of the workgroup call it.
fn find_decoded(t: Term, doc: u32, block: u32, me: Me) -> u32 {
    // threads come from searches of different lengths
    workgroupBarrier();
    // in damaged lists blocks may fall again: then a candidate has none
    let reach = scan_max(block + 1u, me);
    let has = block != NONE && reach.y == block + 1u;
    let opens = has && reach.x != reach.y;
    let before = scan(select(0u, 1u, opens), me);
    let mine = before.x - select(1u, 0u, opens);
    if opens {
        wanted[before.x] = block;
    }
    if number_of(me) == 0u {
        wanted_count = before.y;
        atomicAdd(&state[HEAD_BLOCKS], before.y);
    }
    let count = workgroupUniformLoad(&wanted_count);
    var position = NONE;
    for (var base = 0u; base < count; base += TEAMS) {
        let number = min(wanted[min(base + me.team, count - 1u)], t.blocks - 1u);
        let docs = docs_of(block_of(t, number), me);
        for (var j = 0u; j < ITEMS; j++) {
            for (var c = 0u; c < 4u; c++) {
                let p = 128u * j + 4u * me.lane + c;
                if p < BLOCK {
                    decoded[me.team * BLOCK + p] = docs[j][c];
                }
            }
        }
        workgroupBarrier();
        if has && mine - base < TEAMS {
            let start = (mine - base) * BLOCK;
            var low = 0u;
            var high = min(t.df - block * BLOCK, BLOCK);
            while high - low > 1u {
                let middle = (low + high) >> 1u;
                if decoded[start + middle] <= doc { low = middle; } else { high = middle; }
            }
            if decoded[start + low] == doc {
                position = block * BLOCK + low;
            }
        }
        workgroupBarrier();
    }
    return position;
}
