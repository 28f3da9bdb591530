//#import sort/radix_digit

// Reduce: how many keys of each span have each digit.

var<storage, read> source: array<Key>;
// [digit][span]
var<storage, read_write> counts: array<u32>;

// COPIES counters a digit, so that neighbouring threads with the same digit do not queue
var<workgroup> bins: array<atomic<u32>, BINS>;

@compute @workgroup_size(THREADS)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) grid: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let span = group.y * grid.x + group.x;
    if span >= params.spans {
        return;
    }
    for (var i = thread; i < BINS; i += THREADS) {
        atomicStore(&bins[i], 0u);
    }
    workgroupBarrier();
    let begin = span * params.span_keys;
    let end = min(begin + params.span_keys, params.keys);
    let copy = thread % COPIES;
    var at = begin + thread;
    while at + TILE <= end + thread {
        //#for ITEMS
        let key@ = source[at + @u * THREADS];
        //#end
        //#for ITEMS
        atomicAdd(&bins[digit(key@) * COPIES + copy], 1u);
        //#end
        at += TILE;
    }
    while at < end {
        atomicAdd(&bins[digit(source[at]) * COPIES + copy], 1u);
        at += THREADS;
    }
    workgroupBarrier();
    for (var d = thread; d < RADIX; d += THREADS) {
        var sum = 0u;
        for (var i = 0u; i < COPIES; i++) {
            sum += atomicLoad(&bins[d * COPIES + i]);
        }
        counts[d * params.spans + span] = sum;
    }
}
