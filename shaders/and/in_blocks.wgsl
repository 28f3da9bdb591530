//#import and/decoded
//#import rule

// A docID of a list whose codec only decodes whole blocks: the method's search goes over the first docIDs of blocks.

fn key_of(t: Term, i: u32, blocks: bool) -> u32 {
    return first_of(t, i);
}

// The position of `doc` in the list of a term, or NONE; all threads of the workgroup call it, `busy` those with a
// candidate.
fn find(t: Term, row: u32, doc: u32, busy: bool, me: Me) -> u32 {
    var block = NONE;
    if busy {
        var range = vec2<u32>(0u, t.df);
        if t.blocks > 1u {
            range = range_of(t, row, doc);
        }
        let high = min(range.y, t.df);
        if range.x < high {
            let at = search(t, doc, range.x / BLOCK, (high - 1u) / BLOCK + 1u, true);
            if first_of(t, at) <= doc {
                block = at;
            }
        }
    }
    return find_decoded(t, doc, block, me);
}
