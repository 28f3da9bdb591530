//#import or/ranges/range
//#import or/ranges/group
//#import or/ranges/add_blocks
//#import or/ranges/state
//#import params

// The scores of the documents of the queued ranges. A workgroup takes some neighbours in the queue, adds up the terms'
// postings there in workgroup memory, and keeps documents that may be among the query's best.
//
// Most of the time is waiting for memory. So what is wanted of several ranges of a query is fetched at once: a thread
// finds what there is of one term in one range. Then all postings that lie by range are added, a thread a posting,
// whichever term and range they belong to. Terms without such postings come after them, range after range and block
// after block. Before threads of the team tell each other something, they meet at a barrier, if they may have gone
// apart: else an H200 has been seen to add up the terms of only some of them.

var<storage, read> norms: array<f32>;
var<storage, read> bounds: array<u32>;
var<storage, read> queue: array<u32>;
// candidate ranges: query * PADDED + range, and the bound
var<storage, read> chosen: array<vec2<u32>>;
var<storage, read_write> state: array<atomic<u32>>;
// (docID, score), `room` a query
var<storage, read_write> hits: array<vec2<u32>>;

// For each document of the ranges at hand the sum of its parts, and from bit 24 on how many terms it has, modulo 256.
var<workgroup> sums: array<atomic<u32>, MATES * WIDTH>;
// how many ranges are in the queue, and how many with the candidate ranges
var<workgroup> queued: vec2<u32>;
var<workgroup> threshold: u32;
var<workgroup> news: u32;
// ranges of one query: the number of the range, and the bound
var<workgroup> mates: array<vec2<u32>, MATES>;
// of what each thread found: the first of the postings by range, and how many those of the threads before it are
var<workgroup> places: array<vec2<u32>, 32>;
// a bit for each of these ranges that has a hit
var<workgroup> with_hits: atomic<u32>;

const ONE_TERM: u32 = 1u << 24u;

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

// What a thread knows of a term in a range.
struct Mine {
    // what the term has in the bound of the range, or less; 0 without a table
    share: u32,
    // its postings by range, of the group that the range is in: the first, and how many
    position: u32,
    count: u32,
    // if there are none, its blocks for the range
    start: u32,
    blocks: u32,
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
        mine.share = select(0u, share_in_bound(t, step), step > 0u);
    }
    if step > 0u && t.kept.z != NONE {
        let group = t.kept.z + (range >> group_bits(t));
        mine.position = by_range_word(group);
        mine.count = by_range_word(group + 1u) - mine.position;
    } else if step > 0u {
        mine.start = block_at(t, range);
        mine.blocks = 1u;
        let end = (range << SHIFT) + WIDTH;
        while mine.start + mine.blocks < t.blocks && first_of(t, mine.start + mine.blocks) < end {
            mine.blocks += 1u;
        }
        // no more than documents
        mine.blocks = min(mine.blocks, WIDTH);
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
            let work = evaluate(q, query, count, thread, me);
            evaluated += work.x;
            decoded += work.y;
            workgroupBarrier();
        }
    }
    // the many workgroups without a range would wait for each other here
    if thread == 0u && evaluated > 0u {
        atomicAdd(&state[HEAD_BLOCKS], decoded);
        atomicAdd(&state[HEAD_EVALUATED], evaluated);
    }
}

