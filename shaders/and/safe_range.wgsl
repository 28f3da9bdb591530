// The safe range around a line: a docID is expected at the line, and may be up to L before it and R behind it.
//
// Lines are kept as positions over docIDs, by a factor of 2^-32. So the expected position of a docID is the upper half
// of a product, the same on the host and here, and deviations are exact.

// The upper half of a b.
fn upper_product(a: u32, b: u32) -> u32 {
    let a0 = a & 0xffffu;
    let a1 = a >> 16u;
    let b0 = b & 0xffffu;
    let b1 = b >> 16u;
    let middle = a1 * b0 + ((a0 * b0) >> 16u);
    return a1 * b1 + (middle >> 16u) + ((a0 * b1 + (middle & 0xffffu)) >> 16u);
}

// Positions from -L before to R behind the expected one, of at most `most` positions; L and R have signs.
fn safe_range(expected: u32, l: u32, r: u32, most: u32) -> vec2<u32> {
    // less than 2^30, and so are L and R
    let at = bitcast<i32>(min(expected, 0x3fffffffu));
    let low = max(at - bitcast<i32>(l), 0);
    let high = min(at + bitcast<i32>(r), bitcast<i32>(most) - 1);
    return vec2<u32>(bitcast<u32>(low), bitcast<u32>(max(high + 1, 0)));
}
