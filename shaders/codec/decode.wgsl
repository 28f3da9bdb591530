// Blocks of lists to docIDs in memory, EACH blocks a team.

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
    @builtin(local_invocation_index) thread: u32,
    //TEAM_BUILTINS
) {
    let first = (group.y * grid.x + group.x) * TEAMS * EACH;
    if first >= params.blocks {
        return;
    }
    //TEAM
    //[
    let row@ = min(first + @u * TEAMS + me.team, params.blocks - 1u);
    let a@ = rows[2u * row@];
    let b@ = rows[2u * row@ + 1u];
    //]
    //[
    let found@ = decode_block(Block(a@.x, a@.y, a@.z, a@.w, b@.x), me);
    // the next block may need the same workgroup memory
    if SCRATCH > 0u {
        team_barrier();
    }
    //]
    //[
    if first + @u * TEAMS + me.team < params.blocks {
        store(found@, b@.y, a@.w, me);
    }
    //]
}

// A block's docIDs to where they go.
fn store(found: Docs, to: u32, len: u32, me: Me) {
    var all = found;
    for (var j = 0u; j < ITEMS; j++) {
        let i = 128u * j + 4u * me.lane;
        if i < len {
            docs[(to + i) >> 2u] = all[j];
        }
    }
}
