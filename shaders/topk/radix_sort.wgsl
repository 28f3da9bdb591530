//#import topk/hits

// All hits of a query in order, digit by digit from the least one on; the first k are the best. Each thread has a
// stretch of the hits and keeps its order, so a pass keeps the order of the pass before.

const BITS: u32 = 4u;
const DIGITS: u32 = 16u;

// [digit][thread]: first the thread's number of hits with the digit, then their target
var<workgroup> bins: array<u32, DIGITS * THREADS>;
var<workgroup> one_digit: u32;

// Digit of a pass: passes 0 to 7 go through the place of the document, 8 to 15 through the score, greater ones first.
fn digit(hit: vec2<u32>, pass_number: u32) -> u32 {
    var word = ~hit.y;
    if pass_number < 8u {
        word = place_of(hit.x);
    }
    return extractBits(word, BITS * (pass_number & 7u), BITS);
}

fn hit_at(base: vec2<u32>, moved: bool, i: u32) -> vec2<u32> {
    if moved {
        return scratch[base.y + i];
    }
    return hits[base.x + i];
}

@compute @workgroup_size(THREADS)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) grid: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let q = group.y * grid.x + group.x;
    if q >= params.queries {
        return;
    }
    let n = hits_of(q);
    let base = vec2<u32>(start_of(q), scratch_of(q));
    let each = (n + THREADS - 1u) / THREADS;
    let from_hit = min(thread * each, n);
    let to_hit = min(from_hit + each, n);
    // whether the hits are in `scratch`
    var moved = false;
    for (var pass_number = 0u; pass_number < 16u; pass_number++) {
        var mine: array<u32, DIGITS>;
        for (var d = 0u; d < DIGITS; d++) {
            mine[d] = 0u;
        }
        for (var i = from_hit; i < to_hit; i++) {
            mine[digit(hit_at(base, moved, i), pass_number)] += 1u;
        }
        for (var d = 0u; d < DIGITS; d++) {
            bins[d * THREADS + thread] = mine[d];
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
        if thread == 0u {
            one_digit = 0u;
            for (var d = 0u; d < DIGITS; d++) {
                let end = select(n, bins[min(d + 1u, DIGITS - 1u) * THREADS], d + 1u < DIGITS);
                one_digit |= select(0u, 1u, end - bins[d * THREADS] == n);
            }
        }
        if workgroupUniformLoad(&one_digit) == 1u {
            continue;
        }
        for (var d = 0u; d < DIGITS; d++) {
            mine[d] = bins[d * THREADS + thread];
        }
        for (var i = from_hit; i < to_hit; i++) {
            let hit = hit_at(base, moved, i);
            let d = digit(hit, pass_number);
            let to = mine[d];
            mine[d] = to + 1u;
            if moved {
                hits[base.x + to] = hit;
            } else {
                scratch[base.y + to] = hit;
            }
        }
        moved = !moved;
        storageBarrier();
    }
    for (var i = thread; i < min(n, params.k); i += THREADS) {
        put(best_of(q), i, hit_at(base, moved, i));
    }
    put_counts(q, thread);
}
