//#import codec/lrc_line

// Blocks with one line each, which `lined` finds.

fn docid_at(block: Block, i: u32) -> u32 {
    let lined = lined(block);
    return lined_docid(block, lined, i, segment_number(lined.at, lined.slots, i));
}

fn decode_block(block: Block, me: Me) -> Docs {
    let lined = lined(block);
    var docs = segment_numbers(lined.at, lined.slots, me);
    docs[0] = lined_docids(block, lined, 4u * me.lane, docs[0]);
    return docs;
}
