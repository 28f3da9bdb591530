// Scores by BM25: tf / (tf + K) times a weight, in whole numbers. The CPU computes the same (src/score/whole.rs).
//
// The kernel declares norms: array<f32>, K of each document.

// 128 bits from bit `bit` of the words that start at word `at`.
fn bits_128(at: u32, bit: u32) -> vec4<u32> {
    let i = at + (bit >> 5u);
    let near = vec4<u32>(word(i), word(i + 1u), word(i + 2u), word(i + 3u));
    let next = vec4<u32>(near.yzw, word(i + 4u));
    // in two steps, since a shift by 32 is none
    return (near >> vec4<u32>(bit & 31u)) | ((next << vec4<u32>(31u - (bit & 31u))) << vec4<u32>(1u));
}

// A block of up to 128 frequencies.
struct TfBlock {
    // how many there are
    n: u32,
    // the word that it starts at
    at: u32,
    // bits before its slots, and of a slot
    slots: u32,
    width: u32,
    // frequencies that need more bits, and how many more
    exceptions: u32,
    over: u32,
}

// Where a block of frequencies starts, and what its bits mean. For a list of one frequency both are of no meaning.
fn tf_place(t: Term, number: u32) -> vec2<u32> {
    if t.kind != TF_BLOCK && t.kind != TF_CONSTANT {
        let bases = (((t.df + 127u) >> 7u) - 1u) >> 5u;
        let group = number >> 5u;
        var start = bases + ((t.df + 127u) >> 7u);
        if group > 0u {
            start = word(t.tf + group - 1u);
        }
        return vec2<u32>(t.tf + start, word(t.tf + bases + number));
    }
    return vec2<u32>(t.tf, word(t.tf));
}

fn tf_block(t: Term, number: u32, place: vec2<u32>) -> TfBlock {
    let n = min(t.df - number * 128u, 128u);
    let head = place.y;
    if t.kind == TF_BLOCK {
        let bits = firstLeadingBit(n) + 1u;
        let exceptions = extractBits(head, 5u, bits);
        let slots = 5u + bits + select(0u, 5u, exceptions > 0u);
        return TfBlock(n, place.x, slots, head & 31u, min(exceptions, n), extractBits(head, 5u + bits, 5u));
    }
    let exceptions = min(extractBits(head, 19u, 8u), n);
    return TfBlock(n, place.x, (head & 0x3fffu) << 3u, extractBits(head, 14u, 5u), exceptions, head >> 27u);
}

// Bits of the position of an exception. If these are more than a bit for each frequency, there is one of these.
fn position_bits(b: TfBlock) -> u32 {
    return firstLeadingBit(b.n - 1u) + 1u;
}

fn has_positions(b: TfBlock) -> bool {
    return b.exceptions * position_bits(b) <= b.n;
}

// How many exceptions come before position i, and which of the positions from there on are some, by a bit for each
// position up to the next multiple of 32.
fn exceptions_by(flags: vec4<u32>, i: u32) -> vec2<u32> {
    let parts = vec4<u32>(0u, 1u, 2u, 3u);
    let part = vec4<u32>(i >> 5u);
    let below = vec4<u32>((1u << (i & 31u)) - 1u);
    let before = select(select(vec4<u32>(0u), below, parts == part), vec4<u32>(0xffffffffu), parts < part);
    let counts = countOneBits(flags & before);
    let own = select(vec4<u32>(0u), flags, parts == part);
    return vec2<u32>(counts.x + counts.y + counts.z + counts.w, (own.x | own.y | own.z | own.w) >> (i & 31u));
}

// The same by one thread from the positions of the exceptions.
fn exceptions_from(b: TfBlock, i: u32) -> vec2<u32> {
    let bits = position_bits(b);
    // 128 bits at most
    var flags = bits_128(b.at, b.slots + b.n * b.width);
    var k = 0u;
    var here = 0u;
    for (var e = 0u; e < b.exceptions; e++) {
        let place = extractBits(flags.x, 0u, bits);
        k += select(0u, 1u, place < i);
        here |= select(0u, 1u << (place & 3u), (place ^ i) < 4u);
        flags = (flags >> vec4<u32>(bits)) | (vec4<u32>(flags.yzw, 0u) << vec4<u32>(32u - bits));
    }
    return vec2<u32>(k, here);
}

// The frequencies at the four positions from i on, the first `own.x` exceptions before which are others', and `own.y`
// of which are some.
fn tfs_from(b: TfBlock, i: u32, own: vec2<u32>) -> vec4<u32> {
    var tfs = fields(b.at, b.slots + i * b.width, b.width);
    if b.exceptions > 0u {
        let told = b.slots + b.n * b.width;
        let positions = b.exceptions * position_bits(b);
        // the first high bits belong to the first of these exceptions, and so on
        let highs = (fields(b.at, told + min(positions, b.n) + own.x * b.over, b.over) + 1u) << vec4<u32>(b.width);
        let has = (vec4<u32>(own.y) >> vec4<u32>(0u, 1u, 2u, 3u)) & vec4<u32>(1u);
        let second = select(highs.x, highs.y, has.x == 1u);
        let two = has.x + has.y;
        let third = select(select(highs.x, highs.y, two == 1u), highs.z, two == 2u);
        let three = two + has.z;
        let fourth = select(select(highs.x, highs.y, three == 1u), select(highs.z, highs.w, three == 3u), three >= 2u);
        tfs |= select(vec4<u32>(0u), vec4<u32>(highs.x, second, third, fourth), has == vec4<u32>(1u));
    }
    return tfs + 1u;
}

