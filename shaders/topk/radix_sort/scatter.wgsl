//#import topk/radix_sort/state
//#import shared/scan

// Moves the hits of a tile to their places. Each thread has a stretch of the tile, and keeps its order.

// [digit][thread]: first the thread's number of hits with the digit, then the place of its next one in the tile
var<workgroup> bins: array<u32, DIGITS * THREADS>;
// what to add to a place in the tile, by digit
var<workgroup> shifts: array<u32, DIGITS>;

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
    let word = atomicLoad(&tallies[job.query]);
    if job.part * TILE >= n || word > 1u {
        return;
    }
    let base = query_of(job.query).start;
    let first = min(job.part * TILE + thread * EACH, n);
    let end = min(first + EACH, n);
    for (var d = 0u; d < DIGITS; d++) {
        bins[d * THREADS + thread] = 0u;
    }
    for (var i = first; i < end; i++) {
        bins[digit_of(hit_at(base, word, i)) * THREADS + thread] += 1u;
    }
    workgroupBarrier();
    var sum = 0u;
    for (var i = 0u; i < DIGITS; i++) {
        sum += bins[thread * DIGITS + i];
    }
    var before = sum_up_to(sum, thread) - sum;
    for (var i = 0u; i < DIGITS; i++) {
        let count = bins[thread * DIGITS + i];
        bins[thread * DIGITS + i] = before;
        before += count;
    }
    workgroupBarrier();
    if thread < DIGITS {
        let counters = counters_of(job.query);
        let to = atomicLoad(&tallies[counters.x + thread * counters.y + job.part]);
        shifts[thread] = to - bins[thread * THREADS];
    }
    workgroupBarrier();
    for (var i = first; i < end; i++) {
        let hit = hit_at(base, word, i);
        let d = digit_of(hit);
        let place = bins[d * THREADS + thread];
        bins[d * THREADS + thread] = place + 1u;
        let to = base + shifts[d] + place;
        if word == 1u {
            hits[to] = hit;
        } else {
            scratch[to] = hit;
        }
    }
}
