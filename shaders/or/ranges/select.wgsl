//#import or/ranges/state
//#import params

// The ranges of a wave that may hold one of a query's best documents go to the queue. A workgroup takes a tile of a
// query.

var<storage, read> bounds: array<u32>;
var<storage, read_write> state: array<atomic<u32>>;
// query * PADDED + range
var<storage, read_write> queue: array<u32>;
// the greatest bound of each tile of a query
var<storage, read> tile_bounds: array<u32>;

var<workgroup> chosen: atomic<u32>;
var<workgroup> base: u32;
var<workgroup> hopeless: u32;

@compute @workgroup_size(THREADS)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) grid: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let number = group.y * grid.x + group.x;
    let tiles = PADDED / TILE;
    let q = number / tiles;
    if q >= params.queries {
        return;
    }
    let first = q * PADDED + (number % tiles) * TILE + thread * EACH;
    let at = state_of(q);
    let threshold = atomicLoad(&state[at + STATE_THRESHOLD]) >> query_of(q).bound_shift;
    var low = 0u;
    var high = NO_CUT;
    if params.last == 0u {
        low = atomicLoad(&state[at + STATE_CUTS + params.wave]);
    }
    if thread == 0u {
        // for most tiles this is all there is to do
        hopeless = select(0u, 1u, tile_bounds[number] < max(max(threshold, low << BOUND_BUCKET), 1u));
    }
    if workgroupUniformLoad(&hopeless) == 1u {
        return;
    }
    if params.wave > 0u {
        high = atomicLoad(&state[at + STATE_CUTS + params.wave - 1u]);
    }
    var mask = 0u;
    for (var i = 0u; i < EACH; i += 2u) {
        let pair = bounds[(first + i) >> 1u];
        for (var half = 0u; half < 2u; half++) {
            let bound = extractBits(pair, 16u * half, 16u);
            let bucket = bound >> BOUND_BUCKET;
            if bound > 0u && bound >= threshold && bucket >= low && bucket < high {
                mask |= 1u << (i + half);
            }
        }
    }
    if thread == 0u {
        atomicStore(&chosen, 0u);
    }
    workgroupBarrier();
    let place = atomicAdd(&chosen, countOneBits(mask));
    workgroupBarrier();
    if thread == 0u {
        base = atomicAdd(&state[HEAD_QUEUED + params.wave], atomicLoad(&chosen));
    }
    workgroupBarrier();
    var to = base + place;
    while mask != 0u {
        let i = firstTrailingBit(mask);
        mask &= mask - 1u;
        queue[to] = first + i;
        to += 1u;
    }
}
