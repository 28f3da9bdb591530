// Nothing more is known of a docID's place in a block: the method's search goes over docIDs that are read one by one.
fn find_in_block(t: Term, doc: u32, number: u32, low: u32, high: u32) -> u32 {
    let at = search(t, doc, low, high, false);
    return select(NONE, at, doc_at(t, at) == doc);
}
