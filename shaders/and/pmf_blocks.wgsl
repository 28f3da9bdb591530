// Parallel Merge Find over skip entries: a list's keys are the first docIDs of its blocks.

fn key_of(t: Term, i: u32, blocks: bool) -> u32 {
    return first_of(t, i);
}

fn keys_of(t: Term) -> u32 {
    return t.blocks;
}
