//#import sort/quick_state
//#import sums

// The paper's second kernel: two prefix sums over the tiles of a segment, a workgroup a segment. What they add up to
// are the segments of the next level, and the leaves.

var<storage, read_write> next_ranges: array<vec4<u32>>;
var<storage, read_write> next_bounds: array<Key>;
// of a tile: the keys of its segment's earlier tiles that are less than the pivot, and greater
var<storage, read_write> tile_counts: array<vec2<u32>>;
// of a segment
var<storage, read_write> totals: array<vec2<u32>>;
// first key, number of keys, whether they lie in the second block
var<storage, read_write> leaves: array<vec4<u32>>;

var<workgroup> sums: vec2<u32>;

// `lowest` and `highest` bound the values of the keys.
fn add(start: u32, length: u32, lowest: Key, highest: Key) {
    if length > LEAF {
        atomicAdd(&state[STATE_KEYS + params.level + 1u], length);
        let segment = atomicAdd(&state[STATE_ACTIVE + params.level + 1u], 1u);
        next_ranges[segment] = vec4<u32>(start, length, 0u, 0u);
        next_bounds[3u * segment] = lowest;
        next_bounds[3u * segment + 1u] = highest;
    } else if length > 0u {
        let leaf = atomicAdd(&state[STATE_LEAVES], 1u) - params.settled;
        leaves[leaf] = vec4<u32>(start, length, params.to_second, 0u);
    }
}

@compute @workgroup_size(THREADS)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) grid: vec3<u32>,
    //#slot team_builtins
) {
    //#slot me
    let segment = group.y * grid.x + group.x;
    let range = segment_range(segment, me.thread);
    if range.y == 0u {
        return;
    }
    let tiles = tiles_of(range);
    var before = vec2<u32>(0u);
    for (var first = 0u; first < tiles; first += THREADS) {
        let tile = first + me.thread;
        var counts = vec2<u32>(0u);
        if tile < tiles {
            counts = tile_counts[range.z + tile];
        }
        workgroupBarrier();
        let sum = vec2<u32>(scan(counts.x, me), scan(counts.y, me));
        if tile < tiles {
            tile_counts[range.z + tile] = before + sum;
        }
        if me.thread == THREADS - 1u {
            sums = sum + counts;
        }
        before += workgroupUniformLoad(&sums);
    }
    if me.thread == 0u {
        totals[segment] = before;
        let pivot = bounds[3u * segment + 2u];
        add(range.x, before.x, bounds[3u * segment], previous(pivot));
        add(range.x + range.y - before.y, before.y, next(pivot), bounds[3u * segment + 1u]);
    }
}
