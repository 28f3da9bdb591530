//#import or/ranges/wave
//#import jobs

// The candidate ranges of a wave that may hold one of a query's best documents. A workgroup takes some of a query's
// candidate ranges, TILE at most.

var<storage, read_write> state: array<atomic<u32>>;
// query * PADDED + range, and the bound
var<storage, read> candidates: array<vec2<u32>>;
var<storage, read_write> chosen: array<vec2<u32>>;

var<workgroup> count: atomic<u32>;
var<workgroup> base: u32;

@compute @workgroup_size(THREADS)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) grid: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let number = group.y * grid.x + group.x;
    if number >= params.jobs {
        return;
    }
    let job = job_of(params.first + number);
    let at = state_of(job.to);
    let wave = wave_of(job.to, at, thread);
    let end = min(atomicLoad(&state[at + STATE_CANDIDATES]), job.block + job.blocks);
    let first = query_of(job.to).candidates;
    var mask = 0u;
    for (var i = 0u; i < EACH; i++) {
        let place = job.block + i * THREADS + thread;
        if place < end {
            mask |= select(0u, 1u << i, takes(wave, candidates[first + place].y));
        }
    }
    if thread == 0u {
        atomicStore(&count, 0u);
    }
    workgroupBarrier();
    let place = atomicAdd(&count, countOneBits(mask));
    workgroupBarrier();
    if thread == 0u {
        base = atomicAdd(&state[HEAD_CHOSEN + params.wave], atomicLoad(&count));
    }
    var to = workgroupUniformLoad(&base) + place;
    while mask != 0u {
        let i = firstTrailingBit(mask);
        mask &= mask - 1u;
        chosen[to] = candidates[first + job.block + i * THREADS + thread];
        to += 1u;
    }
}
