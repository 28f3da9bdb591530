//#import shared/list
//#import tables
//#import or/ranges/group
//#import or/ranges/state
//#import params

// An upper bound of the scores of each range of docIDs, query by query: a workgroup takes a tile of ranges of a query.
// Of most terms it is in a table. Without one, postings of the tile that lie together are looked through, by some
// threads for each of several terms at once; else they are decoded.
//
// For a few queries it also picks the ranges of the first wave, each workgroup the best of its tile: a pass that
// selects the best of all takes longer.

var<storage, read> norms: array<f32>;
// 16 bits a range, PADDED ranges a query; whole registers, since single words of threads far apart take longer
var<storage, read_write> bounds: array<vec4<u32>>;
var<storage, read_write> state: array<atomic<u32>>;
// the greatest bound of each tile of a query
var<storage, read_write> tile_bounds: array<u32>;
// picked ranges: query * PADDED + range, and the bound
var<storage, read_write> chosen: array<vec2<u32>>;

// Threads that look through a term's postings in a tile.
const SPREAD: u32 = 16u;

// sums of steps by range, or of one term the greatest impact of each range
var<workgroup> sparse: array<atomic<u32>, TILE>;
var<workgroup> counts: array<atomic<u32>, BOUND_BUCKETS>;
var<workgroup> tile_bound: atomic<u32>;
// how many ranges are above the class of the last ones picked and in it, and where they go
var<workgroup> above: atomic<u32>;
var<workgroup> within: atomic<u32>;
var<workgroup> base: u32;
var<workgroup> blocks_from: u32;
var<workgroup> blocks_to: u32;

fn clear_sparse(thread: u32) {
    for (var i = thread; i < TILE; i += THREADS) {
        atomicStore(&sparse[i], 0u);
    }
}

fn lies_by_tile(t: Term) -> bool {
    return t.table == NONE && t.kept.z != NONE;
}

// Adds the steps of a list that lies by tile to the sums of the tile's ranges, for thread `lane` of SPREAD.
fn add_steps(t: Term, tile: u32, lane: u32) {
    let group = t.kept.z + tile * (TILE >> WIDE_GROUP);
    let first = by_range_word(group);
    let end = by_range_word(group + (TILE >> WIDE_GROUP));
    for (var i = first + lane; i < end; i += SPREAD) {
        let range = range_in_tile(posting_at(t, i));
        // a thread takes all postings of a range, from the first on
        if i > first && range_in_tile(posting_at(t, i - 1u)) == range {
            continue;
        }
        var most = 0u;
        for (var j = i; j < end; j++) {
            let posting = posting_at(t, j);
            if range_in_tile(posting) != range {
                break;
            }
            most = max(most, byte_of(t, posting));
        }
        atomicAdd(&sparse[range], most * t.kept.y);
    }
}

// Range maxima of a list without a table, from its postings.
fn scatter(t: Term, tile: u32, thread: u32, me: Me) {
    clear_sparse(thread);
    let low = tile * (TILE << SHIFT);
    let from_block = locate(t, low, me);
    let to_block = locate(t, low + ((TILE << SHIFT) - 1u), me);
    if thread == 0u {
        blocks_from = from_block;
        blocks_to = to_block;
    }
    let first = workgroupUniformLoad(&blocks_from);
    let last = workgroupUniformLoad(&blocks_to);
    for (var b = first; b <= last; b += TEAMS) {
        let number = min(b + me.team, last);
        let block = block_of(t, number);
        let docs = docs_of(block, me);
        if SCRATCH > 0u {
            team_barrier();
        }
        for (var j = 0u; j < ITEMS; j++) {
            let p = 128u * j + 4u * me.lane;
            if p < block.len {
                let bytes = bytes_of(t, number * BLOCK + p, docs[j]);
                for (var c = 0u; c < 4u; c++) {
                    let doc = docs[j][c];
                    let range = (doc - low) >> SHIFT;
                    if p + c < block.len && doc >= low && doc < DOCS && range < TILE {
                        atomicMax(&sparse[range], bytes[c]);
                    }
                }
            }
        }
        // team operations of the next blocks follow, on which all threads must meet
        workgroupBarrier();
    }
    workgroupBarrier();
}

// The high bits of the bytes of a word.
const HIGH = vec4<u32>(0x80u, 0x8000u, 0x800000u, 0x80000000u);

