// lrc-seg: one line for the list, width and least deviation of a block its own.

// base + line(start + i) + slot[i] is the docID at position i of the block.
struct Lined {
    line: ListLine,
    base: u32,
    // position and word where the block starts
    start: u32,
    slots: u32,
    width: u32,
}

fn lined(block: Block) -> Lined {
    let line = list_line(block.list + 1u);
    let start = block.index * BLOCK;
    let widths = block.list + 4u;
    let width = width_of(field(widths, 5u * block.index, 5u));
    let head = 4u + (5u * word(block.list + 3u) + 31u) / 32u;
    let slots = block.at + select(0u, head, block.index == 0u);
    let base = block.first - list_height(line, start) - field(slots, 0u, width);
    return Lined(line, base, start, slots, width);
}

fn lined_docid(lined: Lined, i: u32) -> u32 {
    let slot = field(lined.slots, i * lined.width, lined.width);
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
