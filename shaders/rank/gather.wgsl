// The hits of each query that reach its last threshold, for the host: a workgroup a query.

@group(0) @binding(0) var<storage, read> queries: array<vec4<u32>>;
@group(0) @binding(1) var<storage, read_write> state: array<atomic<u32>>;
@group(0) @binding(3) var<storage, read> hits: array<vec2<u32>>;
// a query: hits found (more than there was room for: some are missing), hits that reach the threshold, then these; behind all
// queries the first STATE_HEAD words of the state
@group(0) @binding(2) var<storage, read_write> best: array<u32>;

struct Params {
    queries: u32,
    // hits that a query has room for, and results
    room: u32,
    results: u32,
}

var<immediate> params: Params;

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
    let threshold = atomicLoad(&state[at + THRESHOLD]);
    let all = atomicLoad(&state[at + HITS]);
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
    if q == 0u && thread < STATE_HEAD {
        best[params.queries * (2u + 2u * params.results) + thread] = atomicLoad(&state[thread]);
    }
    if thread == 0u {
        best[to] = all;
        best[to + 1u] = atomicLoad(&count);
    }
}
