// Scores by BM25: tf / (tf + K) times a weight, in fixed point.
//
// The kernel declares norms: array<f32>, K of each document.

// The frequencies at four positions of a list, from `position` on, a multiple of 4.
fn tfs_of(t: Term, position: u32) -> vec4<u32> {
    if t.kind == TF_CONSTANT {
        return vec4<u32>(t.tf);
    }
    let number = position >> 7u;
    var at = t.tf;
    if t.kind != TF_BLOCK {
        at += word(t.tf + number);
    }
    let head = word(at);
    let width = min(head & 63u, 32u);
    let exceptions = min((head >> 6u) & 255u, 128u);
    let over = min((head >> 14u) & 63u, 32u);
    let i = position & 127u;
    var tfs = fields(at, 20u + i * width, width);
    if exceptions > 0u {
        let places = 20u + min(t.df - number * 128u, 128u) * width;
        var low = 0u;
        var high = exceptions;
        while low < high {
            let middle = (low + high) >> 1u;
            if field(at, places + 7u * middle, 7u) < i { low = middle + 1u; } else { high = middle; }
        }
        for (var k = low; k < exceptions; k++) {
            let place = field(at, places + 7u * k, 7u);
            if place >= i + 4u {
                break;
            }
            tfs[(place - i) & 3u] |= field(at, places + 7u * exceptions + k * over, over) << (width & 31u);
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
