//#import or/ranges/range
//#import scores
//#import or/ranges/state
//#import params

// The scores of the documents of the queued ranges. A workgroup takes some neighbours in the queue, range after range,
// adds up the terms' blocks for a range in workgroup memory, and keeps documents that may be among the query's best.
//
// What the terms need is fetched for all of them at once, and for several ranges of a query, a thread a term of a
// range, since most of the time is waiting for memory. Before threads of the team tell each other something, they meet
// at a barrier, if they may have gone apart: else an H200 has been seen to add up the terms of only some of them.

var<storage, read> norms: array<f32>;
var<storage, read> bounds: array<u32>;
var<storage, read> queue: array<u32>;
// candidate ranges: query * PADDED + range, and the bound
var<storage, read> chosen: array<vec2<u32>>;
var<storage, read_write> state: array<atomic<u32>>;
// (docID, score), `room` a query
var<storage, read_write> hits: array<vec2<u32>>;

var<workgroup> scores: array<atomic<u32>, WIDTH>;
// how many terms a document has
var<workgroup> matches: array<atomic<u32>, WIDTH>;
// documents of a block that are in the range: the position in the block, and the place in the range
var<workgroup> together: array<u32, 128>;
// how many ranges are in the queue, and how many with the candidate ranges
var<workgroup> queued: vec2<u32>;
var<workgroup> threshold: u32;
var<workgroup> news: u32;
// ranges of one query: the number of the range, and the bound
var<workgroup> mates: array<vec2<u32>, MATES>;

// A workgroup takes so many neighbours in the queue. More are no faster on an H100, 4 are slower.
const MATES: u32 = 8u;

// A range of a query, as it comes from the queue.
struct Item {
    there: bool,
    // query * PADDED + range
    it: u32,
    bound: u32,
}

fn item_of(number: u32, items: vec2<u32>) -> Item {
    if number >= items.y {
        return Item();
    }
    if number < items.x {
        let it = queue[number];
        return Item(true, it, extractBits(bounds[it >> 1u], 16u * (it & 1u), 16u));
    }
    let one = chosen[number - items.x];
    return Item(true, one.x, one.y);
}

// What a thread knows of the term that it stands for.
struct Mine {
    // the most that the term adds in the range; 0 without a table
    share: u32,
    // its blocks for the range
    start: u32,
    count: u32,
    // the first of these: its first docID, its words, and its frequencies
    first: u32,
    at: u32,
    tf: vec2<u32>,
}

// What a thread finds out about term `number`.
fn find(number: u32, range: u32) -> Mine {
    let t = term_of(number);
    var mine: Mine;
    var step = 1u;
    if t.table != NONE {
        step = extractBits(table_word(t.table + (range >> 2u)), 8u * (range & 3u), 8u);
        mine.share = select(0u, share_bound(t, step), step > 0u);
    }
    if step > 0u {
        mine.start = block_at(t, range);
        mine.count = 1u;
        let end = (range << SHIFT) + WIDTH;
        while mine.start + mine.count < t.blocks && first_of(t, mine.start + mine.count) < end {
            mine.count += 1u;
        }
        let block = block_of(t, mine.start);
        mine.first = block.first;
        mine.at = block.at;
        mine.tf = tf_place(t, (mine.start * BLOCK) >> 7u);
    }
    return mine;
}

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
        let first = atomicLoad(&state[HEAD_QUEUED + params.wave]);
        queued = vec2<u32>(first, first + atomicLoad(&state[HEAD_CHOSEN + params.wave]));
    }
    let items = workgroupUniformLoad(&queued);
    let each = clamp((items.y + grid.x - 1u) / grid.x, 1u, MATES);
    for (var next = group.x * each; next < items.y; next += grid.x * each) {
        var own: Item;
        if me.lane < each {
            own = item_of(next + me.lane, items);
        }
        workgroupBarrier();
        loop {
            // the first one that is left, and with it others of its query: as many as threads find at once
            let left = team_max(select(0u, 32u - me.lane, own.there), me);
            if left == 0u {
                break;
            }
            let q = team_read(own.it, 32u - left, me) / PADDED;
            let query = query_of(q);
            let mate = own.there && own.it / PADDED == q;
            let before = team_sum_before(select(0u, 1u, mate), me);
            let most = max(32u / max(query.terms, 1u), 1u);
            let count = min(team_read(before + select(0u, 1u, mate), 31u, me), most);
            if mate && before < most {
                mates[before] = vec2<u32>(own.it % PADDED, own.bound);
                own.there = false;
            }
            workgroupBarrier();
            var found: Mine;
            if query.terms <= 32u && me.lane < count * query.terms {
                found = find(query.first + me.lane % query.terms, mates[me.lane / query.terms].x);
            }
            workgroupBarrier();
            for (var r = 0u; r < count; r++) {
                let work = evaluate(q, query, mates[r], found, r * query.terms, thread, me);
                evaluated += work.x;
                decoded += work.y;
            }
            workgroupBarrier();
        }
    }
    if thread == 0u {
        atomicAdd(&state[HEAD_BLOCKS], decoded);
        atomicAdd(&state[HEAD_EVALUATED], evaluated);
    }
}

