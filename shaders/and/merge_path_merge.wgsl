//#import and/candidates/candidates
//#import and/merge_path
//#import and/keep

// A workgroup a part: its candidates and its blocks, decoded, in workgroup memory; each thread merges a piece of the
// path there.

var<workgroup> ours: array<u32, WEIGHT>;
var<workgroup> theirs: array<u32, PART_BLOCKS * BLOCK>;

fn work(number: u32, own: u32, me: Me) {
    let job = job_of(params.first + number);
    let query = query_of(job.query);
    let t = term_of(query.first + params.round);
    let count = count_of(job.query, params.round - 1u);
    if job.part * WEIGHT >= count + t.blocks * BLOCK || far(t, count) {
        return;
    }
    let first = vec2<u32>(heads[2u * number], heads[2u * number + 1u]);
    var end = vec2<u32>(count, t.blocks);
    if number + 1u < params.jobs && job_of(params.first + number + 1u).query == job.query {
        end = vec2<u32>(heads[2u * number + 2u], heads[2u * number + 3u]);
    }
    let low = min(first.x, count);
    // in damaged lists cuts may be anywhere
    let n = min(max(min(end.x, count), low) - low, WEIGHT);
    if n == 0u {
        return;
    }
    // the candidates in front of the first of these blocks belong to the block before
    let low_block = min(max(first.y, 1u) - 1u, t.blocks - 1u);
    let blocks = clamp(max(end.y, low_block) - low_block, 1u, min(PART_BLOCKS, t.blocks - low_block));
    for (var i = own; i < n; i += THREADS) {
        ours[i] = candidate(query, low + i);
    }
    workgroupBarrier();
    for (var base = 0u; base < blocks; base += TEAMS) {
        let mine = base + me.team;
        let at = low_block + min(mine, blocks - 1u);
        let docs = docs_of(block_of(t, at), me);
        if SCRATCH > 0u {
            team_barrier();
        }
        for (var j = 0u; j < ITEMS; j++) {
            for (var c = 0u; c < 4u; c++) {
                let p = 128u * j + 4u * me.lane + c;
                if p < BLOCK && mine < blocks {
                    theirs[mine * BLOCK + p] = docs[j][c];
                }
            }
        }
        // threads have gone apart, and the next block takes all of a team; at last all blocks are there
        workgroupBarrier();
    }
    if own == 0u {
        atomicAdd(&state[HEAD_BLOCKS], blocks);
    }
    // only the last block of a list is not whole
    let m = min(blocks * BLOCK, t.df - low_block * BLOCK);
    let all = n + m;
    let each = (all + THREADS - 1u) / THREADS;
    let d = min(own * each, all);
    // candidates before this thread's diagonal: of a docID in both the posting comes first
    var i = select(0u, d - m, d > m);
    var most = min(d, n);
    while i < most {
        let middle = (i + most) >> 1u;
        // d - 1 - middle < m, since middle >= d - m
        if ours[middle] < theirs[d - 1u - middle] { i = middle + 1u; } else { most = middle; }
    }
    var j = d - i;
    for (var step = d; step < min(d + each, all); step++) {
        if j < m && (i >= n || theirs[j] <= ours[i]) {
            j += 1u;
            continue;
        }
        let doc = ours[i];
        let found = j > 0u && theirs[j - 1u] == doc && doc < DOCS;
        let slot = slot_of(query, params.round - 1u, low + i);
        let position = select(NONE, low_block * BLOCK + j - 1u, found);
        keep(query, t, low + i, slot, count, position, doc);
        i += 1u;
    }
}
