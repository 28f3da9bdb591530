//#import patches

// Segments of numbers with their exceptions apart, laid out as in src/codec/parapfor/segment.rs. The constant
// EXCEPTIONS is 0 if no segment has any. Else `scratch` needs 128 ITEMS words.

// A header, and where its fields lie: bits counted from the word that was given with it.
struct Segment {
    b: u32,
    ib: u32,
    hb: u32,
    en: u32,
    lows: u32,
    indexes: u32,
    highs: u32,
    // the first bit behind the segment
    end: u32,
}

// The header of a segment of n numbers at bit `bit` of the words that start at word `at`.
fn segment_read(at: u32, bit: u32, n: u32) -> Segment {
    let header = field(at, bit, 25u);
    let apart = EXCEPTIONS != 0u && (header & 64u) != 0u;
    var s: Segment;
    s.b = min(header & 63u, 32u);
    s.ib = (header >> 16u) & 15u;
    s.hb = (header >> 20u) + 1u;
    s.en = select(0u, (header >> 7u) & 511u, apart);
    s.lows = bit + select(7u, 25u, apart);
    s.indexes = s.lows + n * s.b;
    s.highs = s.indexes + s.en * s.ib;
    s.end = s.highs + s.en * s.hb;
    return s;
}

// The low bits of numbers i .. i + 3.
fn segment_lows(at: u32, s: Segment, i: u32) -> vec4<u32> {
    return fields(at, s.lows + i * s.b, s.b);
}

// Number i by itself; a thread calls it alone.
fn segment_number(at: u32, s: Segment, i: u32) -> u32 {
    var number = field(at, s.lows + i * s.b, s.b);
    var low = 0u;
    var high = s.en;
    // at most 511 exceptions
    for (var step = 0u; step < 9u && low < high; step++) {
        let middle = (low + high) >> 1u;
        let index = field(at, s.indexes + middle * s.ib, s.ib);
        if index == i {
            number |= field(at, s.highs + middle * s.hb, s.hb) << (s.b & 31u);
            break;
        }
        if index < i {
            low = middle + 1u;
        } else {
            high = middle;
        }
    }
    return number;
}

// A team calls this together to get all numbers of its segment. Element j of a thread's result is the numbers at the
// positions 128 j + 4 lane .. 128 j + 4 lane + 3; behind the last number there may be anything.
fn segment_numbers(at: u32, s: Segment, me: Me) -> Docs {
    segment_patches(at, s, me);
    var numbers: Docs;
    //#for ITEMS
    numbers[@] = segment_lows(at, s, 128u * @u + 4u * me.lane) | segment_patch(128u * @u + 4u * me.lane, me);
    //#end
    return numbers;
}
