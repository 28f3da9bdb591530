//#import or/ranges/state
//#import params

// Which ranges of a query come in which wave: those with the highest bounds first, so that the threshold is good when
// the many others come. A workgroup a query.

var<storage, read_write> state: array<atomic<u32>>;

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
    let at = state_of(q);
    var wanted = params.first;
    for (var wave = 0u; wave + 1u < WAVES; wave++) {
        let cut = highest_bucket(at + STATE_BOUNDS, BOUND_BUCKETS, wanted, thread);
        workgroupBarrier();
        if thread == 0u {
            atomicStore(&state[at + STATE_CUTS + wave], cut);
        }
        wanted *= 4u;
    }
    if thread == 0u {
        atomicMax(&state[at + STATE_THRESHOLD], query_of(q).least);
    }
}
