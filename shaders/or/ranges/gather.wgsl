//#import or/ranges/state
//#import params

// The hits of each query that reach its last threshold, for the host: a workgroup a query.

var<storage, read_write> state: array<atomic<u32>>;
var<storage, read> hits: array<vec2<u32>>;
// four words a query: hits found (if more than the room, some are missing), hits that reach the threshold, where they
// start, and the threshold; then the first HEAD_WORDS words of the state; then `most` hits of all queries
var<storage, read_write> best: array<u32>;

var<workgroup> count: atomic<u32>;
var<workgroup> base: u32;

@compute @workgroup_size(THREADS)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) grid: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let q = group.y * grid.x + group.x;
    if q >= params.queries {
        return;
    }
    if thread == 0u {
        atomicStore(&count, 0u);
    }
    let at = state_of(q);
    let query = query_of(q);
    let bucket = highest_bucket(at + STATE_SCORES, BUCKETS, query.k, thread);
    let known = max(atomicLoad(&state[at + STATE_THRESHOLD]), 1u);
    let threshold = max(known, class_edge(bucket, query.class_times, query.class_shift));
    let all = atomicLoad(&state[at + STATE_HITS]);
    let there = min(all, params.room);
    var mine = 0u;
    for (var i = thread; i < there; i += THREADS) {
        mine += select(0u, 1u, hits[q * params.room + i].y >= threshold);
    }
    var place = atomicAdd(&count, mine);
    workgroupBarrier();
    if thread == 0u {
        base = atomicAdd(&state[HEAD_RESULTS], atomicLoad(&count));
        best[4u * q] = all;
        best[4u * q + 1u] = atomicLoad(&count);
        best[4u * q + 2u] = base;
        best[4u * q + 3u] = threshold;
    }
    if q == 0u && thread < HEAD_WORDS {
        best[4u * params.queries + thread] = atomicLoad(&state[thread]);
    }
    place += workgroupUniformLoad(&base);
    let first = 4u * params.queries + HEAD_WORDS;
    for (var i = thread; i < there; i += THREADS) {
        let hit = hits[q * params.room + i];
        if hit.y >= threshold {
            if place < params.most {
                best[first + 2u * place] = hit.x;
                best[first + 2u * place + 1u] = hit.y;
            }
            place += 1u;
        }
    }
}
