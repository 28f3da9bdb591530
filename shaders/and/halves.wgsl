// A search by halves.

// The last i of low .. high - 1 whose docID is at most `doc`, or `low`; low < high. `blocks`: search the first docIDs
// of blocks.
fn search(t: Term, doc: u32, first: u32, end: u32, blocks: bool) -> u32 {
    var low = first;
    var high = end;
    while high - low > 1u {
        let middle = low + ((high - low) >> 1u);
        if key_of(t, middle, blocks) <= doc { low = middle; } else { high = middle; }
    }
    return low;
}
