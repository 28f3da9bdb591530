//#import codec/partitioned

// pef: partitioned Elias-Fano; see src/codec/partitioned/pef.rs.

fn starts_partition(head: Head, c: u32) -> bool {
    return extractBits(select(head.starts.y, head.starts.x, c < 32u), c & 31u, 1u) == 1u;
}

// The cell that starts the partition of cell c.
fn start_of(head: Head, c: u32) -> u32 {
    let starts = starts_up_to(head, c);
    let high = 32u + firstLeadingBit(starts.y);
    let low = firstLeadingBit(starts.x | 1u);
    return select(high, low, starts.y == 0u);
}

// The zeros in the high part before the partition whose first number has this rank.
fn zeros_before(rank: u32, me: Me) -> u32 {
    return select(one_at(rank - 1u, me) + 1u - rank, 0u, rank == 0u);
}

// How far the partition that ends with cell c reaches; 0 if none does.
fn span(block: Block, head: Head, c: u32, cell: Cell, rank: u32, low: u32, me: Me) -> u32 {
    let last = (block.len - 1u) / CELL;
    let start = start_of(head, c);
    let count = numbers_before(block, c + 1u) - numbers_before(block, start);
    // the rank of the partition's first number, where its own cell has left it
    let first = (scratch[column(0u, start, me)] & 0xffffu) - select(1u, 0u, start == 0u);
    let end = rank + cell.ones - 1u;
    let high = one_at(end, me) - end - zeros_before(first, me);
    let top = (high << cell.width) | field(block.at, low + cell.low_bits - cell.width, cell.width);
    let ends = c == last || (c < last && starts_partition(head, c + 1u));
    return select(0u, count + select(top, 0u, cell.width == RUN), ends);
}

// The base of the numbers in cell c's partition, less the share of position 0 of the cell.
fn write_base(block: Block, head: Head, c: u32, docs: u32, me: Me) {
    let start = start_of(head, c);
    let first = (scratch[column(0u, start, me)] & 0xffffu) - select(1u, 0u, start == 0u);
    scratch[column(2u, c, me)] = docs + 1u - numbers_before(block, start);
    scratch[column(3u, c, me)] = zeros_before(first, me);
}

fn doc_of(block: Block, q: u32, cell: u32, low: u32, base: u32, zeros: u32, me: Me) -> u32 {
    let rank = (cell & 0xffffu) + (q & (CELL - 1u)) - 1u;
    let width = cell >> 16u;
    let high = one_at(rank, me) - rank - zeros;
    let number = (high << width) | field(block.at, low + (q & (CELL - 1u)) * width, width);
    return select(base + q + select(number, 0u, width == RUN), block.first, q == 0u);
}

fn decode_block(block: Block, me: Me) -> Docs {
    let head = read_head(block);
    let pair = spread(block, head, me);
    write_places(pair, me);
    team_barrier();
    let c = 2u * me.lane;
    let a = span(block, head, c, pair.a, pair.rank, pair.low, me);
    let b = span(block, head, c + 1u, pair.b, pair.rank + pair.a.ones, pair.low + pair.a.low_bits, me);
    let docs = block.first + team_sum_before(a + b, me);
    write_base(block, head, c, docs, me);
    write_base(block, head, c + 1u, docs + a, me);
    team_barrier();
    var found: Docs;
    // for each of ITEMS
    //#for ITEMS
    {
        let q = 128u * @u + 4u * me.lane;
        let c = q / CELL;
        let cell = scratch[column(0u, c, me)];
        let low = scratch[column(1u, c, me)];
        let base = scratch[column(2u, c, me)];
        let zeros = scratch[column(3u, c, me)];
        found[@] = vec4<u32>(
            doc_of(block, q, cell, low, base, zeros, me),
            doc_of(block, q + 1u, cell, low, base, zeros, me),
            doc_of(block, q + 2u, cell, low, base, zeros, me),
            doc_of(block, q + 3u, cell, low, base, zeros, me),
        );
    }
    //#end
    return found;
}

// The next partition of a block, for a thread that goes through them.
struct Walk {
    // its first cell
    cell: u32,
    // position of its first number, and behind its last
    start: u32,
    end: u32,
    width: u32,
    stored: u32,
}

fn walk(block: Block, head: Head, cell: u32) -> Walk {
    // the first start behind `cell`, or the end
    let behind = head.starts & ~starts_up_to(head, cell);
    let next = select(
        select(CELLS, 32u + firstTrailingBit(behind.y), behind.y != 0u), firstTrailingBit(behind.x), behind.x != 0u,
    );
    let width = width_of(block, head, cell);
    let start = numbers_before(block, cell);
    let end = numbers_before(block, next);
    return Walk(cell, start, end, width, select(end - start, 0u, width == RUN));
}

// Which cell starts the partition after this one.
fn next_cell(block: Block, step: Walk) -> u32 {
    return (step.end + CELL - 1u) / CELL;
}

fn docid_at(block: Block, i: u32) -> u32 {
    if i == 0u {
        return block.first;
    }
    let head = read_head(block);
    var high = head.bits;
    // each step goes at least a cell on, so there are at most CELLS
    for (var cell = 0u; cell * CELL < block.len;) {
        let step = walk(block, head, cell);
        high += step.stored * step.width;
        cell = next_cell(block, step);
    }
    var low = head.bits;
    // a word of the high part, its ones not passed yet, and the number of the first of them
    var at = 0u;
    var ones = word(block.at + (high >> 5u)) & (0xffffffffu << (high & 31u));
    var rank = 0u;
    var zeros = 0u;
    // the rank of the partition's first number
    var first = 0u;
    var doc = block.first;
    for (var cell = 0u; cell * CELL < block.len;) {
        let step = walk(block, head, cell);
        let last = min(step.end - 1u, i);
        var number = 0u;
        if step.width != RUN {
            // select the one of position `last`
            let wanted = first + last - step.start;
            while at < 2u * CELLS && rank + countOneBits(ones) <= wanted {
                rank += countOneBits(ones);
                at += 1u;
                ones = word(block.at + (high >> 5u) + at);
            }
            while rank < wanted {
                ones &= ones - 1u;
                rank += 1u;
            }
            let here = 32u * at + firstTrailingBit(ones) - (high & 31u) - wanted;
            number = ((here - zeros) << step.width) | field(block.at, low + (last - step.start) * step.width, step.width);
            zeros = here;
        }
        doc += number + 1u + last - step.start;
        if last == i {
            break;
        }
        low += step.stored * step.width;
        first += step.stored;
        cell = next_cell(block, step);
    }
    return doc;
}
