//#import shared/list
//#import tables
//#import or/ranges/group
//#import or/ranges/next
//#import or/ranges/state
//#import params
//#import jobs

// For queries that need all terms, one of which has a short list: upper bounds of the scores of the ranges in which
// that list has postings. No other range has a match. A team takes a block of the list; the last posting of each range
// stands for the range. A few queries with few such ranges go without waves: all their ranges are chosen here, since
// more passes take longer than to evaluate some ranges in vain.

var<storage, read> norms: array<f32>;
var<storage, read_write> state: array<atomic<u32>>;
// query * PADDED + range, and the bound
var<storage, read_write> candidates: array<vec2<u32>>;
var<storage, read_write> chosen: array<vec2<u32>>;

// What a term without a table adds at most in any range, in steps.
fn most_of(t: Term, query: Query) -> u32 {
    let most = u32(ceil(bitcast<f32>(t.kept.x)));
    // steps are fractions of a bound, or bounds are fractions of a step
    let finer = i32(query.step_shift) - i32(query.bound_shift);
    let scaled = select((most >> u32(max(-finer, 0))) + 1u, most << u32(max(finer, 0)), finer >= 0);
    return min(255u * t.kept.y, scaled);
}

// The greatest impact that a list without a table has in a range, as a byte; 0 if it has no posting there.
fn greatest_in(t: Term, range: u32) -> u32 {
    let group = t.kept.z + (range >> WIDE_GROUP);
    let wanted = range & (TILE - 1u);
    let end = by_range_word(group + 1u);
    var at = by_range_word(group);
    // by halves to the first posting of the range
    var high = end;
    while at < high {
        let middle = (at + high) >> 1u;
        if range_in_tile(posting_at(t, middle)) < wanted { at = middle + 1u; } else { high = middle; }
    }
    var most = 0u;
    for (; at < end; at++) {
        let posting = posting_at(t, at);
        if range_in_tile(posting) != wanted {
            break;
        }
        most = max(most, byte_of(t, posting));
    }
    return most;
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
    let q = job.to;
    let query = query_of(q);
    let at = state_of(q);
    let t = term_of(job.term);
    for (var b = 0u; b < job.blocks; b += TEAMS) {
        // a team without a block repeats the last one, for nothing
        let idle = b + me.team >= job.blocks;
        let number = job.block + min(b + me.team, job.blocks - 1u);
        let block = block_of(t, number);
        let docs = docs_of(block, me);
        if SCRATCH > 0u {
            team_barrier();
        }
        var behind = NONE;
        if number + 1u < t.blocks {
            behind = first_of(t, number + 1u) >> SHIFT;
        }
        for (var j = 0u; j < ITEMS; j++) {
            let p = 128u * j + 4u * me.lane;
            let ranges = docs[j] >> vec4<u32>(SHIFT);
            // the range of the posting behind each one
            let next = next_of(docs, j, SHIFT, me);
            // and the range before: not known of the first posting of a block but the list's first
            let left = team_read(ranges.w, me.lane + 31u, me);
            var earlier = ranges.x;
            if j > 0u {
                earlier = team_read(docs[j - 1u].w >> SHIFT, 31u, me);
            } else if number == 0u {
                earlier = NONE;
            }
            let before_it = vec4<u32>(select(left, earlier, me.lane == 0u), ranges.xyz);
            var parts = vec4<u32>(0u);
            var kept = vec4<bool>(false);
            //#for 4
            let last@ = p + @u + 1u >= block.len;
            kept[@u] = !idle && p + @u < block.len && docs[j][@u] < DOCS && ranges[@u] != select(next[@u], behind, last@);
            //#end
            if t.table == NONE && p < block.len {
                // a posting that is alone in its range says what the term adds there
                parts = min(bytes_of(t, number * BLOCK + p, docs[j]) * t.kept.y, vec4<u32>(most_of(t, query)));
                parts = select(vec4<u32>(most_of(t, query)), parts, before_it != ranges);
            }
            for (var n = 0u; n < query.terms; n++) {
                let other = term_of(query.first + n);
                if other.table != NONE {
                    //#for 4
                    if kept[@u] {
                        let byte = extractBits(table_word(other.table + (ranges[@u] >> 2u)), 8u * (ranges[@u] & 3u), 8u);
                        parts[@u] += byte * other.kept.y;
                        kept[@u] = byte > 0u;
                    }
                    //#end
                } else if query.first + n == job.term {
                    continue;
                } else if other.kept.z != NONE {
                    //#for 4
                    if kept[@u] {
                        let byte = greatest_in(other, ranges[@u]);
                        parts[@u] += byte * other.kept.y;
                        kept[@u] = byte > 0u;
                    }
                    //#end
                } else {
                    parts += vec4<u32>(most_of(other, query));
                }
            }
            workgroupBarrier();
            let ones = vec4<u32>(kept);
            let own = ones.x + ones.y + ones.z + ones.w;
            let before = team_sum_before(own, me);
            var base = 0u;
            if me.lane == 31u {
                if params.direct == 1u {
                    base = atomicAdd(&state[HEAD_CHOSEN], before + own);
                } else {
                    base = query.candidates + atomicAdd(&state[at + STATE_CANDIDATES], before + own);
                }
            }
            // the lane was alone
            workgroupBarrier();
            var to = team_read(base, 31u, me) + before;
            //#for 4
            if kept[@u] {
                let bound = bound_of(query, parts[@u]);
                let one = vec2<u32>(q * PADDED + ranges[@u], bound);
                if params.direct == 1u {
                    chosen[to] = one;
                } else {
                    candidates[to] = one;
                    atomicAdd(&state[at + STATE_BOUNDS + (bound >> BOUND_BUCKET)], 1u);
                }
                to += 1u;
            }
            //#end
            // team operations follow, on which all threads must meet
            workgroupBarrier();
        }
    }
}
