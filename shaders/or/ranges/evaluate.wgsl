//#import or/ranges/range
//#import scores
//#import or/ranges/state
//#import params

// The scores of the documents of the queued ranges. A workgroup takes a range of a query, adds up the terms' blocks for
// it in workgroup memory, and keeps documents that may be among the query's best.

var<storage, read> norms: array<f32>;
var<storage, read> bounds: array<u32>;
var<storage, read> queue: array<u32>;
var<storage, read_write> state: array<atomic<u32>>;
// (docID, score), `room` a query
var<storage, read_write> hits: array<vec2<u32>>;

var<workgroup> scores: array<atomic<u32>, WIDTH>;
// how many terms a document has
var<workgroup> matches: array<atomic<u32>, WIDTH>;
var<workgroup> queued: u32;
var<workgroup> threshold: u32;
var<workgroup> kept: atomic<u32>;
var<workgroup> kept_now: u32;
var<workgroup> base: u32;

// A workgroup is one team, so values uniform for the team are uniform for the workgroup.
@compute @workgroup_size(THREADS)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) grid: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
    //#slot team_builtins
) {
    //#slot me
    var evaluated = 0u;
    var decoded = 0u;
    if thread == 0u {
        queued = atomicLoad(&state[HEAD_QUEUED + params.wave]);
    }
    let items = workgroupUniformLoad(&queued);
    for (var number = group.x; number < items; number += grid.x) {
        let it = queue[number];
        let q = it / PADDED;
        let query = query_of(q);
        let at = state_of(q);
        if thread == 0u {
            threshold = max(atomicLoad(&state[at + STATE_THRESHOLD]), 1u);
        }
        let least = workgroupUniformLoad(&threshold);
        let bound = extractBits(bounds[it >> 1u], 16u * (it & 1u), 16u);
        if params.prune == 1u && bound < (least >> query.bound_shift) {
            continue;
        }
        let range = it % PADDED;
        let low = range << SHIFT;
        for (var i = thread; i < WIDTH; i += THREADS) {
            atomicStore(&scores[i], 0u);
            atomicStore(&matches[i], 0u);
        }
        evaluated += 1u;
        workgroupBarrier();
        // the most that the terms from this one on can add
        var rest = NONE;
        if params.prune == 1u && bound < 0xffffu {
            rest = bound << query.bound_shift;
        }
        var hopeful = true;
        // the best score so far; of a document with all terms so far, if all are needed
        var best = 0u;
        // where the range's blocks are, of 32 terms at a time, a thread each
        var my_start = 0u;
        var my_count = 0u;
        for (var n = 0u; n < query.terms && hopeful; n++) {
            if (n & 31u) == 0u && n + me.lane < query.terms {
                let t = term_of(query.first + n + me.lane);
                my_start = block_at(t, range);
                my_count = 1u;
                while my_start + my_count < t.blocks && first_of(t, my_start + my_count) < low + WIDTH {
                    my_count += 1u;
                }
            }
            let t = term_of(query.first + n);
            let tabled = t.table != NONE;
            let start = team_read(my_start, n, me);
            let count = min(team_read(my_count, n, me), WIDTH);
            decoded += count;
            var greatest = 0u;
            var greatest_share = 0u;
            for (var b = start; b < start + count; b++) {
                let block = block_of(t, b);
                let docs = docs_of(block, me);
                if SCRATCH > 0u {
                    team_barrier();
                }
                for (var j = 0u; j < ITEMS; j++) {
                    let p = 128u * j + 4u * me.lane;
                    var near = (docs[j] - low) < vec4<u32>(WIDTH);
                    for (var c = 0u; c < 4u; c++) {
                        near[c] = near[c] && p + c < block.len && docs[j][c] < DOCS;
                        // a document that cannot reach the threshold any more needs no frequency
                        if near[c] && tabled {
                            let i = docs[j][c] - low;
                            let lost = query.all == 1u && atomicLoad(&matches[i]) < n;
                            near[c] = !lost && (rest == NONE || atomicLoad(&scores[i]) + rest >= least);
                        }
                    }
                    if any(near) {
                        let shares = shares_of(t, b * BLOCK + p, docs[j]);
                        for (var c = 0u; c < 4u; c++) {
                            if near[c] {
                                let i = docs[j][c] - low;
                                let share = shares[c];
                                let score = atomicAdd(&scores[i], share) + share;
                                greatest_share = max(greatest_share, share);
                                if query.all == 1u {
                                    // only documents with all terms so far count
                                    if atomicAdd(&matches[i], 1u) == n {
                                        greatest = max(greatest, score);
                                    }
                                } else {
                                    greatest = max(greatest, score);
                                }
                            }
                        }
                    }
                }
            }
            workgroupBarrier();
            if rest != NONE {
                var done = 0u;
                if tabled {
                    let byte = extractBits(table_word(t.table + (range >> 2u)), 8u * (range & 3u), 8u);
                    done = select(0u, share_bound(t, byte), byte > 0u);
                } else {
                    done = team_max(greatest_share, me);
                }
                rest -= min(rest, done);
            }
            let here = team_max(greatest, me);
            best = select(max(best, here), here, query.all == 1u);
            let possible = best >= least || rest == NONE || best + rest >= least;
            hopeful = possible && (query.all == 0u || best > 0u);
        }
        if hopeful {
            keep(q, query, at, low, least, thread);
        }
    }
    if thread == 0u {
        atomicAdd(&state[HEAD_BLOCKS], decoded);
        atomicAdd(&state[HEAD_EVALUATED], evaluated);
    }
}

