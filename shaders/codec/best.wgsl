//#import codec/partitioned

// best: Rice codes or packed gaps; see src/codec/partitioned/best.rs. Blocks of both forms go the same way: a packed
// one has no ones, and its numbers no zeros.

// By how much the docID at position q is greater than the one before; `high` is the place of its one behind the last.
fn step_of(block: Block, q: u32, high: u32, width: u32, low: u32) -> u32 {
    let number = (high << width) | field(block.at, low + (q & (CELL - 1u)) * width, width);
    return select(1u + select(number, 0u, width == RUN), 0u, q == 0u);
}

fn decode_block(block: Block, me: Me) -> Docs {
    let head = read_head(block);
    let pair = spread(block, head, me);
    write_places(pair, me);
    team_barrier();
    var found: Docs;
    var before = block.first;
    // for each of ITEMS
    //#for ITEMS
    {
        let q = 128u * @u + 4u * me.lane;
        let cell = scratch[column(0u, q / CELL, me)];
        let low = scratch[column(1u, q / CELL, me)];
        let rank = (cell & 0xffffu) + (q & (CELL - 1u)) - 1u;
        let width = cell >> 16u;
        let ones = vec4<u32>(one_at(rank, me), one_at(rank + 1u, me), one_at(rank + 2u, me), one_at(rank + 3u, me));
        // nothing stands before the first one of all; position 0 has none
        let last = select(one_at(rank - 1u, me), 0xffffffffu, rank == 0u);
        var high = ones - vec4<u32>(last, ones.xyz) - 1u;
        high.y = select(high.y, ones.y, q == 0u);
        high = select(high, vec4<u32>(), head.packed);
        let sums = running(vec4<u32>(
            step_of(block, q, high.x, width, low),
            step_of(block, q + 1u, high.y, width, low),
            step_of(block, q + 2u, high.z, width, low),
            step_of(block, q + 3u, high.w, width, low),
        ));
        let lanes = team_sum_before(sums.w, me);
        found[@] = before + lanes + sums;
        before += team_read(lanes + sums.w, 31u, me);
    }
    //#end
    return found;
}
