//#import shared/list
//#import tables
//#import scores
//#import or/ranges/state
//#import params

// An upper bound of the scores of each range of docIDs, query by query: a workgroup takes a tile of ranges of a query.

var<storage, read> norms: array<f32>;
// 16 bits a range, PADDED ranges a query; whole registers, since single words of threads far apart take longer
var<storage, read_write> bounds: array<vec4<u32>>;
var<storage, read_write> state: array<atomic<u32>>;
// the greatest bound of each tile of a query
var<storage, read_write> tile_bounds: array<u32>;

var<workgroup> sparse: array<atomic<u32>, TILE>;
var<workgroup> counts: array<atomic<u32>, BOUND_BUCKETS>;
var<workgroup> tile_bound: atomic<u32>;
var<workgroup> blocks_from: u32;
var<workgroup> blocks_to: u32;

// Range maxima of a list without a table, from its postings.
fn scatter(t: Term, tile: u32, thread: u32, me: Me) {
    for (var i = thread; i < TILE; i += THREADS) {
        atomicStore(&sparse[i], 0u);
    }
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
    }
    workgroupBarrier();
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
    }
    // a thread has EACH neighbouring ranges
    //#for EACH
    var sum@ = 0u;
    //#end
    // the high bit of a byte for each range: whether it has all terms
    var present = vec4<u32>(0xffffffffu);
    for (var n = 0u; n < query.terms; n++) {
        let t = term_of(query.first + n);
        var bytes = vec4<u32>(0u);
        if t.table != NONE {
            bytes = table_words4(t.table + (tile * TILE + thread * EACH) / 4u);
        } else {
            scatter(t, tile, thread, me);
            for (var i = 0u; i < EACH; i++) {
                bytes[i >> 2u] |= atomicLoad(&sparse[thread * EACH + i]) << (8u * (i & 3u));
            }
            workgroupBarrier();
        }
        let step = t.kept.y;
        //#for EACH
        sum@ += extractBits(bytes[@u >> 2u], 8u * (@u & 3u), 8u) * step;
        //#end
        present &= ((bytes & vec4<u32>(0x7f7f7f7fu)) + vec4<u32>(0x7f7f7f7fu)) | bytes;
    }
    workgroupBarrier();
    if query.all == 0u {
        present = vec4<u32>(0xffffffffu);
    }
    let to = (q * PADDED + tile * TILE + thread * EACH) >> 3u;
    var eight: vec4<u32>;
    var greatest = 0u;
    var last = 0u;
    //#for EACH
    let some@ = sum@ > 0u && extractBits(present[@u >> 2u], 8u * (@u & 3u) + 7u, 1u) == 1u;
    let bound@ = select(0u, bound_of(query, sum@), some@);
    greatest = max(greatest, bound@);
    if (@u & 1u) == 1u {
        eight[(@u >> 1u) & 3u] = last | bound@ << 16u;
    }
    if (@u & 7u) == 7u {
        bounds[to + (@u >> 3u)] = eight;
    }
    last = bound@;
    //#end
    // one of a thread's ranges stands for all of them: any cut is right
    if greatest > 0u {
        atomicAdd(&counts[greatest >> BOUND_BUCKET], 1u);
        atomicMax(&tile_bound, greatest);
    }
    workgroupBarrier();
    if thread == 0u {
        tile_bounds[number] = atomicLoad(&tile_bound);
    }
    for (var i = thread; i < BOUND_BUCKETS; i += THREADS) {
        let count = atomicLoad(&counts[i]);
        if count > 0u {
            atomicAdd(&state[state_of(q) + STATE_BOUNDS + i], count);
        }
    }
}
