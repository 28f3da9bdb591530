// The scores of the documents of the queued ranges: a workgroup takes a range of a query, adds up what every term's blocks have for
// it in workgroup memory, and keeps what may be among the query's best.

//BINDINGS
@group(0) @binding(NEXT+0) var<storage, read> terms: array<vec4<u32>>;
@group(0) @binding(NEXT+1) var<storage, read> queries: array<vec4<u32>>;
@group(0) @binding(NEXT+2) var<storage, read> norms: array<f32>;
@group(0) @binding(NEXT+3) var<storage, read> bounds: array<u32>;
@group(0) @binding(NEXT+4) var<storage, read> queue: array<u32>;
@group(0) @binding(NEXT+5) var<storage, read_write> state: array<atomic<u32>>;
// (docID, score), `room` a query
@group(0) @binding(NEXT+6) var<storage, read_write> hits: array<vec2<u32>>;

struct Params {
    // 0, 1, 2
    wave: u32,
    // hits that a query has room for
    room: u32,
}

var<immediate> params: Params;

var<workgroup> scores: array<atomic<u32>, WIDTH>;
// how many terms a document has
var<workgroup> matches: array<atomic<u32>, WIDTH>;
var<workgroup> queued: u32;
var<workgroup> threshold: u32;
var<workgroup> rounds: atomic<u32>;
var<workgroup> rounds_now: u32;
var<workgroup> kept: atomic<u32>;
var<workgroup> kept_now: u32;
var<workgroup> base: u32;

@compute @workgroup_size(THREADS)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) grid: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
    //TEAM_BUILTINS
) {
    //TEAM
    var evaluated = 0u;
    var decoded = 0u;
    if thread == 0u {
        queued = atomicLoad(&state[params.wave]);
    }
    let items = workgroupUniformLoad(&queued);
    for (var number = group.x; number < items; number += grid.x) {
        let it = queue[number];
        let q = it / PADDED;
        let query = query_of(q);
        let at = state_of(q);
        if thread == 0u {
            threshold = max(atomicLoad(&state[at + THRESHOLD]), 1u);
        }
        let least = workgroupUniformLoad(&threshold);
        let bound = extractBits(bounds[it >> 1u], 16u * (it & 1u), 16u);
        if bound < (least >> query.bound_shift) {
            continue;
        }
        let low = (it % PADDED) << SHIFT;
        for (var i = thread; i < WIDTH; i += THREADS) {
            atomicStore(&scores[i], 0u);
            atomicStore(&matches[i], 0u);
        }
        evaluated += 1u;
        for (var n = 0u; n < query.terms; n += TEAMS) {
            let mine = n + me.team;
            let busy = mine < query.terms;
            let t = term_of(query.first + min(mine, query.terms - 1u));
            let start = locate(t, low, me);
            // the blocks behind it that start within the range
            var more = 0u;
            let next = start + 1u + me.lane;
            if next < t.blocks {
                more = select(0u, 1u, first_of(t, next) < low + WIDTH);
            }
            let count = select(0u, 1u + team_sum(more, me), busy);
            if thread == 0u {
                atomicStore(&rounds, 0u);
            }
            workgroupBarrier();
            atomicMax(&rounds, count);
            workgroupBarrier();
            if thread == 0u {
                rounds_now = atomicLoad(&rounds);
            }
            let limit = workgroupUniformLoad(&rounds_now);
            decoded += select(0u, count, me.lane == 0u);
            for (var round = 0u; round < limit; round++) {
                let b = min(start + round, t.blocks - 1u);
                let block = block_of(t, b);
                let docs = docs_of(block, me);
                if SCRATCH > 0u {
                    team_barrier();
                }
                if round < count {
                    for (var j = 0u; j < ITEMS; j++) {
                        let p = 128u * j + 4u * me.lane;
                        let near = (docs[j] - low) < vec4<u32>(WIDTH);
                        if p < block.len && any(near) {
                            let tfs = tfs_of(t, b * BLOCK + p);
                            for (var c = 0u; c < 4u; c++) {
                                let doc = docs[j][c];
                                if near[c] && p + c < block.len && doc < DOCS {
                                    atomicAdd(&scores[doc - low], share_of(t, tfs[c], doc));
                                    atomicAdd(&matches[doc - low], 1u);
                                }
                            }
                        }
                    }
                }
            }
        }
        workgroupBarrier();
        keep(q, query, at, low, least, thread);
    }
    if me.lane == 0u {
        atomicAdd(&state[BLOCKS_DECODED], decoded);
    }
    if thread == 0u {
        atomicAdd(&state[RANGES_EVALUATED], evaluated);
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
            atomicAdd(&state[at + SCORES + min(score >> query.bucket_shift, BUCKETS - 1u)], 1u);
        }
    }
    storageBarrier();
    let bucket = highest_bucket(at + SCORES, query.k, thread);
    let reached = max(least, bucket << query.bucket_shift);
    if thread == 0u {
        atomicMax(&state[at + THRESHOLD], reached);
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
        base = atomicAdd(&state[at + HITS], atomicLoad(&kept));
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
