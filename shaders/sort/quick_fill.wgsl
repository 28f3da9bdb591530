//#import sort/quick_tile

// Keys equal to the pivot are where they belong, between the lesser and the greater ones: each tile writes its share of
// them to the first block, which nobody reads there any more.

var<storage, read_write> first_block: array<Key>;
var<storage, read> totals: array<vec2<u32>>;

@compute @workgroup_size(THREADS)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) grid: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let tile = tile_of(group.y * grid.x + group.x, thread);
    if tile.begin == tile.end {
        return;
    }
    let total = totals[tile.segment];
    let begin = tile.range.x + total.x;
    let end = tile.range.x + tile.range.y - total.y;
    let tiles = tiles_of(tile.range);
    let share = (end - begin + tiles - 1u) / tiles;
    let from_here = begin + tile.place * share;
    for (var i = from_here + thread; i < min(from_here + share, end); i += THREADS) {
        first_block[i] = tile.pivot;
    }
}
