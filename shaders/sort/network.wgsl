// The part of a kernel's text that every bitonic network of a workgroup needs. The comparisons are generated.
//
// Keys are kept complemented where bit s of their index is set, s being the stage of the next step. So parts that the
// network sorts descending are sorted ascending, and no comparison asks for a direction.

// One word of each key of a part. Every 2^PAD keys a slot stays empty, against bank conflicts.
var<workgroup> words: array<u32, SLOTS>;

fn slot(local: u32) -> u32 {
    return local + (local >> PAD);
}

// Whether the network sorts a key's part of stage s descending.
fn descends(index: u32, s: u32) -> bool {
    return ((index >> s) & 1u) == 1u;
}

// Whether a key changes its complement when stage s ends.
fn turns(index: u32, s: u32) -> bool {
    return descends(index, s) != descends(index, s + 1u);
}
