//#import topk/hits

// A heap of high degree over groups of hits: a node has the best hit of its group, and nodes are in groups again. The
// best hit of all is taken k times; each time its groups look for their next best.

// marks a hit that was taken; worse than any hit
const TAKEN: vec2<u32> = vec2<u32>(0xffffffffu, 0u);

struct Node {
    hit: vec2<u32>,
    // which of the query's hits it is
    number: u32,
}

var<workgroup> best_hits: array<vec2<u32>, THREADS>;
var<workgroup> numbers: array<u32, THREADS>;
var<workgroup> root: vec3<u32>;

// A hit if `nodes` is NO_NODES, else the node i behind `nodes`.
const NO_NODES: u32 = 0xffffffffu;

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

@compute @workgroup_size(THREADS)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) grid: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let q = group.y * grid.x + group.x;
    if q >= params.queries {
        return;
    }
    let n = hits_of(q);
    let base = start_of(q);
    let groups = (n + GROUP - 1u) / GROUP;
    // of the second level there is at most one group, by the limit on hits
    let tops = (groups + GROUP - 1u) / GROUP;
    let nodes = scratch_of(q);
    let top_nodes = nodes + 2u * groups;
    for (var g = 0u; g < groups; g++) {
        best_of_group(base, NO_NODES, g, n, thread);
        if thread == 0u {
            put_node(nodes, g, root);
        }
    }
    storageBarrier();
    for (var g = 0u; g < tops; g++) {
        best_of_group(base, nodes, g, groups, thread);
        if thread == 0u {
            put_node(top_nodes, g, root);
        }
    }
    storageBarrier();
    let wanted = min(n, params.k);
    for (var i = 0u; i < wanted; i++) {
        best_of_group(base, top_nodes, 0u, tops, thread);
        let top = workgroupUniformLoad(&root);
        if thread == 0u {
            put(best_of(q), i, top.xy);
            hits[base + top.z] = TAKEN;
        }
        storageBarrier();
        let g = top.z / GROUP;
        best_of_group(base, NO_NODES, g, n, thread);
        if thread == 0u {
            put_node(nodes, g, root);
        }
        storageBarrier();
        best_of_group(base, nodes, g / GROUP, groups, thread);
        if thread == 0u {
            put_node(top_nodes, g / GROUP, root);
        }
        storageBarrier();
    }
    put_counts(q, thread);
}
