//#import params

// Copies, to measure the speed of the device's memory.

var<storage, read> source: array<vec4<u32>>;
var<storage, read_write> target_words: array<vec4<u32>>;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) grid: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let i = (group.y * grid.x + group.x) * 256u + thread;
    if i < params.count {
        target_words[i] = source[i];
    }
}
