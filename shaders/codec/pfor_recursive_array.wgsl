
struct ArrayDEPTH {
    numbers: array<vec4<u32>, COUNT>,
    // the first bit behind it
    end: u32,
}

// An array of n numbers that has exceptions: of as many as there are at depth 0, of a quarter further down.
fn array_DEPTH(at: u32, bit: u32, n: u32, me: Me) -> ArrayDEPTH {
    let most = select(n, n >> 2u, DEPTHu > 0u);
    let head = 6u + bits_of(most);
    let b = min(field(at, bit, 6u), 32u);
    let en = min(field(at, bit + 6u, bits_of(most)), most);
    let lows = select(bit + head, bit, n == 0u);
    var found: ArrayDEPTH;
    found.end = lows + n * b;
    // A loop, or else compilers copy the functions below, and theirs, twice at each level.
    var offsets: ArrayINNER;
    var overflows: ArrayINNER;
    for (var part = 0u; part < 2u; part++) {
        offsets = overflows;
        overflows = array_INNER(at, found.end, en, me);
        found.end = overflows.end;
    }
    //[
    clear_patches(me.base + 128u * @u + 4u * me.lane);
    if 128u * @u + 4u * me.lane < n {
        found.numbers[@] = fields(at, lows + (128u * @u + 4u * me.lane) * b, b);
    }
    //]
    team_barrier();
    patch_DEPTH(offsets, overflows, en, me);
    team_barrier();
    //[
    found.numbers[@] |= read_patches(me.base + 128u * @u + 4u * me.lane) << vec4<u32>(b & 31u);
    //]
    return found;
}

// Puts what the exceptions have above their low bits where their numbers are.
fn patch_DEPTH(offsets: ArrayINNER, overflows: ArrayINNER, en: u32, me: Me) {
    let last = 128u * COUNT - 1u;
    var base = 0u;
    //EXCEPTIONS
    //[
    let sums@ = running(offsets.numbers[@] + vec4<u32>(1u));
    let before@ = base + team_sum_before(sums@.w, me);
    put_patches(128u * @u + 4u * me.lane, en, before@ + sums@ - vec4<u32>(1u), overflows.numbers[@], last, me);
    base = team_read(before@ + sums@.w, 31u, me);
    //]
}
