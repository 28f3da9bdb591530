// Parallel Merge Find over elements: a list's keys are all its docIDs, which its codec reads one by one.

fn key_of(t: Term, i: u32, blocks: bool) -> u32 {
    let number = i / BLOCK;
    if i % BLOCK == 0u {
        // also for a list of one posting, which has no words
        return first_of(t, number);
    }
    return docid_at(block_of(t, number), i % BLOCK);
}

fn keys_of(t: Term) -> u32 {
    return t.df;
}
