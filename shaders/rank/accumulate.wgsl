// Each document of the collection has an accumulator for each query: a workgroup adds what some blocks of a list have. The
// docIDs of a list are distinct, and sums of fixed point numbers are the same in any order, so lists need not wait for one another.

//BINDINGS
// (term, first block, blocks, query)
@group(0) @binding(NEXT+0) var<storage, read> jobs: array<vec4<u32>>;
@group(0) @binding(NEXT+1) var<storage, read> terms: array<vec4<u32>>;
@group(0) @binding(NEXT+2) var<storage, read> norms: array<f32>;
// DOCS a query
@group(0) @binding(NEXT+3) var<storage, read_write> sums: array<atomic<u32>>;
@group(0) @binding(NEXT+4) var<storage, read_write> state: array<atomic<u32>>;

struct Params {
    jobs: u32,
}

var<immediate> params: Params;

@compute @workgroup_size(THREADS)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) grid: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
    //TEAM_BUILTINS
) {
    let number = group.y * grid.x + group.x;
    if number >= params.jobs {
        return;
    }
    //TEAM
    let job = jobs[number];
    let t = term_of(job.x);
    for (var b = 0u; b < job.z; b += TEAMS) {
        // a team without a block decodes the last one, and adds nothing
        let own = b + me.team < job.z;
        let number = job.y + min(b + me.team, job.z - 1u);
        let block = block_of(t, number);
        let docs = docs_of(block, me);
        if SCRATCH > 0u {
            team_barrier();
        }
        for (var j = 0u; j < ITEMS; j++) {
            let p = 128u * j + 4u * me.lane;
            if own && p < block.len {
                let shares = shares_of(t, number * BLOCK + p, docs[j]);
                for (var c = 0u; c < 4u; c++) {
                    let doc = docs[j][c];
                    if p + c < block.len && doc < DOCS {
                        atomicAdd(&sums[job.w * DOCS + doc], shares[c]);
                    }
                }
            }
        }
    }
    if thread == 0u {
        atomicAdd(&state[BLOCKS_DECODED], job.z);
    }
}
