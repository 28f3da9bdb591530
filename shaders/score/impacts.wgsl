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

// What the parts of postings at four positions need, as for `shares_of`.
fn values_of(t: Term, position: u32, docs: vec4<u32>) -> vec4<u32> {
    return bytes_of(t, position, docs);
}

// The part of a posting with this value in the score of its document.
fn part_by_value(t: Term, value: u32, doc: u32) -> u32 {
    return value * t.weight;
}

// What a posting with this byte as its impact adds to a score, and has in a bound of one.
fn share_in_bound(t: Term, byte: u32) -> u32 {
    return byte * t.weight;
}

// What `tfs_of_team` takes besides: nothing.
fn tf_place(t: Term, number: u32) -> vec2<u32> {
    return vec2<u32>(0u);
}

// What a team knows of 128 impacts: the word that they start at.
struct Tfs {
    at: u32,
}

fn tfs_of_team(t: Term, number: u32, place: vec2<u32>, me: Me) -> Tfs {
    return Tfs(t.tf + 32u * number);
}

// The part of the posting at position i of these in the score of its document.
fn part_at(t: Term, tfs: Tfs, i: u32, doc: u32) -> u32 {
    if t.kind == TF_CONSTANT {
        return t.tf * t.weight;
    }
    return extractBits(word(tfs.at + (i >> 2u)), 8u * (i & 3u), 8u) * t.weight;
}
