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

// The part of a posting with this byte as its impact in a score, which single precision holds.
fn part_bound(t: Term, byte: f32) -> f32 {
    return byte * f32(t.weight);
}

// The same as a whole number.
fn share_bound(t: Term, byte: u32) -> u32 {
    return byte * t.weight;
}

// What `parts_of_team` takes besides: nothing.
fn tf_place(t: Term, number: u32) -> vec2<u32> {
    return vec2<u32>(0u);
}

// What `shares_at` takes: the impacts at the positions 4 lane .. 4 lane + 3 of 128 of them.
fn parts_of_team(t: Term, number: u32, place: vec2<u32>, me: Me) -> vec4<u32> {
    return bytes_of(t, 128u * number + 4u * me.lane, vec4<u32>(0u));
}

fn shares_at(t: Term, impacts: vec4<u32>, ks: vec4<f32>) -> vec4<u32> {
    return impacts * t.weight;
}

// The lengths of documents do not matter.
fn lengths_of(docs: vec4<u32>) -> vec4<f32> {
    return vec4<f32>(0.0);
}