// Evaluates ranges of a query, the first `count` of `mates`. Returns how many were evaluated, and how many blocks
// decoded.
fn evaluate(q: u32, query: Query, count: u32, thread: u32, me: Me) -> vec2<u32> {
    let at = state_of(q);
    if thread == 0u {
        threshold = max(atomicLoad(&state[at + STATE_THRESHOLD]), 1u);
        atomicStore(&with_hits, 0u);
    }
    for (var i = thread; i < count * WIDTH; i += THREADS) {
        atomicStore(&sums[i], 0u);
    }
    let least = workgroupUniformLoad(&threshold);
    // a bit for each range that may have a hit
    var live = 0u;
    for (var r = 0u; r < count; r++) {
        live |= select(0u, 1u << r, params.prune == 0u || mates[r].y >= least >> query.bound_shift);
    }
    if live == 0u {
        return vec2<u32>(0u);
    }
    var decoded = 0u;
    for (var first = 0u; first < query.terms; first += 32u) {
        let terms = min(query.terms - first, 32u);
        let r = me.lane / terms;
        var found: Mine;
        var by_range = 0u;
        if r < count && (live >> r & 1u) == 1u {
            let number = query.first + first + me.lane % terms;
            found = find(number, mates[r].x);
            by_range = select(0u, 1u, term_of(number).kept.z != NONE);
        }
        workgroupBarrier();
        add_postings(query, first, terms, found, least, me);
        if team_max(found.blocks, me) > 0u {
            // terms that are done; all ranges have the same
            let own = select(0u, by_range, r == firstTrailingBit(live));
            let done = first + team_sum(own, me);
            for (var r = 0u; r < count; r++) {
                if (live >> r & 1u) == 1u {
                    decoded += add_blocks(query, vec3<u32>(first, terms, done), r, found, least, me);
                }
            }
        }
    }
    workgroupBarrier();
    if thread == 0u {
        news = atomicLoad(&with_hits);
    }
    var rest = workgroupUniformLoad(&news);
    while rest != 0u {
        let r = firstTrailingBit(rest);
        rest &= rest - 1u;
        keep(q, query, at, r, least, thread, me);
        workgroupBarrier();
    }
    return vec2<u32>(countOneBits(live), decoded);
}

// Adds the part of a posting to the sum of its document, document i of range r. Returns the sum.
fn add(query: Query, r: u32, i: u32, part: u32, least: u32) -> u32 {
    let more = part + ONE_TERM;
    let sum = atomicAdd(&sums[r * WIDTH + i], more) + more;
    if is_hit(query, sum, least) {
        atomicOr(&with_hits, 1u << r);
    }
    return sum;
}

fn is_hit(query: Query, sum: u32, least: u32) -> bool {
    let enough = query.all == 0u || sum >> 24u == (query.terms & 255u);
    return enough && (sum & (ONE_TERM - 1u)) >= least;
}

// Adds the postings that lie by range. Thread r * terms + n has `found` what there is of term first + n in range r.
fn add_postings(query: Query, first: u32, terms: u32, found: Mine, least: u32, me: Me) {
    let before = team_sum_before(found.count, me);
    let all = team_read(before + found.count, 31u, me);
    places[me.lane] = vec2<u32>(found.position, before);
    workgroupBarrier();
    for (var slot = me.lane; slot < all; slot += 32u) {
        // the thread that found it: the last one before which there are no more
        var finder = 0u;
        for (var half = 16u; half > 0u; half >>= 1u) {
            finder += select(0u, half, places[finder + half].y <= slot);
        }
        let place = places[finder];
        let r = finder / terms;
        let t = term_of(query.first + first + finder % terms);
        let position = place.x + (slot - place.y);
        let posting = posting_at(t, position);
        let range = mates[r].x;
        let others = (1u << (place_bits(t) - SHIFT)) - 1u;
        if ((posting >> SHIFT) & others) == (range & others) {
            let i = posting & (WIDTH - 1u);
            let doc = (range << SHIFT) + i;
            add(query, r, i, part_by_value(t, value_at(t, position, posting, doc), doc), least);
        }
    }
    workgroupBarrier();
}

// Whether a document of range r is a match that reaches `least`; its score.
fn score_at(r: u32, i: u32, query: Query, least: u32) -> u32 {
    let sum = atomicLoad(&sums[r * WIDTH + i]);
    return select(0u, sum & (ONE_TERM - 1u), is_hit(query, sum, least));
}

// Documents of the range that reach the threshold go to the query's hits, and the threshold rises: at once for a small
// k, and for a large one whenever an eighth of k have come.
fn keep(q: u32, query: Query, at: u32, r: u32, least: u32, thread: u32, me: Me) {
    var mine = 0u;
    for (var i = thread; i < WIDTH; i += THREADS) {
        let score = score_at(r, i, query, least);
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
            mine += select(0u, 1u, score_at(r, i, query, reached) > 0u);
        }
    }
    workgroupBarrier();
    let before = team_sum_before(mine, me);
    if me.lane == 31u {
        news = atomicAdd(&state[at + STATE_HITS], before + mine);
    }
    var to = workgroupUniformLoad(&news) + before;
    let low = mates[r].x << SHIFT;
    for (var i = thread; i < WIDTH; i += THREADS) {
        let score = score_at(r, i, query, reached);
        if score > 0u {
            if to < params.room {
                hits[q * params.room + to] = vec2<u32>(low + i, score);
            }
            to += 1u;
        }
    }
}