// The frequencies at four positions of a list, from `position` on, a multiple of 4.
fn tfs_of(t: Term, position: u32) -> vec4<u32> {
    if t.kind == TF_CONSTANT {
        return vec4<u32>(t.tf);
    }
    let number = position >> 7u;
    let b = tf_block(t, number, tf_place(t, number));
    let i = position & 127u;
    var own = vec2<u32>(0u);
    if b.exceptions > 0u {
        if has_positions(b) {
            own = exceptions_from(b, i);
        } else {
            own = exceptions_by(bits_128(b.at, b.slots + b.n * b.width), i);
        }
    }
    return tfs_from(b, i, own);
}

// What a team knows of a block of up to 128 frequencies.
struct Tfs {
    block: TfBlock,
    // a bit for each exception
    flags: vec4<u32>,
}

// Of block `number` of a list, which is at `place`. The team calls it together.
fn tfs_of_team(t: Term, number: u32, place: vec2<u32>, me: Me) -> Tfs {
    var tfs: Tfs;
    if t.kind == TF_CONSTANT {
        return tfs;
    }
    let b = tf_block(t, number, place);
    tfs.block = b;
    if b.exceptions > 0u {
        let told = b.slots + b.n * b.width;
        if has_positions(b) {
            // a thread an exception
            let bits = position_bits(b);
            tfs.flags = team_flags(field(b.at, told + me.lane * bits, bits), me.lane < b.exceptions, me);
        } else {
            tfs.flags = bits_128(b.at, told);
        }
    }
    return tfs;
}

// The frequency at position i of the block.
fn tf_at(t: Term, tfs: Tfs, i: u32) -> u32 {
    if t.kind == TF_CONSTANT {
        return t.tf;
    }
    let b = tfs.block;
    var tf = field(b.at, b.slots + i * b.width, b.width);
    if b.exceptions > 0u {
        let own = exceptions_by(tfs.flags, i);
        if (own.y & 1u) == 1u {
            let told = b.slots + b.n * b.width;
            let positions = min(b.exceptions * position_bits(b), b.n);
            tf |= (field(b.at, told + positions + own.x * b.over, b.over) + 1u) << b.width;
        }
    }
    return tf + 1u;
}

// tf / (tf + K), from 0 to 1.
fn impact_of(tf: u32, doc: u32) -> f32 {
    let count = f32(tf);
    return count / (count + norms[min(doc, DOCS - 1u)]);
}

// The part of a posting in the score of its document: weight * tf / (tf + K), to the nearest whole number, halves up,
// and 1 at least.
//
// A product and a sum that stand alone are rounded correctly. A quotient may be off by 2.5 units in the last place,
// which is less than 1, since a weight is at most 2^22. So the nearest whole number is the quotient's, or one beside
// it: twice the remainder tells, in units of the last place of the divisor. It is small, so its lower 32 bits are all
// of it.
fn share(t: Term, tf: u32, doc: u32) -> u32 {
    let count = f32(min(tf, MAX_TF));
    let above = bitcast<f32>(t.weight) * count;
    let below = count + norms[min(doc, DOCS - 1u)];
    // the sum with 2^23 has the whole number nearest to the quotient in its last bits
    let near = bitcast<u32>(above / below + 8388608.0) & 0x7fffffu;
    let a = bitcast<u32>(above);
    let b = bitcast<u32>(below);
    let divisor = (b & 0x7fffffu) | 0x800000u;
    // where the quotient is less than 1, this is none, and the answer 1
    let exponent = (a >> 23u) - (b >> 23u);
    let dividend = ((a & 0x7fffffu) | 0x800000u) << (exponent + 1u);
    let twice = i32(dividend - 2u * near * divisor);
    let one = i32(divisor);
    let rounded = near + select(0u, 1u, twice >= one) - select(0u, 1u, twice < -one);
    return select(1u, rounded, above >= below);
}

// The same of the posting at position i of a block.
fn part_at(t: Term, tfs: Tfs, i: u32, doc: u32) -> u32 {
    return share(t, tf_at(t, tfs, i), doc);
}

// The same of the postings at four positions of a list, from `position` on, a multiple of 4.
fn shares_of(t: Term, position: u32, docs: vec4<u32>) -> vec4<u32> {
    let tfs = tfs_of(t, position);
    return vec4<u32>(
        share(t, tfs.x, docs.x),
        share(t, tfs.y, docs.y),
        share(t, tfs.z, docs.z),
        share(t, tfs.w, docs.w),
    );
}

// What the parts of postings at four positions need, as for `shares_of`, besides their documents.
fn values_of(t: Term, position: u32, docs: vec4<u32>) -> vec4<u32> {
    return tfs_of(t, position);
}

// The part of a posting with this value in the score of its document.
fn part_by_value(t: Term, value: u32, doc: u32) -> u32 {
    return share(t, value, doc);
}

// Their impacts as bytes, 1 to 255, rounded up.
fn bytes_of(t: Term, position: u32, docs: vec4<u32>) -> vec4<u32> {
    let tfs = tfs_of(t, position);
    var bytes: vec4<u32>;
    for (var c = 0u; c < 4u; c++) {
        bytes[c] = clamp(u32(ceil(impact_of(tfs[c], docs[c]) * 255.001)), 1u, 255u);
    }
    return bytes;
}

// What a posting with this byte as its impact has in a bound of a score, rounded down: so much may be taken from the
// bound when its term is added up, and the rest is a bound of the other terms. In long documents an impact may be far
// below a 255th; the bound of the whole list then keeps sums of bounds from running over.
fn share_in_bound(t: Term, byte: u32) -> u32 {
    return u32(min(bitcast<f32>(t.weight) * (f32(byte) * 0.0039215684), bitcast<f32>(t.kept.x)));
}
