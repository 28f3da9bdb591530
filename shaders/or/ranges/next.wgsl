// The docIDs behind each of a thread's four in part j of a block, shifted right by `bits`. Behind the last posting of
// the block it is of no meaning. The team calls it together.
fn next_of(docs: Docs, j: u32, bits: u32, me: Me) -> vec4<u32> {
    let own = docs[j] >> vec4<u32>(bits);
    let right = team_read(own.x, me.lane + 1u, me);
    var first = 0u;
    if j + 1u < ITEMS {
        first = team_read(docs[j + 1u].x >> bits, 0u, me);
    }
    return vec4<u32>(own.yzw, select(right, first, me.lane == 31u));
}
