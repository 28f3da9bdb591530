// simdbp: a whole block is four interleaved streams of fields, and field 0 tells their width; a shorter one is a row of
// fields.

fn steps_of_whole(at: u32, head: u32, lane: u32) -> vec4<u32> {
    // no one in the word is width 0, since firstTrailingBit is then -1
    let width = firstTrailingBit(head) + 1u;
    let bit = lane * width;
    let shift = bit & 31u;
    let i = at + ((bit >> 5u) << 2u);
    let low = words4(i) >> vec4<u32>(shift);
    var high = vec4<u32>(0u);
    if shift + width > 32u {
        high = words4(i + 4u) << vec4<u32>(32u - shift);
    }
    return extractBits(low | high, 0u, width) + 1u;
}

fn steps_of_short(at: u32, head: u32, len: u32, lane: u32) -> vec4<u32> {
    let stored = head & 31u;
    // two docIDs have a gap of 32 bits and no width
    let start = select(5u, 0u, len == 2u);
    let width = select(stored, 32u, len == 2u || stored == 31u);
    // from the field before docID 4 lane on; lane 0 has none, and may seem to start in the word before the block
    return fields(at - 1u, 32u + start + 4u * lane * width - width, width) + 1u;
}

fn decode_block(block: Block, me: Me) -> Docs {
    // Only the head is needed; together the threads' words bring most blocks nearby in the meantime.
    let head = team_read(word(block.at + me.lane), 0u, me);
    var steps: vec4<u32>;
    if block.len == BLOCK {
        steps = steps_of_whole(block.at, head, me.lane);
    } else {
        steps = steps_of_short(block.at, head, block.len, me.lane);
    }
    var docs: Docs;
    docs[0] = docs_of_steps(block.first, steps, me);
    return docs;
}
