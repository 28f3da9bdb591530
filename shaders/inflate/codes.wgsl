//#import inflate/bits

// The Huffman codes of a block, made by all lanes together from the lengths of their codewords.
//
// A code is a number that says where its parts begin: 0 for literals and lengths (and for the code that codes lengths),
// DISTANCES for distances. An *entry* has 16 bits:
//
// | bits | what |
// |---|---|
// | 0-3 | length of the codeword; no entry is 0 |
// | 4-7 | extra bits that follow, or LITERAL, END_OF_BLOCK, NO_SYMBOL |
// | 8-15 | a literal, a length less 3, or a distance less 1, shifted right by its extra bits |
//
// All indexes below are in bounds for any lengths of codewords, also for those of no code.

const DISTANCES: u32 = 16u;
const LITERAL: u32 = 6u;
const END_OF_BLOCK: u32 = 7u;
// 14 is one, too, in codes of distances
const NO_SYMBOL: u32 = 15u;

// Lengths of codewords, four bits each: literals and lengths, behind them distances.
var<workgroup> lengths: array<u32, 44>;
// Of each code and length, one more than its last codeword, as the first of 15 bits.
var<workgroup> limits: array<u32, 32>;
// What makes the place of its entry of a codeword of each length; before, how many there are.
var<workgroup> bases: array<u32, 32>;
// Entries, two a word, by the length of their codewords. Each length begins with a new word, so that lanes share none.
var<workgroup> entries: array<u32, 176>;
// What the next bits of the stream begin with: two entries a word, 0 for longer codewords and for none.
var<workgroup> literal_table: array<u32, LITERAL_WORDS>;
var<workgroup> distance_table: array<u32, DISTANCE_WORDS>;

// Two 16-bit values: the one with the even number, or the other.
fn half_of(pair: u32, number: u32) -> u32 {
    return (pair >> (16u * (number & 1u))) & 0xffffu;
}

// A bit at the place of each code length in a word of `lengths` that is `length`, of those in first..first + symbols.
fn with_length(w: u32, length: u32, first: u32, symbols: u32) -> u32 {
    let ones = 0x11111111u;
    let other = lengths[w] ^ (length * ones);
    var found = ~(other | (other >> 1u) | (other >> 2u) | (other >> 3u)) & ones;
    let number = 8u * w;
    if number < first {
        found &= ones << (4u * (first - number));
    }
    if number + 8u > first + symbols {
        found &= ones >> (4u * (number + 8u - first - symbols));
    }
    return found;
}

// The entry of a literal or length, without the length of its codeword.
fn literal_entry(symbol: u32) -> u32 {
    if symbol < 256u {
        return (symbol << 8u) | (LITERAL << 4u);
    }
    if symbol == 256u {
        return END_OF_BLOCK << 4u;
    }
    let k = symbol - 257u;
    if k < 8u {
        return k << 8u;
    }
    if k == 28u {
        return 255u << 8u;
    }
    if k > 28u {
        return NO_SYMBOL << 4u;
    }
    let extra = (k >> 2u) - 1u;
    return ((4u + (k & 3u)) << (extra + 8u)) | (extra << 4u);
}

// The entry of a distance, without the length of its codeword.
fn distance_entry(symbol: u32) -> u32 {
    if symbol < 4u {
        return symbol << 8u;
    }
    return ((2u + (symbol & 1u)) << 8u) | (((symbol >> 1u) - 1u) << 4u);
}

