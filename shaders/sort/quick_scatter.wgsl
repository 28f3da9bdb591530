//#import sort/quick_tile
//#import sums

// The paper's third kernel: lesser keys to the front of their segment in the other block, greater ones to its end. A
// tile is partitioned in workgroup memory, one word after the other to take less of it, so that neighbouring threads
// write neighbouring keys.

var<storage, read> source: array<Key>;
var<storage, read_write> target_keys: array<Key>;
var<storage, read> tile_counts: array<vec2<u32>>;
var<storage, read> totals: array<vec2<u32>>;

// one word of each key, lesser ones first
var<workgroup> words: array<u32, TILE>;
var<workgroup> sum: u32;

@compute @workgroup_size(THREADS)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) grid: vec3<u32>,
    //#slot team_builtins
) {
    //#slot me
    let at = group.y * grid.x + group.x;
    let tile = tile_of(at, me.thread);
    // what lies beyond the tile counts as equal, and equal keys are not moved
    var counts = 0u;
    //#for ITEMS
    let i@ = tile.begin + me.thread + @u * THREADS;
    var key@ = tile.pivot;
    if i@ < tile.end {
        key@ = source[i@];
    }
    //#end
    //#for ITEMS
    let less@ = greater(tile.pivot, key@);
    let more@ = greater(key@, tile.pivot);
    counts += select(0u, 1u, less@) + select(0u, 0x10000u, more@);
    //#end
    workgroupBarrier();
    let before = scan(counts, me);
    if me.thread == THREADS - 1u {
        sum = before + counts;
    }
    let all = workgroupUniformLoad(&sum);
    let lesser = all & 0xffffu;
    let moved = lesser + (all >> 16u);

    var next_less = before & 0xffffu;
    var next_more = lesser + (before >> 16u);
    //#for ITEMS
    let to@ = select(next_more, next_less, less@);
    next_less += select(0u, 1u, less@);
    next_more += select(0u, 1u, more@);
    if less@ || more@ {
        words[to@] = low(key@);
    }
    //#end
    workgroupBarrier();
    //#for ITEMS
    let j@ = me.thread + @u * THREADS;
    let low@ = words[j@];
    //#end
    if KEY_WORDS == 2u {
        workgroupBarrier();
        //#for ITEMS
        if less@ || more@ {
            words[to@] = high(key@);
        }
        //#end
        workgroupBarrier();
    }
    if moved == 0u {
        return;
    }
    let earlier = tile_counts[at];
    let less_from = tile.range.x + earlier.x;
    let more_from = tile.range.x + tile.range.y - totals[tile.segment].y + earlier.y - lesser;
    //#for ITEMS
    if j@ < moved {
        target_keys[select(more_from, less_from, j@ < lesser) + j@] = join(low@, words[j@]);
    }
    //#end
}
