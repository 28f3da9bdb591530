//#import and/safe_range
//#import and/halves

// One line for the list.
fn range_of(t: Term, row: u32, doc: u32) -> vec2<u32> {
    let line = table_of(row);
    return safe_range(upper_product(doc, line.x), line.y, line.z, t.df);
}
