//#import shared/list
//#import or/ranges/group
//#import or/ranges/next
//#import params
//#import jobs

// Lays the postings of lists out by range. A workgroup takes some blocks of a list.

var<storage, read> norms: array<f32>;

// The groups from `first` to `last`, of so many, begin at a position.
fn begin(list: u32, groups: u32, first: u32, last: u32, position: u32) {
    for (var group = first; group <= min(last, groups); group++) {
        by_range_store(list + group, position);
    }
}

@compute @workgroup_size(THREADS)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) grid: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
    //#slot team_builtins
) {
    let number = group.y * grid.x + group.x;
    if number >= params.jobs {
        return;
    }
    //#slot me
    let job = job_of(params.first + number);
    let t = term_of(job.term);
    let list = t.kept.z;
    let bits = SHIFT + group_bits(t);
    let groups = PADDED >> group_bits(t);
    let place = vec4<u32>((1u << place_bits(t)) - 1u);
    for (var b = 0u; b < job.blocks; b += TEAMS) {
        // a team without a block repeats the last one, and writes the same
        let number = job.block + min(b + me.team, job.blocks - 1u);
        let block = block_of(t, number);
        let docs = docs_of(block, me);
        if SCRATCH > 0u {
            team_barrier();
        }
        // the group of the posting behind the block
        var behind = groups;
        if number + 1u < t.blocks {
            behind = first_of(t, number + 1u) >> bits;
        }
        for (var j = 0u; j < ITEMS; j++) {
            let p = 128u * j + 4u * me.lane;
            let own = docs[j] >> vec4<u32>(bits);
            // the group of the posting behind each one
            let next = next_of(docs, j, bits, me);
            if p < block.len {
                let position = number * BLOCK + p;
                let values = min(values_of(t, position, docs[j]), vec4<u32>(no_value(t)));
                var four = (docs[j] & place) | (values << vec4<u32>(value_bit(t)));
                if is_wide(t) {
                    four |= bytes_of(t, position, docs[j]) << vec4<u32>(place_bits(t));
                    let to = postings_of(t) + position;
                    by_range_store(to, four.x);
                    by_range_store(to + 1u, four.y);
                    by_range_store(to + 2u, four.z);
                    by_range_store(to + 3u, four.w);
                } else {
                    let to = postings_of(t) + (position >> 1u);
                    by_range_store(to, four.x | four.y << 16u);
                    by_range_store(to + 1u, four.z | four.w << 16u);
                }
                if position == 0u {
                    begin(list, groups, 0u, own.x, 0u);
                }
                //#for 4
                if p + @u < block.len {
                    let last@ = select(next[@u], behind, p + @u + 1u >= block.len);
                    begin(list, groups, own[@u] + 1u, last@, position + @u + 1u);
                }
                //#end
            }
            // threads have gone apart
            workgroupBarrier();
        }
    }
}
