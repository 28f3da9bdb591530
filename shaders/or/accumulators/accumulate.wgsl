//#import shared/list
//#import scores
//#import params
//#import jobs

// Each document of the collection has an accumulator for each query; a workgroup adds some blocks of a list. The docIDs
// of a list are distinct, and sums of fixed point numbers are the same in any order, so lists need not wait for one
// another.

var<storage, read> norms: array<f32>;
// DOCS a query
var<storage, read_write> sums: array<atomic<u32>>;
var<storage, read_write> state: array<atomic<u32>>;

@compute @workgroup_size(THREADS)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) grid: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
    //#slot team_builtins
) {
    let number = group.y * grid.x + group.x;
    if number >= params.jobs {
        return;
    }
    //#slot me
    let job = job_of(params.first + number);
    let t = term_of(job.term);
    for (var b = 0u; b < job.blocks; b += TEAMS) {
        // a team without a block decodes the last one, and adds nothing
        let own = b + me.team < job.blocks;
        let number = job.block + min(b + me.team, job.blocks - 1u);
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
                        atomicAdd(&sums[job.to * DOCS + doc], shares[c]);
                    }
                }
            }
        }
        // threads have gone apart, and the next block takes all of a team
        workgroupBarrier();
    }
    if thread == 0u {
        atomicAdd(&state[HEAD_BLOCKS], job.blocks);
    }
}
