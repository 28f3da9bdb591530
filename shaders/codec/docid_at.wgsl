// Single docIDs of blocks to memory, a thread a docID and a workgroup a block, with no block decoded.

@group(0) @binding(0) var<storage, read> postings: array<u32>;
// two a block: (list, at, first, len), (index, where its docIDs go, 0, 0)
@group(0) @binding(1) var<storage, read> rows: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read_write> docs: array<u32>;

struct Params {
    // how many blocks
    blocks: u32,
}

var<immediate> params: Params;

@compute @workgroup_size(THREADS)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) grid: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let row = group.y * grid.x + group.x;
    if row >= params.blocks {
        return;
    }
    let where_from = rows[2u * row];
    let where_to = rows[2u * row + 1u];
    let block = Block(where_from.x, where_from.y, where_from.z, where_from.w, where_to.x);
    for (var i = thread; i < block.len; i += THREADS) {
        docs[where_to.y + i] = docid_at(block, i);
    }
}
