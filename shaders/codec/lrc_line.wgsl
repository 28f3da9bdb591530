//#import codec/parapfor_segment

// Lines and slots, shared by lrc, lrc-seg, seg-lrc and hs-lrc; and blocks with one line.

// In all of them a list of less than a block is a block with a line of its own. Only the first block of such a list is
// the first and not whole.
fn is_list_of_one_block(block: Block) -> bool {
    return block.index == 0u && block.len < BLOCK;
}

// The width that a code of five bits stands for.
fn width_of(code: u32) -> u32 {
    return select(code, 32u, code == 31u);
}

// The height at position i < 128 of a line whose slope has 16 bits.
fn height(slope: u32, i: u32) -> u32 {
    let mantissa = slope & 0x7ffu;
    let shift = extractBits(slope, 11u, 5u);
    return ((mantissa * i) >> (11u - min(shift, 11u))) << (max(shift, 11u) - 11u);
}

// The line of a list: the slope times 2^32 in two words, and the width of its slots.
struct ListLine {
    low: u32,
    high: u32,
    width: u32,
}

fn list_line(at: u32) -> ListLine {
    let low = word(at);
    return ListLine(low & ~63u, word(at + 1u), low & 63u);
}

// The upper half of a b.
fn high_product(a: u32, b: u32) -> u32 {
    let a0 = a & 0xffffu;
    let a1 = a >> 16u;
    let b0 = b & 0xffffu;
    let b1 = b >> 16u;
    let middle = a1 * b0 + ((a0 * b0) >> 16u);
    return a1 * b1 + (middle >> 16u) + ((a0 * b1 + (middle & 0xffffu)) >> 16u);
}

// Its height at any position, modulo 2^32.
fn list_height(line: ListLine, i: u32) -> u32 {
    return line.high * i + high_product(line.low, i);
}

// Slots that are fields: as a segment without exceptions, slot 0 at bit `bit`.
fn slots_of_width(bit: u32, width: u32) -> Segment {
    return Segment(min(width, 32u), 0u, 0u, 0u, bit, bit, bit, bit);
}

// n slots at bit `bit` of the words that start at word `at`: the code of a width and fields, or with exceptions a
// segment.
fn slots_with_code(at: u32, bit: u32, n: u32) -> Segment {
    if EXCEPTIONS != 0u {
        return segment_read(at, bit, n);
    }
    return slots_of_width(bit + 5u, width_of(field(at, bit, 5u)));
}

// The slots of a block whose width stands in a table at word `table`; with exceptions, a segment at word `at`.
fn slots_with_table(at: u32, table: u32, block: Block) -> Segment {
    if EXCEPTIONS != 0u {
        return segment_read(at, 0u, block.len);
    }
    return slots_of_width(0u, width_of(field(table + 1u, 5u * block.index, 5u)));
}

// Words of that table.
fn table_words(table: u32) -> u32 {
    return select(1u + (5u * word(table) + 31u) / 32u, 0u, EXCEPTIONS != 0u);
}

// A block with one line.
struct Lined {
    // its slots, from word `at` on
    at: u32,
    slots: Segment,
    // the shared part of all docIDs
    base: u32,
    // whether it has a line of its own, of this slope, or none
    own: bool,
    slope: u32,
    // else the line of the list, and the position where the block starts
    line: ListLine,
    start: u32,
}

// A block with a line of its own, or without one.
fn own_lined(block: Block) -> Lined {
    let head = word(block.at);
    var lined = Lined(block.at, slots_of_width(0u, 0u), block.first, true, 0u, ListLine(), 0u);
    if (head & 1u) == 1u {
        lined.slope = extractBits(head, 1u, 16u);
        lined.slots = slots_with_code(block.at, 17u, block.len);
        lined.base -= segment_number(block.at, lined.slots, 0u);
    } else {
        // slot 1 is at bit 6; slot 0, which is not stored, may then start in the word before the block's
        let width = width_of(extractBits(head, 1u, 5u));
        lined.at -= 1u;
        lined.slots = slots_of_width(32u + 6u - width, width);
    }
    return lined;
}

fn lined_docid(block: Block, lined: Lined, i: u32, slot: u32) -> u32 {
    if lined.own {
        return select(lined.base + i + height(lined.slope, i) + slot, block.first, i == 0u);
    }
    return lined.base + list_height(lined.line, lined.start + i) + slot;
}

fn lined_docids(block: Block, lined: Lined, i: u32, slots: vec4<u32>) -> vec4<u32> {
    return vec4<u32>(
        lined_docid(block, lined, i, slots.x),
        lined_docid(block, lined, i + 1u, slots.y),
        lined_docid(block, lined, i + 2u, slots.z),
        lined_docid(block, lined, i + 3u, slots.w),
    );
}
