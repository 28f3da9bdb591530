// The positions of a segment, from the first to before the second, where a docID may be that is `x` above the start of
// the segment's line, if slots have `width` bits. The line is at most 1 lower than its slope says, since heights are
// rounded down, so x is there only if x - 2^width < slope i < x + 1.
fn around_line(x: u32, slope: u32, width: u32) -> vec2<u32> {
    let whole = vec2<u32>(0u, BLOCK);
    if width > 30u {
        return whole;
    }
    // docIDs increase, so the stored slope is less by 1
    let unit = bitcast<f32>((127u + extractBits(slope, 11u, 5u) - 11u) << 23u);
    let steep = 1.0 + f32(slope & 0x7ffu) * unit;
    let above = f32(x);
    // rounding loses less, of 24 bits, than the one position that is added on either side
    if above > steep * 1048576.0 {
        return whole;
    }
    let first = (above - f32(1u << width)) / steep - 1.0;
    let last = (above + 1.0) / steep + 1.0;
    return vec2<u32>(u32(clamp(first, 0.0, f32(BLOCK))), u32(clamp(last, 0.0, f32(BLOCK - 1u))) + 1u);
}

// Bits that a segment's numbers may have.
fn bits_of_slots(slots: Segment) -> u32 {
    return slots.b + select(0u, slots.hb, slots.en > 0u);
}
