//#import topk/group_heap/nodes

// The best hit of all is taken k times; each time its groups look for their next best. A workgroup takes a query.

@compute @workgroup_size(THREADS)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) grid: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let q = group.y * grid.x + group.x;
    if q >= params.jobs {
        return;
    }
    let n = hits_of(q);
    let base = query_of(q).start;
    let groups = groups_of(n);
    // of the second level there is at most one group, by the limit on hits
    let tops = groups_of(groups);
    let nodes = nodes_of(q);
    let top_nodes = nodes + 2u * groups;
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
