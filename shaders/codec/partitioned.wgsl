// The shared part of pef and best: the head of a block, and the places of its cells and of the ones of its high part.
// src/codec/partitioned/mod.rs has the layout. Lane l of a team handles cells 2 l and 2 l + 1.
//
// A team's scratch: BLOCK positions of ones, counted from the start of the high part, then columns of CELLS words.

struct Head {
    // bit c is set if cell c > 0 starts a partition
    starts: vec2<u32>,
    // the first partition's width
    width: u32,
    // bit of the block where the widths of the further ones are
    widths: u32,
    // bits before the low part
    bits: u32,
    // whether there is no high part
    packed: bool,
}

struct Cell {
    // bits of a low part, or RUN
    width: u32,
    // numbers that have a one
    ones: u32,
    // bits in the low part
    low_bits: u32,
}

// Two cells of a lane, and where they start.
struct Pair {
    a: Cell,
    b: Cell,
    // ones of the cells before
    rank: u32,
    // bit of the block where their low parts start
    low: u32,
}

fn read_head(block: Block) -> Head {
    let w = word(block.at);
    let splits = (block.len - 1u) / CELL;
    let split = splits > 0u && extractBits(w, WIDTH_BITS, 1u) == 1u;
    let mask = WIDTH_BITS + TAGS;
    let x = extractBits(field(block.at, mask, 32u), 0u, select(0u, min(splits, 32u), split));
    let y = extractBits(field(block.at, mask + 32u, 32u), 0u, select(0u, max(splits, 32u) - 32u, split));
    let widths = select(select(mask, WIDTH_BITS, splits == 0u), mask + splits, split);
    let packed = TAGS == 2u && splits > 0u && extractBits(w, WIDTH_BITS + 1u, 1u) == 1u;
    let more = WIDTH_BITS * (countOneBits(x) + countOneBits(y));
    return Head(vec2<u32>(x << 1u, (y << 1u) | (x >> 31u)), extractBits(w, 0u, WIDTH_BITS), widths, widths + more, packed);
}

// The bits of `starts` for cells 0 to c.
fn starts_up_to(head: Head, c: u32) -> vec2<u32> {
    let last = (2u << (c & 31u)) - 1u;
    return select(vec2<u32>(head.starts.x, head.starts.y & last), vec2<u32>(head.starts.x & last, 0u), c < 32u);
}

fn width_of(block: Block, head: Head, c: u32) -> u32 {
    let starts = starts_up_to(head, c);
    let k = countOneBits(starts.x) + countOneBits(starts.y);
    return select(field(block.at, head.widths + WIDTH_BITS * (k - 1u), WIDTH_BITS), head.width, k == 0u);
}

// Positions of the block in cells before c; cell 0 has no number at position 0.
fn numbers_before(block: Block, c: u32) -> u32 {
    return max(min(CELL * c, block.len), 1u);
}

fn read_cell(block: Block, head: Head, c: u32) -> Cell {
    let width = width_of(block, head, c);
    let count = numbers_before(block, c + 1u) - numbers_before(block, c);
    let stored = select(count, 0u, width == RUN);
    return Cell(width, select(stored, 0u, head.packed), stored * width);
}

// This lane's cells; and the position of the block's i-th one goes to scratch[me.base + i]. A team_barrier() must
// follow. None is needed before: the sums keep a team together between reading an earlier block and writing.
fn spread(block: Block, head: Head, me: Me) -> Pair {
    let a = read_cell(block, head, 2u * me.lane);
    let b = read_cell(block, head, 2u * me.lane + 1u);
    let mine = (a.ones + b.ones) | ((a.low_bits + b.low_bits) << 16u);
    let before = team_sum_before(mine, me);
    let all = team_read(before + mine, 31u, me);
    let ones = all & 0xffffu;
    let high = head.bits + (all >> 16u);
    let at = block.at + (high >> 5u) + 2u * me.lane;
    var x = word(at);
    var y = word(at + 1u);
    x &= select(0xffffffffu, 0xffffffffu << (high & 31u), me.lane == 0u);
    var rank = team_sum_before(countOneBits(x) + countOneBits(y), me);
    let position = 64u * me.lane - (high & 31u);
    // at most 32 rounds each, and rank < ones < BLOCK where scratch is written
    while x != 0u && rank < ones {
        scratch[me.base + rank] = position + firstTrailingBit(x);
        x &= x - 1u;
        rank += 1u;
    }
    while y != 0u && rank < ones {
        scratch[me.base + rank] = position + 32u + firstTrailingBit(y);
        y &= y - 1u;
        rank += 1u;
    }
    return Pair(a, b, before & 0xffffu, head.bits + (before >> 16u));
}

// The place of cell c in the k-th column.
fn column(k: u32, c: u32, me: Me) -> u32 {
    return me.base + BLOCK + k * CELLS + (c & (CELLS - 1u));
}

// A lane's data of a cell: the places of its ones and of its low parts, for the number at position q of the block. In
// two words: ones before the cell plus 1 (less 1 in cell 0), width; bit of the low part of position 0 of the cell.
fn write_places(pair: Pair, me: Me) {
    let first = select(0u, 1u, me.lane == 0u);
    let c = 2u * me.lane;
    scratch[column(0u, c, me)] = (pair.rank + 1u - first) | (pair.a.width << 16u);
    scratch[column(1u, c, me)] = pair.low - first * pair.a.width;
    scratch[column(0u, c + 1u, me)] = (pair.rank + pair.a.ones + 1u) | (pair.b.width << 16u);
    scratch[column(1u, c + 1u, me)] = pair.low + pair.a.low_bits;
}

// The position of a one in the high part, by its number.
fn one_at(rank: u32, me: Me) -> u32 {
    return scratch[me.base + (rank & (BLOCK - 1u))];
}