// Evaluates a range, by its number and bound. Up to 32 terms are `found` already, by threads from `place` on. Returns
// how many ranges were evaluated, 1 or 0, and how many blocks decoded.
fn evaluate(q: u32, query: Query, one: vec2<u32>, found: Mine, place: u32, thread: u32, me: Me) -> vec2<u32> {
    let at = state_of(q);
    if thread == 0u {
        threshold = max(atomicLoad(&state[at + STATE_THRESHOLD]), 1u);
    }
    let least = workgroupUniformLoad(&threshold);
    if params.prune == 1u && one.y < (least >> query.bound_shift) {
        return vec2<u32>(0u);
    }
    let range = one.x;
    let low = range << SHIFT;
    for (var i = thread; i < WIDTH; i += THREADS) {
        atomicStore(&scores[i], 0u);
        atomicStore(&matches[i], 0u);
    }
    workgroupBarrier();
    var decoded = 0u;
    // the most that the terms from this one on can add
    var rest = NONE;
    if params.prune == 1u && one.y < 0xffffu {
        rest = one.y << query.bound_shift;
    }
    var hopeful = true;
    // the best score so far; of a document with all terms so far, if all are needed
    var best = 0u;
    var mine = found;
    for (var n = 0u; n < query.terms && hopeful; n++) {
        if query.terms > 32u && (n & 31u) == 0u {
            if n + me.lane < query.terms {
                mine = find(query.first + n + me.lane, range);
            }
            workgroupBarrier();
        }
        // team_read takes it modulo 32
        let source = select(place, 0u, query.terms > 32u) + n;
        let t = term_of(query.first + n);
        let tabled = t.table != NONE;
        let start = team_read(mine.start, source, me);
        let count = min(team_read(mine.count, source, me), WIDTH);
        decoded += count;
        var greatest = 0u;
        var greatest_share = 0u;
        for (var b = start; b < start + count; b++) {
            var block = Block(t.list, 0u, 0u, min(t.df - b * BLOCK, BLOCK), b);
            var tf: vec2<u32>;
            if b == start {
                block.first = team_read(mine.first, source, me);
                block.at = team_read(mine.at, source, me);
                tf = vec2<u32>(team_read(mine.tf.x, source, me), team_read(mine.tf.y, source, me));
            } else {
                block = block_of(t, b);
                tf = tf_place(t, (b * BLOCK) >> 7u);
            }
            let docs = docs_of(block, me);
            if SCRATCH > 0u {
                team_barrier();
            }
            for (var j = 0u; j < ITEMS; j++) {
                let p = 128u * j + 4u * me.lane;
                var near = (docs[j] - low) < vec4<u32>(WIDTH);
                near = near & (docs[j] < vec4<u32>(DOCS));
                // a document that cannot reach the threshold any more needs no frequency
                //#for 4
                near[@u] = near[@u] && p + @u < block.len;
                if near[@u] && tabled {
                    let place@ = docs[j][@u] - low;
                    let lost@ = query.all == 1u && atomicLoad(&matches[place@]) < n;
                    near[@u] = !lost@ && (rest == NONE || atomicLoad(&scores[place@]) + rest >= least);
                }
                //#end
                // these documents come together, one a thread: of most blocks there are few
                workgroupBarrier();
                let ones = vec4<u32>(near);
                let own = ones.x + ones.y + ones.z + ones.w;
                let before = team_sum_before(own, me);
                let all = team_read(before + own, 31u, me);
                if all == 0u {
                    continue;
                }
                let tf_number = (b * BLOCK + 128u * j) >> 7u;
                if j > 0u {
                    tf = tf_place(t, tf_number);
                }
                var to = before;
                //#for 4
                if near[@u] {
                    together[to] = (4u * me.lane + @u) << 16u | (docs[j][@u] - low);
                    to += 1u;
                }
                //#end
                let tfs = tfs_of_team(t, tf_number, tf, me);
                workgroupBarrier();
                for (var slot = me.lane; slot < all; slot += 32u) {
                    let one = together[slot];
                    let i = one & 0xffffu;
                    let part = part_at(t, tfs, one >> 16u, low + i);
                    let score = atomicAdd(&scores[i], part) + part;
                    greatest_share = max(greatest_share, part);
                    // only documents with all terms so far count, if all are needed
                    if query.all == 0u || atomicAdd(&matches[i], 1u) == n {
                        greatest = max(greatest, score);
                    }
                }
                workgroupBarrier();
            }
        }
        workgroupBarrier();
        if rest != NONE {
            rest -= min(rest, select(team_max(greatest_share, me), team_read(mine.share, source, me), tabled));
        }
        let here = team_max(greatest, me);
        best = select(max(best, here), here, query.all == 1u);
        let possible = best >= least || rest == NONE || best + rest >= least;
        hopeful = possible && (query.all == 0u || best > 0u);
    }
    if hopeful {
        keep(q, query, at, low, least, thread, me);
    }
    return vec2<u32>(1u, decoded);
}

