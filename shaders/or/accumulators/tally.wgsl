//#import or/ranges/state
//#import params

// Counts the accumulators of each query by class of scores: a workgroup takes TILE documents of a query.

var<storage, read> sums: array<u32>;
var<storage, read_write> state: array<atomic<u32>>;

var<workgroup> counts: array<atomic<u32>, BUCKETS>;

@compute @workgroup_size(THREADS)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) grid: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let number = group.y * grid.x + group.x;
    let tiles = (DOCS + TILE - 1u) / TILE;
    let q = number / tiles;
    if q >= params.queries {
        return;
    }
    for (var i = thread; i < BUCKETS; i += THREADS) {
        atomicStore(&counts[i], 0u);
    }
    workgroupBarrier();
    let query = query_of(q);
    let first = (number % tiles) * TILE;
    for (var doc = first + thread; doc < min(first + TILE, DOCS); doc += THREADS) {
        let score = sums[q * DOCS + doc];
        if score > 0u {
            atomicAdd(&counts[score_class(score, query.class_times, query.class_shift, BUCKETS)], 1u);
        }
    }
    workgroupBarrier();
    for (var i = thread; i < BUCKETS; i += THREADS) {
        let count = atomicLoad(&counts[i]);
        if count > 0u {
            atomicAdd(&state[state_of(q) + STATE_SCORES + i], count);
        }
    }
}
