// Scores by stored impacts: a byte a posting times how often the term stands in the query. All of it is exact.

// The parts of the postings at four positions of a list, from `position` on, a multiple of 4, in the scores of their
// documents.
fn shares_of(t: Term, position: u32, docs: vec4<u32>) -> vec4<u32> {
    return bytes_of(t, position, docs) * t.weight;
}

// Their impacts, 1 to 255.
fn bytes_of(t: Term, position: u32, docs: vec4<u32>) -> vec4<u32> {
    if t.kind == TF_CONSTANT {
        return vec4<u32>(t.tf);
    }
    let four = word(t.tf + (position >> 2u));
    return vec4<u32>(four & 255u, four >> 8u & 255u, four >> 16u & 255u, four >> 24u);
}

// The part of a posting with this byte as its impact in a score.
fn share_bound(t: Term, byte: u32) -> u32 {
    return byte * t.weight;
}
