//#import and/candidates/candidates

// The postings of each query's first list become its candidates: a team a block.

fn work(number: u32, own: u32, me: Me) {
    let job = job_of(params.first + number);
    let query = query_of(job.query);
    let t = term_of(query.first);
    if own == 0u {
        if job.part == 0u {
            set_count(job.query, 0u, query.room);
        }
        atomicAdd(&state[HEAD_BLOCKS], min(t.blocks - job.part * TEAMS, TEAMS));
    }
    let b = job.part * TEAMS + me.team;
    // a team without a block repeats the last one, and writes the same
    let at = min(b, t.blocks - 1u);
    let block = block_of(t, at);
    let docs = docs_of(block, me);
    for (var j = 0u; j < ITEMS; j++) {
        let p = 128u * j + 4u * me.lane;
        if p < block.len && b == at {
            var shares = vec4<u32>(0u);
            if params.ranked == 1u {
                shares = signed(t, shares_of(t, at * BLOCK + p, docs[j])) + query.bias;
            }
            for (var c = 0u; c < 4u; c++) {
                let i = at * BLOCK + p + c;
                if p + c < block.len && i < query.room {
                    let doc = docs[j][c];
                    candidates[query.start + i] = select(NONE, doc, doc < DOCS);
                    if params.ranked == 1u {
                        scores[query.start + i] = select(0u, shares[c], doc < DOCS);
                    }
                }
            }
        }
    }
}
