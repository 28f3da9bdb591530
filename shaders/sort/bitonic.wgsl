//#import key
//#import params
//#import sort/network

// One superstep of the bitonic network on one part of the keys a workgroup. Generated around this
// text: the constants, the type Key with its functions, and the comparisons, unrolled, in main.

var<storage, read_write> keys: array<Key>;

// Gamma::index for local = 0.
fn part_index(part: u32) -> u32 {
    let between = params.base - LOW;
    return ((part & ((1u << between) - 1u)) << LOW) | ((part >> between) << (params.base + HIGH));
}

// The index bits of a local index.
fn spread(local: u32) -> u32 {
    return (local & ((1u << LOW) - 1u)) | ((local >> LOW) << params.base);
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
