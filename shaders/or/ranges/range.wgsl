//#import shared/list
//#import tables

// Where a range starts in a list. Constants: SHIFT, a range has 2^SHIFT docIDs; PADDED, ranges; DIRECTORY, ranges of an
// entry of a table's directory.

// The last block that starts at or before the first docID of a range, or 0; found by one thread, with the help of the
// list's table if it has one.
fn block_at(t: Term, range: u32) -> u32 {
    var low = 0u;
    var high = t.blocks;
    if t.table != NONE {
        let entry = t.table + PADDED / 4u + range / DIRECTORY;
        low = min(table_word(entry), t.blocks - 1u);
        high = min(table_word(entry + 1u) + 1u, t.blocks);
    }
    while high > low + 1u {
        let middle = (low + high) >> 1u;
        if first_of(t, middle) <= range << SHIFT { low = middle; } else { high = middle; }
    }
    return low;
}
