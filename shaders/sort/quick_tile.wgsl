//#import sort/quick_state

// What the kernels with a workgroup a tile share.

// the segment of each tile
var<storage, read> tile_segments: array<u32>;

struct Tile {
    // the tile's keys are begin..end of the block
    begin: u32,
    end: u32,
    segment: u32,
    // the tile's place among those of its segment
    place: u32,
    range: vec4<u32>,
    pivot: Key,
}

// For the whole workgroup; empty if there is no such tile. The whole workgroup calls.
fn tile_of(tile: u32, thread: u32) -> Tile {
    if thread == 0u {
        var found = vec4<u32>(0u);
        if tile < atomicLoad(&state[STATE_TILES + params.level]) {
            found = vec4<u32>(tile_segments[tile], 1u, 0u, 0u);
        }
        own = found;
    }
    let found = workgroupUniformLoad(&own);
    if found.y == 0u {
        return Tile(0u, 0u, 0u, 0u, vec4<u32>(0u), LAST);
    }
    let range = ranges[found.x];
    let place = tile - range.z;
    let begin = range.x + place * TILE;
    return Tile(begin, min(begin + TILE, range.x + range.y), found.x, place, range, bounds[3u * found.x + 2u]);
}
