//#import sort/radix_digit
//#import rank

// Scatter: each key of a span to its place. Tile by tile, keys are ranked by digit, keeping their order. They are
// brought into that order in workgroup memory, one word after the other to take less of it, and written, so that
// neighbouring threads write neighbouring keys.
//
// A key's *team* finds its rank: threads that see one another's digits (a subgroup, or a thread alone: rank_*.wgsl).
// The rank counts keys of the same digit in lower teams, plus earlier ones in its own team.

var<storage, read> source: array<Key>;
var<storage, read_write> target_keys: array<Key>;
// [digit][span]: keys with this digit in the spans before
var<storage, read> counts: array<u32>;
var<storage, read> totals: array<u32>;

// keys of each digit of each team, later how many come before them in the tile: [digit][team], an empty
// slot after every 32
var<workgroup> bins: array<atomic<u32>, BIN_SLOTS>;
// one word of each key
var<workgroup> tile: array<u32, TILE>;
// target of the tile's first key of each digit, less its place in the tile
var<workgroup> offsets: array<u32, RADIX>;

fn bin(d: u32, team: u32) -> u32 {
    let i = d * TEAMS + team;
    return i + (i >> 5u);
}

@compute @workgroup_size(THREADS)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) grid: vec3<u32>,
    //#slot team_builtins
) {
    let span = group.y * grid.x + group.x;
    if span >= params.spans {
        return;
    }
    //#slot me
    let thread = me.thread;

    // where this span's first key of digit `thread` goes
    var total = 0u;
    if thread < RADIX {
        total = totals[thread];
    }
    // a team has parted if there are fewer digits than lanes
    workgroupBarrier();
    var place = scan(total, me);
    if thread < RADIX {
        place += counts[thread * params.spans + span];
    }

    let begin = span * params.span_keys;
    let end = min(begin + params.span_keys, params.keys);
    for (var base = begin; base < end; base += TILE) {
        let filled = min(TILE, end - base);
        let at = first_of(me);
        let stride = stride_of(me);
        // places missing from the last tile sort after everything else
        //#for ITEMS
        let i@ = at + @u * stride;
        var key@ = LAST;
        if i@ < filled {
            key@ = source[base + i@];
        }
        //#end
        for (var i = thread; i < BIN_SLOTS; i += THREADS) {
            atomicStore(&bins[i], 0u);
        }
        workgroupBarrier();
        //#for ITEMS
        let digit@ = digit(key@);
        let rank@ = rank(digit@, me);
        //#end
        workgroupBarrier();

        // exclusive sum over all bins, BINS / THREADS of them a thread
        var sum = 0u;
        for (var j = 0u; j < BINS / THREADS; j++) {
            let i = thread * (BINS / THREADS) + j;
            sum += atomicLoad(&bins[i + (i >> 5u)]);
        }
        var before = scan(sum, me);
        for (var j = 0u; j < BINS / THREADS; j++) {
            let i = thread * (BINS / THREADS) + j;
            let count = atomicLoad(&bins[i + (i >> 5u)]);
            atomicStore(&bins[i + (i >> 5u)], before);
            before += count;
        }
        workgroupBarrier();
        //#for ITEMS
        let to@ = atomicLoad(&bins[bin(digit@, me.team)]) + rank@;
        tile[to@] = low(key@);
        //#end
        if thread < RADIX {
            let first = atomicLoad(&bins[bin(thread, 0u)]);
            var next = TILE;
            if thread + 1u < RADIX {
                next = atomicLoad(&bins[bin(thread + 1u, 0u)]);
            }
            offsets[thread] = place - first;
            place += next - first;
        }
        workgroupBarrier();
        //#for ITEMS
        let low@ = tile[thread + @u * THREADS];
        //#end
        if KEY_WORDS == 2u {
            workgroupBarrier();
            //#for ITEMS
            tile[to@] = high(key@);
            //#end
            workgroupBarrier();
        }
        //#for ITEMS
        let j@ = thread + @u * THREADS;
        if j@ < filled {
            let key = join(low@, tile[j@]);
            target_keys[offsets[digit(key)] + j@] = key;
        }
        //#end
        // the barrier after the next tile's zeroing keeps this tile's data until all have read it
    }
}
