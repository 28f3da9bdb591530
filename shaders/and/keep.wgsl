// Candidate i of `count`, in a slot, is at `position` of the list, or at NONE.
fn keep(query: Query, t: Term, i: u32, slot: u32, count: u32, position: u32, doc: u32) {
    if i >= count {
        return;
    }
    let found = position != NONE;
    flags[query.start + i] = select(0u, 1u, found);
    if found && params.ranked == 1u {
        scores[slot] += share_at(t, position, doc);
    }
}
