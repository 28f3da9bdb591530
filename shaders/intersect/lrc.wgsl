// The safe range of a block that has a line of its own.
fn range_in_block(t: Term, doc: u32, number: u32, low: u32, high: u32) -> vec2<u32> {
    let block = block_of(t, number);
    let own = lined(block);
    if !own.own {
        return vec2<u32>(low, high);
    }
    let inner = around_line(doc - own.base, own.slope, bits_of_slots(own.slots));
    let start = number * BLOCK;
    return vec2<u32>(max(low, start + inner.x), min(high, start + inner.y));
}
