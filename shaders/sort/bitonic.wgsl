//#import key
//#import params

// One superstep of the bitonic network on one part of the keys a workgroup. Generated around this
// text: the constants, the type Key with its functions, and the comparisons, unrolled, in main.
//
// Keys are kept complemented where bit s of their index is set, s being the stage of the next step. So parts that the
// network sorts descending are sorted ascending, and no comparison asks for a direction.

var<storage, read_write> keys: array<Key>;

// One word of each key of a part. Every 2^PAD keys a slot stays empty, against bank conflicts.
var<workgroup> words: array<u32, SLOTS>;

// Gamma::index for local = 0.
fn part_index(part: u32) -> u32 {
    let between = params.base - LOW;
    return ((part & ((1u << between) - 1u)) << LOW) | ((part >> between) << (params.base + HIGH));
}

// The index bits of a local index.
fn spread(local: u32) -> u32 {
    return (local & ((1u << LOW) - 1u)) | ((local >> LOW) << params.base);
}

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

@compute @workgroup_size(THREADS)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) grid: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let part = group.y * grid.x + group.x;
    if part >= params.groups {
        return;
    }
    let start = part_index(part);
    //#slot network
}
