// Fewer workgroups: each takes the work of several in turn.

fn take(group: u32, groups: u32, own: u32, me: Me) {
    for (var number = group; number < params.jobs; number += groups) {
        work(number, own, me);
        // what the workgroup shares is free again
        workgroupBarrier();
    }
}
