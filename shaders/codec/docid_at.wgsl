//#import codec/block
//#import codec
//#import params
//#import rows

// Single docIDs of blocks to memory, a thread a docID and a workgroup a block, with no block decoded.

var<storage, read_write> docs: array<u32>;

@compute @workgroup_size(THREADS)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) grid: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let number = group.y * grid.x + group.x;
    if number >= params.blocks {
        return;
    }
    let row = row_of(number);
    let block = Block(row.list, row.at, row.first, row.len, row.index);
    for (var i = thread; i < block.len; i += THREADS) {
        docs[row.out + i] = docid_at(block, i);
    }
}
