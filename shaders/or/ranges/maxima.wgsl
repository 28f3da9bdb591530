//#import shared/list
//#import scores
//#import params
//#import jobs

// The greatest impact of each range of WIDTH docIDs, list by list: a workgroup takes some blocks of a list.

var<storage, read> norms: array<f32>;
// a word a range, PADDED words a list
var<storage, read_write> maxima: array<atomic<u32>>;

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
        // a team without a block repeats the last one: the maxima stay
        let number = job.block + min(b + me.team, job.blocks - 1u);
        let block = block_of(t, number);
        let docs = docs_of(block, me);
        if SCRATCH > 0u {
            team_barrier();
        }
        for (var j = 0u; j < ITEMS; j++) {
            let p = 128u * j + 4u * me.lane;
            if p < block.len {
                let bytes = bytes_of(t, number * BLOCK + p, docs[j]);
                for (var c = 0u; c < 4u; c++) {
                    let doc = docs[j][c];
                    if p + c < block.len && doc < DOCS {
                        atomicMax(&maxima[job.to * PADDED + (doc >> SHIFT)], bytes[c]);
                    }
                }
            }
        }
        // threads have gone apart, and the next block takes all of a team
        workgroupBarrier();
    }
}