// Whether a document is a match that reaches `least`; its score.
fn score_at(i: u32, query: Query, least: u32) -> u32 {
    let score = atomicLoad(&scores[i]);
    let enough = query.all == 0u || atomicLoad(&matches[i]) == query.terms;
    return select(0u, score, enough && score >= least);
}

// Documents of the range that reach the threshold go to the query's hits, and the threshold rises.
fn keep(q: u32, query: Query, at: u32, low: u32, least: u32, thread: u32) {
    if thread == 0u {
        atomicStore(&kept, 0u);
    }
    workgroupBarrier();
    var mine = 0u;
    for (var i = thread; i < WIDTH; i += THREADS) {
        mine += select(0u, 1u, score_at(i, query, least) > 0u);
    }
    if mine > 0u {
        atomicAdd(&kept, mine);
    }
    workgroupBarrier();
    if thread == 0u {
        kept_now = atomicLoad(&kept);
    }
    let all = workgroupUniformLoad(&kept_now);
    if all == 0u {
        return;
    }
    for (var i = thread; i < WIDTH; i += THREADS) {
        let score = score_at(i, query, least);
        if score > 0u {
            let bucket = score_class(score, query.class_times, query.class_shift, BUCKETS);
            atomicAdd(&state[at + STATE_SCORES + bucket], 1u);
        }
    }
    storageBarrier();
    let bucket = highest_bucket(at + STATE_SCORES, BUCKETS, query.k, thread);
    let reached = max(least, class_edge(bucket, query.class_times, query.class_shift));
    if thread == 0u {
        atomicMax(&state[at + STATE_THRESHOLD], reached);
        atomicStore(&kept, 0u);
    }
    workgroupBarrier();
    mine = 0u;
    for (var i = thread; i < WIDTH; i += THREADS) {
        mine += select(0u, 1u, score_at(i, query, reached) > 0u);
    }
    let place = atomicAdd(&kept, mine);
    workgroupBarrier();
    if thread == 0u {
        base = atomicAdd(&state[at + STATE_HITS], atomicLoad(&kept));
    }
    var to = workgroupUniformLoad(&base) + place;
    for (var i = thread; i < WIDTH; i += THREADS) {
        let score = score_at(i, query, reached);
        if score > 0u {
            if to < params.room {
                hits[q * params.room + to] = vec2<u32>(low + i, score);
            }
            to += 1u;
        }
    }
}
