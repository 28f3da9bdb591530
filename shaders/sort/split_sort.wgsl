//#import sort/radix_digit
//#import sums

// Sorts each span of SPAN keys by the digit, in place: one binary split for each bit of it, lowest first. A split
// brings keys with a 0 there before those with a 1, and keeps their order otherwise. Then counts the keys of a digit.

var<storage, read_write> source: array<Key>;
// [digit][span]
var<storage, read_write> counts: array<u32>;
// [span][digit]: the first key of the digit in its span
var<storage, read_write> starts: array<u32>;

var<workgroup> low_words: array<u32, SPAN>;
var<workgroup> high_words: array<u32, SPAN>;
var<workgroup> first_of_digit: array<u32, RADIX>;
var<workgroup> end_of_digit: array<u32, RADIX>;
var<workgroup> zeros: u32;

@compute @workgroup_size(THREADS)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) grid: vec3<u32>,
    //#slot team_builtins
) {
    let span = group.y * grid.x + group.x;
    if span >= params.spans {
        return;
    }
    //#slot me
    let thread = me.thread;
    let begin = span * SPAN;
    let filled = min(SPAN, params.keys - begin);
    // places beyond the last key stay behind all keys
    //#for ITEMS
    let i@ = thread + @u * THREADS;
    var loaded@ = LAST;
    if i@ < filled {
        loaded@ = source[begin + i@];
    }
    low_words[i@] = low(loaded@);
    high_words[i@] = high(loaded@);
    //#end
    workgroupBarrier();
    // a split moves ITEMS neighbouring keys a thread
    let own = thread * ITEMS;
    for (var bit = 0u; bit < RADIX_BITS; bit++) {
        var mine = 0u;
        //#for ITEMS
        let low@ = low_words[own + @u];
        let high@ = high_words[own + @u];
        let zero@ = 1u - ((digit(join(low@, high@)) >> bit) & 1u);
        mine += zero@;
        //#end
        workgroupBarrier();
        var before = scan(mine, me);
        if thread == THREADS - 1u {
            zeros = before + mine;
        }
        let ones_from = workgroupUniformLoad(&zeros);
        //#for ITEMS
        let to@ = select(ones_from + own + @u - before, before, zero@ == 1u);
        before += zero@;
        low_words[to@] = low@;
        high_words[to@] = high@;
        //#end
        workgroupBarrier();
    }
    if thread < RADIX {
        first_of_digit[thread] = 0u;
        end_of_digit[thread] = 0u;
    }
    workgroupBarrier();
    //#for ITEMS
    let key@ = join(low_words[i@], high_words[i@]);
    let digit@ = digit(key@);
    if i@ < filled {
        if i@ == 0u || digit(join(low_words[i@ - 1u], high_words[i@ - 1u])) != digit@ {
            first_of_digit[digit@] = i@;
        }
        if i@ == filled - 1u || digit(join(low_words[i@ + 1u], high_words[i@ + 1u])) != digit@ {
            end_of_digit[digit@] = i@ + 1u;
        }
        source[begin + i@] = key@;
    }
    //#end
    workgroupBarrier();
    if thread < RADIX {
        counts[thread * params.spans + span] = end_of_digit[thread] - first_of_digit[thread];
        starts[span * RADIX + thread] = first_of_digit[thread];
    }
}