// Makes the code of `symbols` literals and lengths and of `distances` behind them, or the one that codes lengths. Lane
// l makes the codewords of l bits, lane DISTANCES + l those of distances.
fn make_codes(lane: u32, symbols: u32, distances: u32, of_lengths: bool) {
    let length = lane & 15u;
    let code = lane & DISTANCES;
    let first = select(0u, symbols, code != 0u);
    let count = select(symbols, distances, code != 0u);
    var found = 0u;
    if length != 0u {
        for (var w = first >> 3u; 8u * w < first + count; w++) {
            found += countOneBits(with_length(w, length, first, count));
        }
    }
    bases[lane] = found;
    workgroupBarrier();

    if length == 0u {
        var codeword = 0u;
        var place = select(0u, 304u, code != 0u);
        for (var l = 1u; l < 16u; l++) {
            let number = bases[code + l];
            limits[code + l] = (codeword + number) << (15u - l);
            bases[code + l] = place - codeword;
            place += (number + 1u) & ~1u;
            codeword = (codeword + number) << 1u;
        }
    }
    workgroupBarrier();

    if found != 0u {
        var place = bases[lane] + (limits[lane] >> (15u - length)) - found;
        var pair = 0u;
        for (var w = first >> 3u; 8u * w < first + count; w++) {
            var these = with_length(w, length, first, count);
            while these != 0u {
                let symbol = 8u * w + (countTrailingZeros(these) >> 2u) - first;
                these &= these - 1u;
                var entry = symbol << 8u;
                if code != 0u {
                    entry = distance_entry(symbol);
                } else if !of_lengths {
                    entry = literal_entry(symbol);
                }
                pair = (pair >> 16u) | ((entry | length) << 16u);
                // a word at an even place gets its second entry with the next one, if there is one
                entries[place >> 1u] = select(pair, pair >> 16u, (place & 1u) == 0u);
                place++;
            }
        }
    }
    workgroupBarrier();
}

// Whether a code has a codeword for whatever bits come.
fn is_complete(code: u32) -> bool {
    return limits[code + 15u] == 0x8000u;
}

// Whether a code has no codeword, or one of a single bit.
fn has_one_at_most(code: u32) -> bool {
    return limits[code + 15u] == 0u || (limits[code + 15u] == 0x4000u && limits[code + 1u] == 0x4000u);
}

// The entry of the codeword of shortest..=longest bits that these bits of a stream begin with; 0 if there is none.
fn entry_of(bits: u32, code: u32, shortest: u32, longest: u32) -> u32 {
    let codeword = reverseBits(bits) >> 17u;
    var entry = 0u;
    var length = shortest;
    while length <= longest && entry == 0u {
        if codeword < limits[code + length] {
            let place = bases[code + length] + (codeword >> (15u - length));
            entry = half_of(entries[place >> 1u], place);
        }
        length++;
    }
    return entry;
}

// Two neighbouring entries of a table for the next `bits` bits.
fn table_word(w: u32, code: u32, bits: u32) -> u32 {
    return entry_of(2u * w, code, 1u, bits) | (entry_of(2u * w + 1u, code, 1u, bits) << 16u);
}

fn fill_literal_table(lane: u32, bits: u32) {
    for (var w = lane; w < (1u << bits) / 2u; w += LANES) {
        literal_table[w] = table_word(w, 0u, bits);
    }
}

fn fill_distance_table(lane: u32) {
    for (var w = lane; w < DISTANCE_WORDS; w += LANES) {
        distance_table[w] = table_word(w, DISTANCES, DISTANCE_BITS);
    }
}

// The entry of what comes next, a literal or a length.
fn next_literal() -> u32 {
    let bits = peek();
    let number = bits & (2u * LITERAL_WORDS - 1u);
    var entry = half_of(literal_table[number >> 1u], number);
    if entry == 0u {
        entry = entry_of(bits, 0u, LITERAL_BITS + 1u, 15u);
    }
    return select(entry, NO_SYMBOL << 4u, entry == 0u);
}

// The entry of the distance that comes next.
fn next_distance() -> u32 {
    let bits = peek();
    let number = bits & (2u * DISTANCE_WORDS - 1u);
    var entry = half_of(distance_table[number >> 1u], number);
    if entry == 0u {
        entry = entry_of(bits, DISTANCES, DISTANCE_BITS + 1u, 15u);
    }
    return select(entry, NO_SYMBOL << 4u, entry == 0u);
}