// Whether a document is a match that reaches `least`; its score.
fn score_at(i: u32, query: Query, least: u32) -> u32 {
    let score = atomicLoad(&scores[i]);
    let enough = query.all == 0u || atomicLoad(&matches[i]) == query.terms;
    return select(0u, score, enough && score >= least);
}

// Documents of the range that reach the threshold go to the query's hits, and the threshold rises: at once for a small
// k, and for a large one whenever an eighth of k have come.
fn keep(q: u32, query: Query, at: u32, low: u32, least: u32, thread: u32, me: Me) {
    var mine = 0u;
    for (var i = thread; i < WIDTH; i += THREADS) {
        let score = score_at(i, query, least);
        if score > 0u {
            mine += 1u;
            let bucket = score_class(score, query.class_times, query.class_shift, BUCKETS);
            atomicAdd(&state[at + STATE_SCORES + bucket], 1u);
        }
    }
    workgroupBarrier();
    let all = team_sum(mine, me);
    if all == 0u {
        return;
    }
    storageBarrier();
    if thread == 0u {
        news = atomicAdd(&state[at + STATE_SEEN], all);
        threshold = max(atomicLoad(&state[at + STATE_THRESHOLD]), least);
    }
    let seen = workgroupUniformLoad(&news);
    var reached = workgroupUniformLoad(&threshold);
    let step = max(query.k >> 3u, 1u);
    if seen + all >= query.k && (seen + all) / step != seen / step {
        let bucket = highest_bucket(at + STATE_SCORES, BUCKETS, query.k, thread);
        reached = max(reached, class_edge(bucket, query.class_times, query.class_shift));
        if thread == 0u {
            atomicMax(&state[at + STATE_THRESHOLD], reached);
        }
    }
    if reached > least {
        mine = 0u;
        for (var i = thread; i < WIDTH; i += THREADS) {
            mine += select(0u, 1u, score_at(i, query, reached) > 0u);
        }
    }
    workgroupBarrier();
    let before = team_sum_before(mine, me);
    if thread == THREADS - 1u {
        news = atomicAdd(&state[at + STATE_HITS], before + mine);
    }
    var to = workgroupUniformLoad(&news) + before;
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
