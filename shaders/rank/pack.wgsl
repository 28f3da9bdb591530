// Range maxima from a word each to a byte each, to where the lists' tables are: a thread makes a word.

//BINDINGS
@group(0) @binding(NEXT+0) var<storage, read> maxima: array<u32>;
// where each list's table goes
@group(0) @binding(NEXT+1) var<storage, read> tables: array<u32>;

struct Params {
    // the first of them, and how many
    first: u32,
    lists: u32,
}

var<immediate> params: Params;

@compute @workgroup_size(128)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) grid: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let i = (group.y * grid.x + group.x) * 128u + thread;
    let words = PADDED / 4u;
    if i >= params.lists * words {
        return;
    }
    let bytes = maxima[4u * i] | maxima[4u * i + 1u] << 8u | maxima[4u * i + 2u] << 16u | maxima[4u * i + 3u] << 24u;
    store(tables[params.first + i / words] + i % words, bytes);
}
