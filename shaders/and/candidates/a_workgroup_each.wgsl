// As many workgroups as there is work for.

fn take(group: u32, groups: u32, own: u32, me: Me) {
    if group < params.jobs {
        work(group, own, me);
    }
}
