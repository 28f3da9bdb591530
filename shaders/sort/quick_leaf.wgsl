//#import key
//#import params
//#import sort/network

// Sorts leaves, a workgroup each, by a bitonic network of its own size. The comparisons are generated.

var<storage, read> leaves: array<vec4<u32>>;
var<storage, read_write> first_block: array<Key>;
var<storage, read> second_block: array<Key>;

var<workgroup> own: vec4<u32>;

fn fetch(leaf: vec4<u32>, local: u32) -> Key {
    if local >= leaf.y {
        return LAST;
    }
    if leaf.z == 1u {
        return second_block[leaf.x + local];
    }
    return first_block[leaf.x + local];
}

fn put(leaf: vec4<u32>, local: u32, key: Key) {
    if local < leaf.y {
        first_block[leaf.x + local] = key;
    }
}

fn spread(local: u32) -> u32 {
    return local;
}

@compute @workgroup_size(THREADS)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) grid: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let number = group.y * grid.x + group.x;
    if number >= params.leaves {
        return;
    }
    if thread == 0u {
        own = leaves[number];
    }
    let leaf = workgroupUniformLoad(&own);
    // each size of networks has leaves of its own
    if leaf.y <= params.over || leaf.y > SIZE {
        return;
    }
    let start = 0u;
    //#slot network
}
