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

// The frequencies at four positions of a list, from `position` on, a multiple of 4.
fn tfs_of(t: Term, position: u32) -> vec4<u32> {
    if t.kind == TF_CONSTANT {
        return vec4<u32>(t.tf);
    }
    let number = position >> 7u;
    let n = min(t.df - number * 128u, 128u);
    // where the block's slots start, and what its bits mean
    var at = t.tf;
    var slots: u32;
    var width: u32;
    var exceptions: u32;
    var over: u32;
    if t.kind == TF_BLOCK {
        let head = word(at);
        let bits = firstLeadingBit(n) + 1u;
        width = head & 31u;
        exceptions = extractBits(head, 5u, bits);
        over = extractBits(head, 5u + bits, 5u);
        slots = 5u + bits + select(0u, 5u, exceptions > 0u);
    } else {
        let blocks = (t.df + 127u) >> 7u;
        let group = number >> 5u;
        let bases = (blocks - 1u) >> 5u;
        let entry = word(at + bases + number);
        var start = bases + blocks;
        if group > 0u {
            start = word(at + group - 1u);
        }
        at += start;
        slots = (entry & 0x3fffu) << 3u;
        width = extractBits(entry, 14u, 5u);
        exceptions = extractBits(entry, 19u, 8u);
        over = entry >> 27u;
    }
    let i = position & 127u;
    var tfs = fields(at, slots + i * width, width);
    if exceptions > 0u {
        exceptions = min(exceptions, n);
        let told = slots + n * width;
        let bits = firstLeadingBit(n - 1u) + 1u;
        let positions = exceptions * bits;
        // the bits that tell exceptions are 128 at most
        var flags = bits_128(at, told);
        // so many exceptions come before these four, and these of them are some
        var k = 0u;
        var here = 0u;
        if positions <= n {
            for (var e = 0u; e < exceptions; e++) {
                let place = extractBits(flags.x, 0u, bits);
                k += select(0u, 1u, place < i);
                here |= select(0u, 1u << (place & 3u), (place ^ i) < 4u);
                flags = (flags >> vec4<u32>(bits)) | (vec4<u32>(flags.yzw, 0u) << vec4<u32>(32u - bits));
            }
        } else {
            // a bit each
            let parts = vec4<u32>(0u, 1u, 2u, 3u);
            let part = vec4<u32>(i >> 5u);
            let below = vec4<u32>((1u << (i & 31u)) - 1u);
            let before = select(select(vec4<u32>(0u), below, parts == part), vec4<u32>(0xffffffffu), parts < part);
            let counts = countOneBits(flags & before);
            k = counts.x + counts.y + counts.z + counts.w;
            let own = select(vec4<u32>(0u), flags, parts == part);
            here = (own.x | own.y | own.z | own.w) >> (i & 31u);
        }
        // the first high bits belong to the first of these exceptions, and so on
        let highs = (fields(at, told + min(positions, n) + k * over, over) + 1u) << vec4<u32>(width);
        let has = (vec4<u32>(here) >> vec4<u32>(0u, 1u, 2u, 3u)) & vec4<u32>(1u);
        let second = select(highs.x, highs.y, has.x == 1u);
        let two = has.x + has.y;
        let third = select(select(highs.x, highs.y, two == 1u), highs.z, two == 2u);
        let three = two + has.z;
        let fourth = select(select(highs.x, highs.y, three == 1u), select(highs.z, highs.w, three == 3u), three >= 2u);
        tfs |= select(vec4<u32>(0u), vec4<u32>(highs.x, second, third, fourth), has == vec4<u32>(1u));
    }
    return tfs + 1u;
}

// tf / (tf + K), from 0 to 1.
fn impact_of(tf: u32, doc: u32) -> f32 {
    let count = f32(tf);
    return count / (count + norms[min(doc, DOCS - 1u)]);
}

// The parts of the postings at four positions of a list in the scores of their documents: weight * tf / (tf + K), to
// the nearest whole number, halves up, and 1 at least.
//
// A product and a sum that stand alone are rounded correctly. A quotient may be off by 2.5 units in the last place,
// which is less than 1, since a weight is at most 2^22. So the nearest whole number is the quotient's, or one beside
// it: twice the remainder tells, in units of the last place of the divisor. It is small, so its lower 32 bits are all
// of it.
fn shares_of(t: Term, position: u32, docs: vec4<u32>) -> vec4<u32> {
    let counts = vec4<f32>(min(tfs_of(t, position), vec4<u32>(MAX_TF)));
    let last = DOCS - 1u;
    let ks = vec4<f32>(
        norms[min(docs.x, last)],
        norms[min(docs.y, last)],
        norms[min(docs.z, last)],
        norms[min(docs.w, last)],
    );
    let above = bitcast<f32>(t.weight) * counts;
    let below = counts + ks;
    // the sum with 2^23 has the whole number nearest to the quotient in its last bits
    let near = bitcast<vec4<u32>>(above / below + 8388608.0) & vec4<u32>(0x7fffffu);
    let a = bitcast<vec4<u32>>(above);
    let b = bitcast<vec4<u32>>(below);
    let high_bit = vec4<u32>(0x800000u);
    let divisor = (b & vec4<u32>(0x7fffffu)) | high_bit;
    // where the quotient is less than 1, this is none, and the answer 1
    let exponent = (a >> vec4<u32>(23u)) - (b >> vec4<u32>(23u));
    let dividend = ((a & vec4<u32>(0x7fffffu)) | high_bit) << (exponent + 1u);
    let twice = vec4<i32>(dividend - 2u * near * divisor);
    let one = vec4<i32>(divisor);
    let share = near + select(vec4<u32>(0u), vec4<u32>(1u), twice >= one) - select(vec4<u32>(0u), vec4<u32>(1u), twice < -one);
    return select(vec4<u32>(1u), share, above >= below);
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

// The most that a posting with this byte as its impact adds to a score. In long documents an impact may be far below a
// 255th; the bound of the whole list then keeps sums of bounds from running over.
fn share_bound(t: Term, byte: u32) -> u32 {
    return u32(ceil(min(bitcast<f32>(t.weight) * (f32(byte) * 0.0039215689), bitcast<f32>(t.kept.x)))) + 1u;
}
