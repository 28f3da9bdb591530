// raw: word i - 1 of a block is docID i.

fn docid_at(block: Block, i: u32) -> u32 {
    return select(word(block.at + i - 1u), block.first, i == 0u);
}

fn decode_block(block: Block, me: Me) -> Docs {
    var docs: Docs;
    let i = 4u * me.lane;
    docs[0] = vec4<u32>(
        docid_at(block, i),
        docid_at(block, i + 1u),
        docid_at(block, i + 2u),
        docid_at(block, i + 3u),
    );
    return docs;
}
