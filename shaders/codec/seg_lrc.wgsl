// seg-lrc: a line per block.

fn docid_at(block: Block, i: u32) -> u32 {
    return segment_docid(block, segment(block), i);
}

fn decode_block(block: Block, me: Me) -> Docs {
    var docs: Docs;
    docs[0] = segment_docids(block, 4u * me.lane);
    return docs;
}
