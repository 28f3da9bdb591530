//#import and/safe_range
//#import and/halves

// A line for each of SEGMENTS segments, which are equal ranges of docIDs.
fn range_of(t: Term, row: u32, doc: u32) -> vec2<u32> {
    let kept = table_of(row);
    let shift = kept.y & 31u;
    let segment = min(doc >> shift, SEGMENTS - 1u);
    // (factor, L, R, first position)
    let at = kept.x + 4u * segment;
    let inside = doc - (segment << shift);
    let expected = upper_product(inside, tables[at]);
    let start = tables[at + 3u];
    return safe_range(start + expected, tables[at + 1u], tables[at + 2u], t.df);
}