// The high bit of each byte: whether that is not 0.
fn present_in(bytes: vec4<u32>) -> vec4<u32> {
    return ((bytes & vec4<u32>(0x7f7f7f7fu)) + vec4<u32>(0x7f7f7f7fu)) | bytes;
}

// The bytes of a word.
fn bytes_in(word: u32) -> vec4<u32> {
    return (vec4<u32>(word) >> vec4<u32>(0u, 8u, 16u, 24u)) & vec4<u32>(255u);
}

fn or_of(x: vec4<u32>) -> u32 {
    return x.x | x.y | x.z | x.w;
}

fn greatest_of(x: vec4<u32>) -> u32 {
    return max(max(x.x, x.y), max(x.z, x.w));
}

fn sparse4(at: u32) -> vec4<u32> {
    return vec4<u32>(
        atomicLoad(&sparse[at]),
        atomicLoad(&sparse[at + 1u]),
        atomicLoad(&sparse[at + 2u]),
        atomicLoad(&sparse[at + 3u]),
    );
}

// Eight bounds as words of two.
fn packed(a: vec4<u32>, b: vec4<u32>) -> vec4<u32> {
    return vec4<u32>(a.xz, b.xz) | (vec4<u32>(a.yw, b.yw) << vec4<u32>(16u));
}

