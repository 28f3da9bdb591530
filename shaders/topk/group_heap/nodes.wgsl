//#import topk/hits

// A heap of high degree over groups of hits: a node has the best hit of its group of GROUP hits, and GROUP nodes are in
// a group again. A tile has TILE_PAIRS pairs of `scratch`: two for each node of its groups, and two for a node of the
// second level, of which a query has no more than tiles.

// worse than any hit; marks a hit that was taken
const TAKEN: vec2<u32> = vec2<u32>(0xffffffffu, 0u);

struct Node {
    hit: vec2<u32>,
    // which of the query's hits it is
    number: u32,
}

var<workgroup> best_hits: array<vec2<u32>, THREADS>;
var<workgroup> numbers: array<u32, THREADS>;
var<workgroup> root: vec3<u32>;

// Stands for hits, in place of where nodes begin.
const NO_NODES: u32 = 0xffffffffu;

// The number of groups of a query with n hits.
fn groups_of(n: u32) -> u32 {
    return (n + GROUP - 1u) / GROUP;
}

// Where the nodes of a query begin.
fn nodes_of(q: u32) -> u32 {
    return query_of(q).first * TILE_PAIRS;
}

// A hit if `nodes` is NO_NODES, else the node i behind `nodes`.
fn node_at(base: u32, nodes: u32, i: u32) -> Node {
    if nodes == NO_NODES {
        return Node(hits[base + i], i);
    }
    return Node(scratch[nodes + 2u * i], scratch[nodes + 2u * i + 1u].x);
}

fn put_node(nodes: u32, i: u32, node: vec3<u32>) {
    scratch[nodes + 2u * i] = node.xy;
    scratch[nodes + 2u * i + 1u] = vec2<u32>(node.z, 0u);
}

fn fold(distance: u32, thread: u32) {
    workgroupBarrier();
    if thread < distance && better(best_hits[thread + distance], best_hits[thread]) {
        best_hits[thread] = best_hits[thread + distance];
        numbers[thread] = numbers[thread + distance];
    }
}

// The best of a group of hits or nodes, of which there are `count` in all. The whole workgroup calls it; thread 0 finds
// it in `root`.
fn best_of_group(base: u32, nodes: u32, group: u32, count: u32, thread: u32) {
    workgroupBarrier();
    var mine = Node(TAKEN, 0u);
    let first = group * GROUP + thread;
    //#for 4
    if first + @u * THREADS < count {
        let other@ = node_at(base, nodes, first + @u * THREADS);
        if better(other@.hit, mine.hit) {
            mine = other@;
        }
    }
    //#end
    best_hits[thread] = mine.hit;
    numbers[thread] = mine.number;
    fold(64u, thread);
    fold(32u, thread);
    fold(16u, thread);
    fold(8u, thread);
    fold(4u, thread);
    fold(2u, thread);
    fold(1u, thread);
    if thread == 0u {
        root = vec3<u32>(best_hits[0], numbers[0]);
    }
}
