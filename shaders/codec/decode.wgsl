//#import codec/block
//#import codec
//#import params
//#import rows

// Blocks of lists to docIDs in memory, EACH blocks a team.

var<storage, read_write> docs: array<vec4<u32>>;

@compute @workgroup_size(THREADS)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) grid: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
    //#slot team_builtins
) {
    let first = (group.y * grid.x + group.x) * TEAMS * EACH;
    if first >= params.blocks {
        return;
    }
    //#slot me
    //#for EACH
    let row@ = row_of(min(first + @u * TEAMS + me.team, params.blocks - 1u));
    //#end
    //#for EACH
    let found@ = decode_block(Block(row@.list, row@.at, row@.first, row@.len, row@.index), me);
    // the next block may need the same workgroup memory
    if SCRATCH > 0u {
        team_barrier();
    }
    //#end
    //#for EACH
    if first + @u * TEAMS + me.team < params.blocks {
        store(found@, row@.out, row@.len, me);
    }
    //#end
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
