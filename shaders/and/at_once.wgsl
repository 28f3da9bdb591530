//#import in_block
//#import rule

// A list whose codec reads any docID by itself: each probe of the method's search reads one. HEADERS: 1 if the first
// docIDs of blocks are searched first, 0 if only positions are.

fn doc_at(t: Term, position: u32) -> u32 {
    let number = position / BLOCK;
    let i = position % BLOCK;
    if i == 0u {
        // also for a list of one posting, which has no words
        return first_of(t, number);
    }
    return docid_at(block_of(t, number), i);
}

fn key_of(t: Term, i: u32, blocks: bool) -> u32 {
    if blocks {
        return first_of(t, i);
    }
    return doc_at(t, i);
}

// The position of `doc` in the list of a term, or NONE; each thread for itself.
fn find(t: Term, row: u32, doc: u32, busy: bool, me: Me) -> u32 {
    if !busy {
        return NONE;
    }
    if t.df == 1u {
        // such a list has no words
        return select(NONE, 0u, t.first == doc);
    }
    var range = vec2<u32>(0u, t.df);
    if t.blocks > 1u {
        range = range_of(t, row, doc);
    }
    var low = range.x;
    var high = min(range.y, t.df);
    if low >= high {
        return NONE;
    }
    if HEADERS == 1u {
        let number = search(t, doc, low / BLOCK, (high - 1u) / BLOCK + 1u, true);
        if first_of(t, number) > doc {
            return NONE;
        }
        low = max(low, number * BLOCK);
        high = min(high, number * BLOCK + BLOCK);
        return find_in_block(t, doc, number, low, high);
    }
    let at = search(t, doc, low, high, false);
    return select(NONE, at, doc_at(t, at) == doc);
}