@compute @workgroup_size(THREADS)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) grid: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
    //#slot team_builtins
) {
    let number = group.y * grid.x + group.x;
    let tiles = PADDED / TILE;
    let q = number / tiles;
    if q >= params.queries {
        return;
    }
    //#slot me
    let tile = number % tiles;
    let query = query_of(q);
    for (var i = thread; i < BOUND_BUCKETS; i += THREADS) {
        atomicStore(&counts[i], 0u);
    }
    if thread == 0u {
        atomicStore(&tile_bound, 0u);
        atomicStore(&above, 0u);
        atomicStore(&within, 0u);
    }
    // a thread has EACH neighbouring ranges, four times four
    //#for 4
    var sum@ = vec4<u32>(0u);
    //#end
    // the high bit of a byte for each range: whether it has all terms
    var present = vec4<u32>(0xffffffffu);
    // the words of some terms are waited for together
    let words = (tile * TILE + thread * EACH) / 4u;
    for (var n = 0u; n < query.terms; n += 4u) {
        //#for 4
        var bytes@ = vec4<u32>(0u);
        var step@ = 0u;
        var lacks@ = 0xffffffffu;
        if n + @u < query.terms {
            let t = term_of(query.first + n + @u);
            if t.table != NONE {
                bytes@ = table_words4(t.table + words);
                step@ = t.kept.y;
                lacks@ = 0u;
            }
        }
        //#end
        //#for 4
        sum@ += bytes_in(bytes0[@u]) * step0;
        sum@ += bytes_in(bytes1[@u]) * step1;
        sum@ += bytes_in(bytes2[@u]) * step2;
        sum@ += bytes_in(bytes3[@u]) * step3;
        present &= present_in(bytes@) | vec4<u32>(lacks@);
        //#end
    }
    let own = thread * EACH;
    if (query.untabled & BY_TILE) != 0u {
        clear_sparse(thread);
        workgroupBarrier();
        for (var n = thread / SPREAD; n < query.terms; n += THREADS / SPREAD) {
            let t = term_of(query.first + n);
            if lies_by_tile(t) {
                add_steps(t, tile, thread % SPREAD);
            }
        }
        workgroupBarrier();
        //#for 4
        sum@ += sparse4(own + 4u * @u);
        //#end
        workgroupBarrier();
    }
    // lists of one posting, and those that there was no memory for
    if (query.untabled & BY_BLOCKS) != 0u {
        for (var n = 0u; n < query.terms; n++) {
            let t = term_of(query.first + n);
            if t.table != NONE || ((query.untabled & BY_TILE) != 0u && lies_by_tile(t)) {
                continue;
            }
            scatter(t, tile, thread, me);
            //#for 4
            let most@ = sparse4(own + 4u * @u);
            sum@ += most@ * t.kept.y;
            present[@u] &= or_of(select(vec4<u32>(0u), HIGH, most@ > vec4<u32>(0u)));
            //#end
            workgroupBarrier();
        }
    }
    workgroupBarrier();
    if query.all == 0u {
        present = vec4<u32>(0xffffffffu);
    }
    let first = q * PADDED + tile * TILE + own;
    var most = vec4<u32>(0u);
    //#for 4
    let some@ = (sum@ > vec4<u32>(0u)) & ((vec4<u32>(present[@u]) & HIGH) != vec4<u32>(0u));
    var bound@ = select(vec4<u32>(0u), bounds_of(query, sum@), some@);
    most = max(most, bound@);
    //#end
    var greatest = greatest_of(most);
    // one of a thread's ranges stands for all of them: any cut is right
    if greatest > 0u {
        atomicAdd(&counts[greatest >> BOUND_BUCKET], 1u);
    }
    workgroupBarrier();
    if params.picks > 0u {
        let least = max(query.least >> query.bound_shift, 1u);
        let last_class = class_of_picks(me);
        var higher = 0u;
        var same = 0u;
        //#for 4
        let class@ = bound@ >> vec4<u32>(BOUND_BUCKET);
        let able@ = bound@ >= vec4<u32>(least);
        let places@ = vec4<u32>(1u, 2u, 4u, 8u) << vec4<u32>(4u * @u);
        higher |= or_of(select(vec4<u32>(0u), places@, able@ & (class@ > vec4<u32>(last_class))));
        same |= or_of(select(vec4<u32>(0u), places@, able@ & (class@ == vec4<u32>(last_class))));
        //#end
        var next = atomicAdd(&above, countOneBits(higher));
        var next_same = atomicAdd(&within, countOneBits(same));
        workgroupBarrier();
        let all_higher = atomicLoad(&above);
        next_same += all_higher;
        if thread == 0u {
            base = atomicAdd(&state[HEAD_CHOSEN], min(all_higher + atomicLoad(&within), params.picks));
        }
        let to = workgroupUniformLoad(&base);
        var left = higher | same;
        while left != 0u {
            let i = firstTrailingBit(left);
            left &= left - 1u;
            let is_same = (same >> i & 1u) == 1u;
            let place = select(next, next_same, is_same);
            next += select(1u, 0u, is_same);
            next_same += select(0u, 1u, is_same);
            if place < params.picks {
                var picked = vec4<u32>(0u);
                //#for 4
                let it@ = (vec4<u32>(0u, 1u, 2u, 3u) + vec4<u32>(4u * @u)) == vec4<u32>(i);
                picked = select(picked, bound@, it@);
                // so no other wave has it
                bound@ = select(bound@, vec4<u32>(0u), it@);
                //#end
                chosen[to + place] = vec2<u32>(first + i, or_of(picked));
            }
        }
        most = vec4<u32>(0u);
        //#for 4
        most = max(most, bound@);
        //#end
        greatest = greatest_of(most);
        if tile == 0u && thread == 0u {
            atomicStore(&state[state_of(q) + STATE_CUTS], NO_CUT);
            atomicMax(&state[state_of(q) + STATE_THRESHOLD], query.least);
        }
    } else {
        for (var i = thread; i < BOUND_BUCKETS; i += THREADS) {
            let count = atomicLoad(&counts[i]);
            if count > 0u {
                atomicAdd(&state[state_of(q) + STATE_BOUNDS + i], count);
            }
        }
    }
    bounds[first >> 3u] = packed(bound0, bound1);
    bounds[(first >> 3u) + 1u] = packed(bound2, bound3);
    atomicMax(&tile_bound, greatest);
    workgroupBarrier();
    if thread == 0u {
        tile_bounds[number] = atomicLoad(&tile_bound);
    }
}

// The highest class of bounds that has, with all above it, so many counted bounds as are to be picked; 0 if none has.
// All teams find the same.
fn class_of_picks(me: Me) -> u32 {
    let each = BOUND_BUCKETS / 32u;
    let top = BOUND_BUCKETS - 1u - me.lane * each;
    var own = 0u;
    for (var i = 0u; i < each; i++) {
        own += atomicLoad(&counts[top - i]);
    }
    var seen = team_sum_before(own, me);
    var found = 0u;
    if seen < params.picks && seen + own >= params.picks {
        found = top;
        for (seen += atomicLoad(&counts[found]); seen < params.picks; seen += atomicLoad(&counts[found])) {
            found -= 1u;
        }
    }
    workgroupBarrier();
    return team_max(found, me);
}
