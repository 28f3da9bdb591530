// The half of `evaluate` that decodes blocks: what it adds up, and where, is declared there.

// documents of a block that are in the range: the position in the block, and the place in the range
var<workgroup> together: array<u32, 128>;

// Adds the blocks of terms whose postings do not lie by range, in range r, as far as it may have a hit. `which`: the
// first term, how many there are, and how many terms of the query are done before. Returns how many blocks it decoded.
fn add_blocks(query: Query, which: vec3<u32>, r: u32, found: Mine, least: u32, me: Me) -> u32 {
    let low = mates[r].x << SHIFT;
    let mine = me.lane / which.y == r;
    // the most that the terms to come can add
    var rest = NONE;
    let shares = team_sum(select(0u, found.share, mine && found.blocks == 0u), me);
    if params.prune == 1u && mates[r].y < 0xffffu && query.terms <= 32u {
        rest = mates[r].y << query.bound_shift;
        rest -= min(rest, shares);
    }
    var decoded = 0u;
    var done = which.z;
    for (var n = 0u; n < which.y; n++) {
        let source = r * which.y + n;
        let t = term_of(query.first + which.x + n);
        if t.kept.z != NONE {
            continue;
        }
        // the best sum so far; of a document with all terms so far, if all are needed
        var best = 0u;
        for (var i = me.lane; i < WIDTH; i += 32u) {
            let sum = atomicLoad(&sums[r * WIDTH + i]);
            let lost = query.all == 1u && sum >> 24u != (done & 255u);
            best = select(max(best, sum & (ONE_TERM - 1u)), best, lost);
        }
        workgroupBarrier();
        best = team_max(best, me);
        if (rest != NONE && best + rest < least) || (query.all == 1u && done > 0u && best == 0u) {
            break;
        }
        let tabled = t.table != NONE;
        let start = team_read(found.start, source, me);
        let blocks = team_read(found.blocks, source, me);
        decoded += blocks;
        var greatest_share = 0u;
        for (var b = start; b < start + blocks; b++) {
            var block = Block(t.list, 0u, 0u, min(t.df - b * BLOCK, BLOCK), b);
            var tf: vec2<u32>;
            if b == start {
                block.first = team_read(found.first, source, me);
                block.at = team_read(found.at, source, me);
                tf = vec2<u32>(team_read(found.tf.x, source, me), team_read(found.tf.y, source, me));
            } else {
                block = block_of(t, b);
                tf = tf_place(t, (b * BLOCK) >> 7u);
            }
            let docs = docs_of(block, me);
            if SCRATCH > 0u {
                team_barrier();
            }
            for (var j = 0u; j < ITEMS; j++) {
                let p = 128u * j + 4u * me.lane;
                var near = (docs[j] - low) < vec4<u32>(WIDTH);
                near = near & (docs[j] < vec4<u32>(DOCS));
                // a document that cannot reach the threshold any more needs no frequency
                //#for 4
                near[@u] = near[@u] && p + @u < block.len;
                if near[@u] && tabled {
                    let sum@ = atomicLoad(&sums[r * WIDTH + docs[j][@u] - low]);
                    let lost@ = query.all == 1u && sum@ >> 24u != (done & 255u);
                    near[@u] = !lost@ && (rest == NONE || (sum@ & (ONE_TERM - 1u)) + rest >= least);
                }
                //#end
                // these documents come together, one a thread: of most blocks there are few
                workgroupBarrier();
                let ones = vec4<u32>(near);
                let own = ones.x + ones.y + ones.z + ones.w;
                let before = team_sum_before(own, me);
                let all = team_read(before + own, 31u, me);
                if all == 0u {
                    continue;
                }
                let tf_number = (b * BLOCK + 128u * j) >> 7u;
                if j > 0u {
                    tf = tf_place(t, tf_number);
                }
                let tfs = tfs_of_team(t, tf_number, tf, me);
                var to = before;
                //#for 4
                if near[@u] {
                    together[to] = (4u * me.lane + @u) << 16u | (docs[j][@u] - low);
                    to += 1u;
                }
                //#end
                workgroupBarrier();
                for (var slot = me.lane; slot < all; slot += 32u) {
                    let one = together[slot];
                    let i = one & 0xffffu;
                    let part = part_in_block(t, tfs, b * BLOCK + 128u * j, one >> 16u, low + i);
                    greatest_share = max(greatest_share, part);
                    add(query, r, i, part, least);
                }
                workgroupBarrier();
            }
        }
        workgroupBarrier();
        done += 1u;
        let greatest = team_max(greatest_share, me);
        if rest != NONE {
            rest -= min(rest, select(greatest, team_read(found.share, source, me), tabled));
        }
    }
    return decoded;
}

// The part of a posting: the i-th of 128 from `start` on, which is a position of the list. Frequencies lie in blocks of
// 128 positions; where the codec's blocks are no multiple of that, `tfs` are not those of these 128.
fn part_in_block(t: Term, tfs: Tfs, start: u32, i: u32, doc: u32) -> u32 {
    if BLOCK % 128u == 0u {
        return part_at(t, tfs, i, doc);
    }
    let position = start + i;
    return part_by_value(t, values_of(t, position & ~3u, vec4<u32>(doc))[position & 3u], doc);
}
