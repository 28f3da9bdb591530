// The least class that the best k (`other`) results of each query fall in, and how many results are in it and above: a
// workgroup a query.

@compute @workgroup_size(THREADS)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) grid: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
    //TEAM_BUILTINS
) {
    //TEAM
    let own = number_of(me);
    let q = group.y * grid.x + group.x;
    if q >= params.jobs {
        return;
    }
    let each = CLASSES / THREADS;
    // the first thread has the highest classes
    let top = CLASSES - 1u - own * each;
    var sum = 0u;
    for (var c = 0u; c < each; c++) {
        sum += atomicLoad(&state[class_of(q, top - c)]);
    }
    let before = scan(sum, me);
    if own == 0u && before.y < params.other {
        // all of them
        set_chosen(q, 0u, before.y);
    }
    if before.x < params.other && before.x + sum >= params.other {
        var above = before.x;
        for (var c = 0u; c < each; c++) {
            above += atomicLoad(&state[class_of(q, top - c)]);
            if above >= params.other {
                set_chosen(q, (top - c) << CLASS_SHIFT, above);
                break;
            }
        }
    }
}
