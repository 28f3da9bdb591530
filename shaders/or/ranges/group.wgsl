//#import by_range
//#import scores

// How a list's postings lie by range: for each group of ranges the position of its first posting, behind the last group
// the number of all postings, and then the postings. The low bits of one say where its document is, and the high ones
// what its score needs, or all ones if that needs more.
//
// | postings of the list | ranges of a group | bits of a posting | where the document is |
// |---|---|---|---|
// | one for every fourth range or more | 1 | 16 | in the group |
// | enough for a table | 2^GROUP | 16 | in the group |
// | fewer | 2^WIDE_GROUP | 32, of which 8 are its impact as a byte | in the tile of ranges |
//
// So few postings are read in vain, and those of a tile of a list without a table lie together.
//
// Constants: SHIFT, a range has 2^SHIFT docIDs; PADDED, ranges; TILE, 2^TILE_BITS ranges; DENSE and TABLED, postings
// from which on groups are single ranges, and lists have tables.

fn is_wide(t: Term) -> bool {
    return t.df < TABLED;
}

// A group has 2 to the power of this many ranges.
fn group_bits(t: Term) -> u32 {
    return select(select(GROUP, 0u, t.df >= DENSE), WIDE_GROUP, is_wide(t));
}

// Bits of a posting that say where its document is.
fn place_bits(t: Term) -> u32 {
    return SHIFT + select(group_bits(t), TILE_BITS, is_wide(t));
}

// The bit at which the value begins.
fn value_bit(t: Term) -> u32 {
    return place_bits(t) + select(0u, 8u, is_wide(t));
}

// What stands for a value that needs more bits.
fn no_value(t: Term) -> u32 {
    return select(0xffffu, 0xffffffffu, is_wide(t)) >> value_bit(t);
}

// Address of the first posting.
fn postings_of(t: Term) -> u32 {
    return t.kept.z + (PADDED >> group_bits(t)) + 1u;
}

fn posting_at(t: Term, position: u32) -> u32 {
    if is_wide(t) {
        return by_range_word(postings_of(t) + position);
    }
    return extractBits(by_range_word(postings_of(t) + (position >> 1u)), 16u * (position & 1u), 16u);
}

// What the score of a posting needs.
fn value_at(t: Term, position: u32, posting: u32, doc: u32) -> u32 {
    let value = posting >> value_bit(t);
    if value == no_value(t) {
        return values_of(t, position & ~3u, vec4<u32>(doc))[position & 3u];
    }
    return value;
}

// Of a posting of a list without a table: the range, by its number in the tile, and its impact.

fn range_in_tile(posting: u32) -> u32 {
    return (posting >> SHIFT) & (TILE - 1u);
}

fn byte_of(t: Term, posting: u32) -> u32 {
    return extractBits(posting, place_bits(t), 8u);
}
