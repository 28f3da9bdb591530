//#import or/ranges/state
//#import params

// The hits of each query that reach its last threshold, for the host: a workgroup a query.

var<storage, read_write> state: array<atomic<u32>>;
var<storage, read> hits: array<vec2<u32>>;
// a query: hits found (if more than the room, some are missing), hits that reach the threshold, then these; behind all
// queries the first HEAD_WORDS words of the state
var<storage, read_write> best: array<u32>;

var<workgroup> count: atomic<u32>;

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
    workgroupBarrier();
    let at = state_of(q);
    let threshold = atomicLoad(&state[at + STATE_THRESHOLD]);
    let all = atomicLoad(&state[at + STATE_HITS]);
    let to = q * (2u + 2u * params.results);
    for (var i = thread; i < min(all, params.room); i += THREADS) {
        let hit = hits[q * params.room + i];
        if hit.y >= threshold {
            let place = atomicAdd(&count, 1u);
            if place < params.results {
                best[to + 2u + 2u * place] = hit.x;
                best[to + 3u + 2u * place] = hit.y;
            }
        }
    }
    workgroupBarrier();
    if q == 0u && thread < HEAD_WORDS {
        best[params.queries * (2u + 2u * params.results) + thread] = atomicLoad(&state[thread]);
    }
    if thread == 0u {
        best[to] = all;
        best[to + 1u] = atomicLoad(&count);
    }
}
