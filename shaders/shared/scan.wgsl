// Sums over the threads of a workgroup. THREADS is a power of two.

var<workgroup> partial_sums: array<u32, THREADS>;

// The sum of x over the threads up to and including this one. Called by the whole workgroup.
fn sum_up_to(x: u32, thread: u32) -> u32 {
    workgroupBarrier();
    partial_sums[thread] = x;
    workgroupBarrier();
    var total = x;
    for (var distance = 1u; distance < THREADS; distance *= 2u) {
        var more = 0u;
        if thread >= distance {
            more = partial_sums[thread - distance];
        }
        workgroupBarrier();
        total += more;
        partial_sums[thread] = total;
        workgroupBarrier();
    }
    return total;
}
