// The docIDs of a block whose numbers are gaps less one, number i between the docIDs at the positions i and i + 1: both
// laid out as decode_block returns them. What follows the last gap may be anything.
fn gap_sums(first: u32, gaps: Docs, me: Me) -> Docs {
    var docs: Docs;
    var base = first;
    //#for ITEMS
    let sums@ = running(gaps[@] + vec4<u32>(1u));
    let before@ = base + team_sum_before(sums@.w, me);
    docs[@] = vec4<u32>(before@) + vec4<u32>(0u, sums@.xyz);
    if @u + 1u < ITEMS {
        base = team_read(before@ + sums@.w, 31u, me);
    }
    //#end
    return docs;
}
