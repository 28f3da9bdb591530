// lrc: one line for the list, all slots of one width.

// base + line(p) + slot[p] is the docID at position p of the list.
struct Lined {
    line: ListLine,
    base: u32,
    // position and word where the block starts
    start: u32,
    slots: u32,
}

fn lined(block: Block) -> Lined {
    let slots = block.at + select(0u, 3u, block.index == 0u);
    return Lined(list_line(block.list + 1u), word(block.list), block.index * BLOCK, slots);
}

fn lined_docid(lined: Lined, i: u32) -> u32 {
    let slot = field(lined.slots, i * lined.line.width, lined.line.width);
    return lined.base + list_height(lined.line, lined.start + i) + slot;
}

fn docid_at(block: Block, i: u32) -> u32 {
    if is_list_of_one_block(block) {
        return segment_docid(block, segment(block), i);
    }
    return lined_docid(lined(block), i);
}

fn decode_block(block: Block, me: Me) -> Docs {
    var docs: Docs;
    let i = 4u * me.lane;
    if is_list_of_one_block(block) {
        docs[0] = segment_docids(block, i);
    } else {
        let lined = lined(block);
        docs[0] = vec4<u32>(
            lined_docid(lined, i),
            lined_docid(lined, i + 1u),
            lined_docid(lined, i + 2u),
            lined_docid(lined, i + 3u),
        );
    }
    return docs;
}
