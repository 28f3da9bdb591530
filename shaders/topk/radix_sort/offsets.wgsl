//#import topk/radix_sort/state
//#import shared/scan

// Where the hits of each digit of each tile go: a workgroup takes a query.

// counters that a thread takes at a time
const NEIGHBOURS: u32 = 16u;

var<workgroup> carry: u32;
var<workgroup> shared_digit: atomic<u32>;

@compute @workgroup_size(THREADS)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) grid: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let q = group.y * grid.x + group.x;
    if q >= params.jobs {
        return;
    }
    let n = hits_of(q);
    let moved = moved_to(q);
    let counters = counters_of(q);
    let count = DIGITS * counters.y;
    if thread == 0u {
        carry = 0u;
        atomicStore(&shared_digit, 0u);
    }
    for (var round = 0u; round < count; round += THREADS * NEIGHBOURS) {
        let first = round + thread * NEIGHBOURS;
        let end = min(first + NEIGHBOURS, count);
        var sum = 0u;
        for (var i = first; i < end; i++) {
            sum += atomicLoad(&tallies[counters.x + i]);
        }
        let total = sum_up_to(sum, thread);
        let before = workgroupUniformLoad(&carry);
        var place = before + total - sum;
        for (var i = first; i < end; i++) {
            let size = atomicLoad(&tallies[counters.x + i]);
            atomicStore(&tallies[counters.x + i], place);
            place += size;
        }
        // all threads have read it
        if thread == THREADS - 1u {
            carry = before + total;
        }
    }
    storageBarrier();
    if thread < DIGITS && counters.y > 0u {
        let from_place = atomicLoad(&tallies[counters.x + thread * counters.y]);
        var to_place = n;
        if thread + 1u < DIGITS {
            to_place = atomicLoad(&tallies[counters.x + (thread + 1u) * counters.y]);
        }
        if to_place - from_place == n {
            atomicStore(&shared_digit, 1u);
        }
    }
    workgroupBarrier();
    if thread == 0u {
        atomicStore(&tallies[q], moved + 2u * atomicLoad(&shared_digit));
    }
}
