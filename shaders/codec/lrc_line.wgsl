// Lines and slots, as lrc, lrc-seg, seg-lrc and hs-lrc share them; and a block with a line of its own.

// Lists of less than a block are a block with a line of its own in all of them. Only the first block of such a list is the
// first and not a whole one.
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

// A block with a line of its own, or without one.
struct Segment {
    // where its line starts, less the least deviation
    base: u32,
    slope: u32,
    width: u32,
    // the bit where slot 0 is, or would be
    origin: u32,
}

fn segment(block: Block) -> Segment {
    let head = word(block.at);
    let lined = (head & 1u) == 1u;
    let width = width_of(extractBits(head, 1u, 5u));
    let slot = field(block.at, 22u, select(0u, width, lined));
    let slope = select(0u, extractBits(head, 6u, 16u), lined);
    return Segment(block.first - slot, slope, width, select(6u - width, 22u, lined));
}

fn segment_docid(block: Block, segment: Segment, i: u32) -> u32 {
    let slot = field(block.at, segment.origin + i * segment.width, segment.width);
    return select(segment.base + i + height(segment.slope, i) + slot, block.first, i == 0u);
}

fn segment_docids(block: Block, i: u32) -> vec4<u32> {
    let segment = segment(block);
    return vec4<u32>(
        segment_docid(block, segment, i),
        segment_docid(block, segment, i + 1u),
        segment_docid(block, segment, i + 2u),
        segment_docid(block, segment, i + 3u),
    );
}
