// Scores by BM25: tf / (tf + K) times a weight, in fixed point.
//
// The kernel declares norms: array<f32>, K of each document.

// The frequencies at four positions of a list, from `position` on, a multiple of 4.
fn tfs_of(t: Term, position: u32) -> vec4<u32> {
    if t.kind == TF_CONSTANT {
        return vec4<u32>(t.tf);
    }
    let number = position >> 7u;
    let n = min(t.df - number * 128u, 128u);
    // where the block's slots start, and what its bits mean
    var at = t.tf;
    var slots: u32;
    var width: u32;
    var exceptions: u32;
    var over: u32;
    if t.kind == TF_BLOCK {
        let head = word(at);
        let bits = firstLeadingBit(n) + 1u;
        width = head & 31u;
        exceptions = extractBits(head, 5u, bits);
        over = extractBits(head, 5u + bits, 5u);
        slots = 5u + bits + select(0u, 5u, exceptions > 0u);
    } else {
        let blocks = (t.df + 127u) >> 7u;
        let group = number >> 5u;
        let bases = (blocks - 1u) >> 5u;
        let entry = word(at + bases + number);
        var start = bases + blocks;
        if group > 0u {
            start = word(at + group - 1u);
        }
        at += start;
        slots = (entry & 0x3fffu) << 3u;
        width = extractBits(entry, 14u, 5u);
        exceptions = extractBits(entry, 19u, 8u);
        over = entry >> 27u;
    }
    let i = position & 127u;
    var tfs = fields(at, slots + i * width, width);
    if exceptions > 0u {
        exceptions = min(exceptions, n);
        let told = slots + n * width;
        let bits = firstLeadingBit(n - 1u) + 1u;
        if exceptions * bits <= n {
            // their positions
            let highs = told + exceptions * bits;
            var low = 0u;
            var high = exceptions;
            while low < high {
                let middle = (low + high) >> 1u;
                if field(at, told + bits * middle, bits) < i { low = middle + 1u; } else { high = middle; }
            }
            for (var k = low; k < exceptions; k++) {
                let place = field(at, told + bits * k, bits);
                if place >= i + 4u {
                    break;
                }
                tfs[(place - i) & 3u] |= (field(at, highs + k * over, over) + 1u) << width;
            }
        } else {
            // a bit for each frequency
            let highs = told + n;
            var k = 0u;
            for (var first = 0u; first < i; first += 32u) {
                k += countOneBits(field(at, told + first, min(i - first, 32u)));
            }
            let here = field(at, told + i, 4u);
            for (var c = 0u; c < 4u; c++) {
                if ((here >> c) & 1u) != 0u {
                    tfs[c] |= (field(at, highs + k * over, over) + 1u) << width;
                    k++;
                }
            }
        }
    }
    return tfs + 1u;
}

// tf / (tf + K), from 0 to 1.
fn impact_of(tf: u32, doc: u32) -> f32 {
    let count = f32(tf);
    return count / (count + norms[min(doc, DOCS - 1u)]);
}

// What the postings at four positions of a list add to the scores of their documents.
fn shares_of(t: Term, position: u32, docs: vec4<u32>) -> vec4<u32> {
    let tfs = tfs_of(t, position);
    let impacts = vec4<f32>(
        impact_of(tfs.x, docs.x),
        impact_of(tfs.y, docs.y),
        impact_of(tfs.z, docs.z),
        impact_of(tfs.w, docs.w),
    );
    // at least 1: a posting of a very common term beside a very rare one is a posting still
    return max(vec4<u32>(bitcast<f32>(t.weight) * impacts + 0.5), vec4<u32>(1u));
}

// Their impacts as bytes, 1 to 255, that stand for no less.
fn bytes_of(t: Term, position: u32, docs: vec4<u32>) -> vec4<u32> {
    let tfs = tfs_of(t, position);
    var bytes: vec4<u32>;
    for (var c = 0u; c < 4u; c++) {
        bytes[c] = clamp(u32(ceil(impact_of(tfs[c], docs[c]) * 255.001)), 1u, 255u);
    }
    return bytes;
}

// What a posting whose impact is that of the byte adds to a score at most. In long documents an impact may be far below a
// 255th; the bound of the whole list then keeps sums of bounds from running over.
fn share_bound(t: Term, byte: u32) -> u32 {
    return u32(ceil(min(bitcast<f32>(t.weight) * (f32(byte) * 0.0039215689), t.most))) + 1u;
}
