//#import and/around_line

// A block's line is read once; then a probe is a slot. If the line is the block's own, its safe range is less than the
// block.
fn find_in_block(t: Term, doc: u32, number: u32, first: u32, end: u32) -> u32 {
    let block = block_of(t, number);
    let line = lined(block);
    let start = number * BLOCK;
    var low = first - start;
    var high = end - start;
    if line.own {
        let inner = around_line(doc - line.base, line.slope, bits_of_slots(line.slots));
        low = max(low, inner.x);
        high = min(high, inner.y);
    }
    if low >= high {
        return NONE;
    }
    while high - low > 1u {
        let middle = (low + high) >> 1u;
        if lined_docid(block, line, middle, segment_number(line.at, line.slots, middle)) <= doc {
            low = middle;
        } else {
            high = middle;
        }
    }
    let found = lined_docid(block, line, low, segment_number(line.at, line.slots, low));
    return select(NONE, start + low, found == doc);
}
