//#import or/ranges/range
//#import params
//#import places

// The tables of lists: range maxima from a word each to a byte each, and behind them for every DIRECTORY ranges the
// block to start at. A thread makes a word.

var<storage, read> maxima: array<u32>;

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
    let to = place_of(params.first + list);
    if place < words {
        let first = 4u * (list * words + place);
        let bytes = maxima[first] | maxima[first + 1u] << 8u | maxima[first + 2u] << 16u | maxima[first + 3u] << 24u;
        table_store(to.at + place, bytes);
    } else {
        var t = term_of(to.term);
        t.table = NONE;
        table_store(to.at + place, block_at(t, (place - words) * DIRECTORY));
    }
}
