//#import sort/quick_state

// Pivots, a workgroup a segment: the median of SAMPLES keys that lie evenly in it. From level `medians` on, half the
// range of values instead: so whatever the keys, a level too many at most for each bit of a key ends the sort. Also
// gives each segment its tiles.

var<storage, read> source: array<Key>;
var<storage, read_write> tile_segments: array<u32>;

var<workgroup> sample_low: array<u32, SAMPLES>;
var<workgroup> sample_high: array<u32, SAMPLES>;
var<workgroup> first_tile: u32;

@compute @workgroup_size(SAMPLES)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) grid: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let segment = group.y * grid.x + group.x;
    let range = segment_range(segment, thread);
    if range.y == 0u {
        return;
    }
    let tiles = tiles_of(range);
    if thread == 0u {
        let first = atomicAdd(&state[STATE_TILES + params.level], tiles);
        ranges[segment].z = first;
        first_tile = first;
    }
    let first = workgroupUniformLoad(&first_tile);
    for (var i = thread; i < tiles; i += SAMPLES) {
        tile_segments[first + i] = segment;
    }
    if params.level >= params.medians {
        if thread == 0u {
            bounds[3u * segment + 2u] = halfway(bounds[3u * segment], bounds[3u * segment + 1u]);
        }
        return;
    }
    let at = range.x + (range.y / SAMPLES) * thread + (range.y % SAMPLES) * thread / SAMPLES;
    let sample = source[at];
    sample_low[thread] = low(sample);
    sample_high[thread] = high(sample);
    workgroupBarrier();
    var rank = 0u;
    for (var i = 0u; i < SAMPLES; i++) {
        let other = join(sample_low[i], sample_high[i]);
        // equal samples stand in the order of threads
        if greater(sample, other) || (i < thread && !greater(other, sample)) {
            rank++;
        }
    }
    if rank == SAMPLES / 2u {
        bounds[3u * segment + 2u] = sample;
    }
}
