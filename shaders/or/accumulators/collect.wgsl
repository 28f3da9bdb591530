//#import or/ranges/state
//#import params

// The documents whose accumulators reach the lower edge of the class with the k-th best score go to the query's hits: a
// workgroup takes TILE documents of a query.

var<storage, read> sums: array<u32>;
var<storage, read_write> state: array<atomic<u32>>;
// (docID, score), `room` a query
var<storage, read_write> hits: array<vec2<u32>>;

var<workgroup> base: u32;

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
    let query = query_of(q);
    let at = state_of(q);
    let bucket = highest_bucket(at + STATE_SCORES, BUCKETS, query.k, thread);
    let threshold = max(class_edge(bucket, query.class_times, query.class_shift), 1u);
    let first = (number % tiles) * TILE;
    let end = min(first + TILE, DOCS);
    var mine = 0u;
    for (var doc = first + thread; doc < end; doc += THREADS) {
        mine += select(0u, 1u, sums[q * DOCS + doc] >= threshold);
    }
    let up_to = sum_up_to(mine, thread);
    if thread == THREADS - 1u {
        base = atomicAdd(&state[at + STATE_HITS], up_to);
    }
    if thread == 0u && first == 0u {
        atomicStore(&state[at + STATE_THRESHOLD], threshold);
    }
    var to = workgroupUniformLoad(&base) + up_to - mine;
    for (var doc = first + thread; doc < end; doc += THREADS) {
        let score = sums[q * DOCS + doc];
        if score >= threshold {
            if to < params.room {
                hits[q * params.room + to] = vec2<u32>(doc, score);
            }
            to += 1u;
        }
    }
}
