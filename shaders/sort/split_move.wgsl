//#import sort/radix_digit

// Copies each span, sorted by the digit, to the places of its keys: as many runs as there are digits.

var<storage, read> source: array<Key>;
var<storage, read_write> target_keys: array<Key>;
// [digit][span]: keys with this digit in the spans before
var<storage, read> counts: array<u32>;
// all keys with each digit
var<storage, read> totals: array<u32>;
// [span][digit]
var<storage, read> starts: array<u32>;

// place of the first key of each digit, less its place in the span
var<workgroup> offsets: array<u32, RADIX>;

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
    if thread < RADIX {
        var place = counts[thread * params.spans + span];
        for (var d = 0u; d < thread; d++) {
            place += totals[d];
        }
        offsets[thread] = place - starts[span * RADIX + thread];
    }
    workgroupBarrier();
    let begin = span * SPAN;
    let filled = min(SPAN, params.keys - begin);
    //#for ITEMS
    let i@ = thread + @u * THREADS;
    if i@ < filled {
        let key = source[begin + i@];
        target_keys[offsets[digit(key)] + i@] = key;
    }
    //#end
}
