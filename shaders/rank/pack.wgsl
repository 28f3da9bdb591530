// The tables of lists: range maxima from a word each to a byte each, and behind them for every DIRECTORY ranges the block to start
// at. A thread makes a word.

//BINDINGS
@group(0) @binding(NEXT+0) var<storage, read> maxima: array<u32>;
// (where the list's table goes, its term)
@group(0) @binding(NEXT+1) var<storage, read> places: array<vec2<u32>>;
@group(0) @binding(NEXT+2) var<storage, read> terms: array<vec4<u32>>;
@group(0) @binding(NEXT+3) var<storage, read> norms: array<f32>;

struct Params {
    // the first of them, and how many
    first: u32,
    lists: u32,
}

var<immediate> params: Params;

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
    let to = places[params.first + list];
    if place < words {
        let first = 4u * (list * words + place);
        let bytes = maxima[first] | maxima[first + 1u] << 8u | maxima[first + 2u] << 16u | maxima[first + 3u] << 24u;
        table_store(to.x + place, bytes);
    } else {
        var t = term_of(to.y);
        t.table = NONE;
        table_store(to.x + place, block_at(t, (place - words) * DIRECTORY));
    }
}
