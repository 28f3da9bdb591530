//#import codec/block
//#import codec
//#import terms

// A query's terms and their lists.
//
// Constants: HEADER, words before a list's first block; DOCS, documents of the index; SEARCH, rounds of `locate`.

// First docID of a block.
fn first_of(t: Term, block: u32) -> u32 {
    if t.blocks == 1u {
        return t.first;
    }
    return word(t.skips + 3u * block);
}

fn block_of(t: Term, block: u32) -> Block {
    let len = min(t.df - block * BLOCK, BLOCK);
    if t.blocks == 1u {
        return Block(t.list, t.list + HEADER, t.first, len, 0u);
    }
    let skip = t.skips + 3u * block;
    return Block(t.list, t.list + word(skip + 1u), word(skip), len, block);
}

// The last block whose first docID is at most `doc`, or 0. A team searches together, 31 probes a round; all teams of a
// workgroup must call it.
fn locate(t: Term, doc: u32, me: Me) -> u32 {
    var low = 0u;
    var size = t.blocks;
    for (var round = 0u; round < SEARCH; round++) {
        let step = (size + 31u) >> 5u;
        let probe = (me.lane + 1u) * step;
        var below = 0u;
        if probe < size {
            below = select(0u, 1u, first_of(t, low + probe) <= doc);
        }
        let passed = team_sum(below, me) * step;
        low += passed;
        size = min(size - passed, step);
    }
    return low;
}

// The docIDs of a block; values from DOCS on are damage or beyond the block.
fn docs_of(block: Block, me: Me) -> Docs {
    var docs = decode_block(block, me);
    // a list of one posting has no words
    docs[0].x = select(docs[0].x, block.first, me.lane == 0u);
    return docs;
}
