// No safe range within a block: all positions of it.
fn range_in_block(t: Term, doc: u32, number: u32, low: u32, high: u32) -> vec2<u32> {
    return vec2<u32>(low, high);
}
