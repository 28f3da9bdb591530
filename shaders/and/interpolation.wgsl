//#import and/whole_list

// Interpolation search.

// Rounds after which the search goes on by halves: in very uneven lists interpolation may move by one posting a round.
const INTERPOLATED: u32 = 64u;

// The last i of first .. end - 1 whose docID is at most `doc`, or `first`; first < end. `blocks`: search the first
// docIDs of blocks.
fn search(t: Term, doc: u32, first: u32, end: u32, blocks: bool) -> u32 {
    var low = first;
    var high = end - 1u;
    var low_doc = key_of(t, low, blocks);
    if high == low || doc <= low_doc {
        return low;
    }
    var high_doc = key_of(t, high, blocks);
    if doc >= high_doc {
        return high;
    }
    // the docID at `low` is at most doc, the one at `high` is greater
    for (var round = 0u; high - low > 1u; round++) {
        var middle = low + ((high - low) >> 1u);
        if round < INTERPOLATED && high_doc > low_doc && doc >= low_doc {
            let share = f32(doc - low_doc) / f32(high_doc - low_doc);
            middle = clamp(low + u32(share * f32(high - low)), low + 1u, high - 1u);
        }
        let found = key_of(t, middle, blocks);
        if found <= doc {
            low = middle;
            low_doc = found;
        } else {
            high = middle;
            high_doc = found;
        }
    }
    return low;
}
