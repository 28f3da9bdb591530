// The tables of lists: range maxima from a word each to a byte each, and behind them for every DIRECTORY ranges the block to start
// at. A thread makes a word.

//BINDINGS
@group(0) @binding(NEXT+0) var<storage, read> maxima: array<u32>;
// (where the list's table goes, its term)
@group(0) @binding(NEXT+1) var<storage, read> tables: array<vec2<u32>>;
@group(0) @binding(NEXT+2) var<storage, read> terms: array<vec4<u32>>;
@group(0) @binding(NEXT+3) var<storage, read> norms: array<f32>;

struct Params {
    // the first of them, and how many
    first: u32,
    lists: u32,
}

var<immediate> params: Params;

// The last block that starts at or before the first docID of a range, or 0.
fn block_before(t: Term, range: u32) -> u32 {
    var low = 0u;
    var high = t.blocks;
    while high - low > 1u {
        let middle = (low + high) >> 1u;
        if first_of(t, middle) <= range << SHIFT { low = middle; } else { high = middle; }
    }
    return low;
}

@compute @workgroup_size(THREADS)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) grid: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let i = (group.y * grid.x + group.x) * THREADS + thread;
    let words = PADDED / 4u;
    let list = i / TABLE;
    if list >= params.lists {
        return;
    }
    let place = i % TABLE;
    let to = tables[params.first + list];
    if place < words {
        let first = 4u * (list * words + place);
        let bytes = maxima[first] | maxima[first + 1u] << 8u | maxima[first + 2u] << 16u | maxima[first + 3u] << 24u;
        store(to.x + place, bytes);
    } else {
        store(to.x + place, block_before(term_of(to.y), (place - words) * DIRECTORY));
    }
}
