struct Array#DEPTH {
    numbers: array<vec4<u32>, #COUNT>,
    // the first bit behind it
    end: u32,
}

// Offsets or overflows in words. All arrays give element j of 128 j + 4 lane .. 128 j + 4 lane + 3.
fn array_#DEPTH(at: u32, bit: u32, n: u32, me: Me) -> Array#DEPTH {
    var found: Array#DEPTH;
    found.end = bit + 32u * n;
    //#for #COUNT
    if 128u * @u + 4u * me.lane < n {
        found.numbers[@] = fields(at, bit + 32u * (128u * @u + 4u * me.lane), 32u);
    }
    //#end
    return found;
}
