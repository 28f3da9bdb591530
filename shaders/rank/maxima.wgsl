// The greatest impact of each range of WIDTH docIDs, list by list: a workgroup takes some blocks of a list.

//BINDINGS
// (term, first block, blocks, which of the lists that are computed at once)
@group(0) @binding(NEXT+0) var<storage, read> jobs: array<vec4<u32>>;
@group(0) @binding(NEXT+1) var<storage, read> terms: array<vec4<u32>>;
@group(0) @binding(NEXT+2) var<storage, read> norms: array<f32>;
// a word a range, PADDED words a list
@group(0) @binding(NEXT+3) var<storage, read_write> maxima: array<atomic<u32>>;

struct Params {
    // the first of them, and how many
    first: u32,
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
    let job = jobs[params.first + number];
    let t = term_of(job.x);
    for (var b = 0u; b < job.z; b += TEAMS) {
        // a team without a block repeats the last one: the maxima stay
        let number = job.y + min(b + me.team, job.z - 1u);
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
                        atomicMax(&maxima[job.w * PADDED + (doc >> SHIFT)], bytes[c]);
                    }
                }
            }
        }
    }
}
