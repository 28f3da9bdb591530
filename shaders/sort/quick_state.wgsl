//#import key
//#import params

// What the kernels of the quicksort share: segments of the block, longer than a leaf, of which a level partitions each
// around a pivot of its own. A tile is the part of a segment that one workgroup moves.

// STATE_*: how many leaves, and for each level the active segments, their tiles and their keys
var<storage, read_write> state: array<atomic<u32>>;
// of a segment: first key, number of keys, first tile
var<storage, read_write> ranges: array<vec4<u32>>;
// of a segment: no key is less, no key is greater, the pivot
var<storage, read_write> bounds: array<Key>;

var<workgroup> own: vec4<u32>;

// The range of a segment for the whole workgroup; of length 0 if there is no such segment. The whole workgroup calls.
fn segment_range(segment: u32, thread: u32) -> vec4<u32> {
    if thread == 0u {
        var range = vec4<u32>(0u);
        if segment < atomicLoad(&state[STATE_ACTIVE + params.level]) {
            range = ranges[segment];
        }
        own = range;
    }
    return workgroupUniformLoad(&own);
}

fn tiles_of(range: vec4<u32>) -> u32 {
    return (range.y + TILE - 1u) / TILE;
}
