//#import sort/radix_digit

// Scan: one workgroup a digit turns the counts of its row into the number of keys with that digit in the
// spans before.

var<storage, read_write> counts: array<u32>;
// all keys with each digit
var<storage, read_write> totals: array<u32>;

var<workgroup> partial: array<u32, THREADS>;

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    let row = group.x * params.spans;
    var before = 0u;
    for (var first = 0u; first < params.spans; first += THREADS) {
        let span = first + thread;
        var count = 0u;
        if span < params.spans {
            count = counts[row + span];
        }
        var sum = count;
        for (var distance = 1u; distance < THREADS; distance *= 2u) {
            partial[thread] = sum;
            workgroupBarrier();
            if thread >= distance {
                sum += partial[thread - distance];
            }
            workgroupBarrier();
        }
        if span < params.spans {
            counts[row + span] = before + sum - count;
        }
        partial[thread] = sum;
        workgroupBarrier();
        before += partial[THREADS - 1u];
        workgroupBarrier();
    }
    if thread == 0u {
        totals[group.x] = before;
    }
}
