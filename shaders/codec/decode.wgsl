// Blocks of lists to docIDs in memory, a team a block.

@group(0) @binding(0) var<storage, read> postings: array<u32>;
// two a block: (list, at, first, len), (index, where its docIDs go, 0, 0)
@group(0) @binding(1) var<storage, read> rows: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read_write> docs: array<vec4<u32>>;

struct Params {
    // how many blocks
    blocks: u32,
}

var<immediate> params: Params;

@compute @workgroup_size(THREADS)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) grid: vec3<u32>,
    //TEAM_BUILTINS
) {
    let first = (group.y * grid.x + group.x) * TEAMS;
    if first >= params.blocks {
        return;
    }
    //TEAM
    let row = min(first + me.team, params.blocks - 1u);
    let where_from = rows[2u * row];
    let where_to = rows[2u * row + 1u];
    let block = Block(where_from.x, where_from.y, where_from.z, where_from.w, where_to.x);
    let found = decode_block(block, me);
    if first + me.team >= params.blocks {
        return;
    }
    let i = 4u * me.lane;
    // for each of ITEMS
    //[
    if i + 128u * @u < block.len {
        docs[(where_to.y + i + 128u * @u) >> 2u] = found[@];
    }
    //]
}
