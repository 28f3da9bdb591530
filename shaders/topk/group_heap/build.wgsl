//#import topk/group_heap/nodes

// The nodes of a level (`number`) of the heap: a workgroup takes the groups of a tile, or one node of the second level.

@compute @workgroup_size(THREADS)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) grid: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let number = group.y * grid.x + group.x;
    if number >= params.jobs {
        return;
    }
    let job = job_of(number);
    let n = hits_of(job.query);
    let nodes = nodes_of(job.query);
    let groups = groups_of(n);
    if params.number == 1u {
        if job.part < groups_of(groups) {
            best_of_group(0u, nodes, job.part, groups, thread);
            if thread == 0u {
                put_node(nodes + 2u * groups, job.part, root);
            }
        }
        return;
    }
    let first = job.part * (TILE / GROUP);
    for (var g = first; g < min(first + TILE / GROUP, groups); g++) {
        best_of_group(query_of(job.query).start, NO_NODES, g, n, thread);
        if thread == 0u {
            put_node(nodes, g, root);
        }
    }
}
