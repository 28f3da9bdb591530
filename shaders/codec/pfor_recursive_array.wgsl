struct Array#DEPTH {
    numbers: array<vec4<u32>, #COUNT>,
    // the first bit behind it
    end: u32,
}

// An array of n numbers with exceptions: any number of them at depth 0, at most a quarter further down.
fn array_#DEPTH(at: u32, bit: u32, n: u32, me: Me) -> Array#DEPTH {
    let most = select(n, n >> 2u, #DEPTHu > 0u);
    let head = 6u + bits_of(most);
    let b = min(field(at, bit, 6u), 32u);
    let en = min(field(at, bit + 6u, bits_of(most)), most);
    let lows = select(bit + head, bit, n == 0u);
    var found: Array#DEPTH;
    found.end = lows + n * b;
    // A loop, or else compilers copy the functions below, and theirs, twice at each level.
    var offsets: Array#INNER;
    var overflows: Array#INNER;
    for (var part = 0u; part < 2u; part++) {
        offsets = overflows;
        overflows = array_#INNER(at, found.end, en, me);
        found.end = overflows.end;
    }
    //#for #COUNT
    clear_patches(me.base + 128u * @u + 4u * me.lane);
    if 128u * @u + 4u * me.lane < n {
        found.numbers[@] = fields(at, lows + (128u * @u + 4u * me.lane) * b, b);
    }
    //#end
    team_barrier();
    patch_#DEPTH(offsets, overflows, en, me);
    team_barrier();
    //#for #COUNT
    found.numbers[@] |= read_patches(me.base + 128u * @u + 4u * me.lane) << vec4<u32>(b & 31u);
    //#end
    return found;
}

// Adds the high bits of the exceptions to their numbers.
fn patch_#DEPTH(offsets: Array#INNER, overflows: Array#INNER, en: u32, me: Me) {
    let last = 128u * #COUNT - 1u;
    var base = 0u;
    //#for #EXCEPTIONS
    let sums@ = running(offsets.numbers[@] + vec4<u32>(1u));
    let before@ = base + team_sum_before(sums@.w, me);
    put_patches(128u * @u + 4u * me.lane, en, before@ + sums@ - vec4<u32>(1u), overflows.numbers[@], last, me);
    base = team_read(before@ + sums@.w, 31u, me);
    //#end
}
