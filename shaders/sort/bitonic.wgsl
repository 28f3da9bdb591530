// One superstep of the bitonic network on one part of the keys a workgroup. Generated around this
// text: the constants, the type Key with its functions, and the comparisons, unrolled, in main.
//
// Keys are kept complemented where bit s of their index is set, s being the stage of the next step:
// what the network sorts descending, it then sorts ascending, and no comparison asks for a direction.

struct Params {
    // how many keys are real; the rest counts as LAST
    keys: u32,
    // how many parts
    groups: u32,
    // s of the first step
    stage: u32,
    // lowest bit of the upper run of the index bits in Gamma
    base: u32,
}

var<immediate> params: Params;

@group(0) @binding(0) var<storage, read_write> keys: array<Key>;

// One word of each key of a part. Every 2^PAD keys a slot stays empty, against bank conflicts.
var<workgroup> words: array<u32, SLOTS>;

// Gamma::index for local = 0.
fn part_index(part: u32) -> u32 {
    let between = params.base - LOW;
    return ((part & ((1u << between) - 1u)) << LOW) | ((part >> between) << (params.base + HIGH));
}

// What the bits of a local index add to the index.
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
    //NETWORK
}
