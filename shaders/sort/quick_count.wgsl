//#import sort/quick_tile
//#import sums

// The paper's first kernel: how many keys of each tile are less than the pivot, and how many are greater.

var<storage, read> source: array<Key>;
var<storage, read_write> tile_counts: array<vec2<u32>>;

@compute @workgroup_size(THREADS)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) grid: vec3<u32>,
    //#slot team_builtins
) {
    //#slot me
    let at = group.y * grid.x + group.x;
    let tile = tile_of(at, me.thread);
    // lesser keys in the low half, greater ones in the high half
    var counts = 0u;
    //#for ITEMS
    let i@ = tile.begin + me.thread + @u * THREADS;
    var key@ = tile.pivot;
    if i@ < tile.end {
        key@ = source[i@];
    }
    //#end
    //#for ITEMS
    counts += select(0u, 1u, greater(tile.pivot, key@)) + select(0u, 0x10000u, greater(key@, tile.pivot));
    //#end
    workgroupBarrier();
    let sum = scan(counts, me) + counts;
    if me.thread == THREADS - 1u && tile.begin < tile.end {
        tile_counts[at] = vec2<u32>(sum & 0xffffu, sum >> 16u);
    }
}
