//#import topk/bucket_select/state

// The hits that are no worse than the k-th come together in `scratch`, in any order: a workgroup takes a tile.

var<workgroup> chosen: atomic<u32>;
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
    let job = job_of(number);
    let n = hits_of(job.query);
    let first = job.part * TILE;
    if first >= n {
        return;
    }
    let at = state_of(job.query);
    // a hit is chosen if it has a greater score, or this one and a place up to that
    var score = 0u;
    var last_place = 0xffffffffu;
    if n > params.k {
        score = range_of(at, 0u).x;
        if searches(job.query, at, 1u) {
            last_place = ~range_of(at, 1u).x;
        }
    }
    if thread == 0u {
        atomicStore(&chosen, 0u);
    }
    workgroupBarrier();
    let start = query_of(job.query).start;
    // a thread has EACH hits, a bit each
    var mask = 0u;
    for (var i = 0u; i < EACH; i++) {
        let hit_number = first + i * THREADS + thread;
        if hit_number < n {
            let hit = hits[start + hit_number];
            if hit.y > score || (hit.y == score && place_of(hit.x) <= last_place) {
                mask |= 1u << i;
            }
        }
    }
    var place = 0u;
    if mask != 0u {
        place = atomicAdd(&chosen, countOneBits(mask));
    }
    workgroupBarrier();
    if thread == 0u {
        base = 0u;
        let count = atomicLoad(&chosen);
        if count > 0u {
            base = atomicAdd(&tallies[at + GATHERED], count);
        }
    }
    place += workgroupUniformLoad(&base);
    while mask != 0u {
        let i = firstTrailingBit(mask);
        mask &= mask - 1u;
        if place < params.k {
            scratch[job.query * params.k + place] = hits[start + first + i * THREADS + thread];
        }
        place += 1u;
    }
}
