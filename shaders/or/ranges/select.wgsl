//#import or/ranges/wave

// The ranges of a wave that may hold one of a query's best documents go to the queue. A workgroup takes some
// neighbouring tiles of a query; in most of them no bound is high enough.

var<storage, read> bounds: array<u32>;
var<storage, read_write> state: array<atomic<u32>>;
// query * PADDED + range
var<storage, read_write> queue: array<u32>;
// the greatest bound of each tile of a query
var<storage, read> tile_bounds: array<u32>;

var<workgroup> chosen: atomic<u32>;
var<workgroup> base: u32;
var<workgroup> hopeful: atomic<u32>;
var<workgroup> all: u32;

@compute @workgroup_size(THREADS)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) grid: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let number = group.y * grid.x + group.x;
    let tiles = PADDED / TILE;
    let parts = (tiles + params.tiles - 1u) / params.tiles;
    let q = number / parts;
    if q >= params.queries {
        return;
    }
    let wave = wave_of(q, state_of(q), thread);
    let first_tile = (number % parts) * params.tiles;
    if thread == 0u {
        atomicStore(&hopeful, 0u);
    }
    workgroupBarrier();
    if thread < params.tiles && first_tile + thread < tiles && tile_bounds[q * tiles + first_tile + thread] >= wave.least {
        atomicOr(&hopeful, 1u << thread);
    }
    workgroupBarrier();
    if thread == 0u {
        all = atomicLoad(&hopeful);
    }
    var left = workgroupUniformLoad(&all);
    while left != 0u {
        let tile = first_tile + firstTrailingBit(left);
        left &= left - 1u;
        let first = q * PADDED + tile * TILE + thread * EACH;
        var mask = 0u;
        for (var i = 0u; i < EACH; i += 2u) {
            let pair = bounds[(first + i) >> 1u];
            for (var half = 0u; half < 2u; half++) {
                let bound = extractBits(pair, 16u * half, 16u);
                mask |= select(0u, 1u << (i + half), takes(wave, bound));
            }
        }
        if thread == 0u {
            atomicStore(&chosen, 0u);
        }
        workgroupBarrier();
        let place = atomicAdd(&chosen, countOneBits(mask));
        workgroupBarrier();
        if thread == 0u {
            base = atomicAdd(&state[HEAD_QUEUED + params.wave], atomicLoad(&chosen));
        }
        var to = workgroupUniformLoad(&base) + place;
        while mask != 0u {
            let i = firstTrailingBit(mask);
            mask &= mask - 1u;
            queue[to] = first + i;
            to += 1u;
        }
    }
}
