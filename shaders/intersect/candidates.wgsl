// What all kernels of an intersection see: the queries of a batch, the terms of each in the order of their lists' lengths, and the
// candidates, which are the postings of the first list that all lists so far have. list.wgsl stands before this text.
//
// A query's candidates have `room` slots from slot `start` on, a multiple of THREADS. There are two halves of `half`
// slots: a round reads from one and writes to the other.
//
// `state` has COUNTS counters, of which BLOCKS_DECODED is one, then for each query a word of each of these, one kind after the other:
// candidates before a round, and after it (they change places); where results go; the least score of results that are wanted;
// the number of results that are wanted: QUERY_WORDS. Behind them CLASSES counters a query.

//BINDINGS
@group(0) @binding(NEXT+0) var<storage, read> terms: array<vec4<u32>>;
// (first term, terms, start, room)
@group(0) @binding(NEXT+1) var<storage, read> queries: array<vec4<u32>>;
@group(0) @binding(NEXT+2) var<storage, read> norms: array<f32>;
// (query, what part of it)
@group(0) @binding(NEXT+3) var<storage, read> jobs: array<vec2<u32>>;
// what a method has computed for lists when they came to the device
@group(0) @binding(NEXT+4) var<storage, read> tables: array<u32>;
@group(0) @binding(NEXT+5) var<storage, read_write> candidates: array<u32>;
@group(0) @binding(NEXT+6) var<storage, read_write> scores: array<u32>;
// 1 for those that stay, a slot each
@group(0) @binding(NEXT+7) var<storage, read_write> flags: array<u32>;
// a method's own: a word a slot, two words a part
@group(0) @binding(NEXT+8) var<storage, read_write> heads: array<u32>;
// candidates that stay, of each THREADS slots; then of all slots of the query before them
@group(0) @binding(NEXT+9) var<storage, read_write> sums: array<u32>;
@group(0) @binding(NEXT+10) var<storage, read_write> state: array<atomic<u32>>;
@group(0) @binding(NEXT+11) var<storage, read_write> results: array<u32>;

struct Params {
    // the first of the pass's jobs, and how many
    first: u32,
    jobs: u32,
    // 1 and up: the list that candidates are looked up in
    round: u32,
    // slots of a half
    half: u32,
    // 1 if scores are wanted
    ranked: u32,
    // queries of the batch
    queries: u32,
    // of a method's pass; of the last ones: 1 if one round went over all lists, else there was one for each list but the first
    number: u32,
    // of a method's pass; of `choose`, how many results are wanted; of those behind it which they are: ALL, the CHOSEN, or all IN_PLACE
    other: u32,
    // candidates that a workgroup with a query of its own goes through, from candidate `number` on
    span: u32,
}

var<immediate> params: Params;

struct Query {
    first: u32,
    terms: u32,
    start: u32,
    room: u32,
}

fn query_of(q: u32) -> Query {
    let row = queries[q];
    return Query(row.x, row.y, row.z, row.w);
}

// Where a term's table starts in `tables`, and two numbers that its method keeps with the term.
fn table_of(row: u32) -> vec3<u32> {
    return terms[3u * row + 2u].yzw;
}

// Candidates of a query before (round - 1) or after a round.
fn count_of(q: u32, round: u32) -> u32 {
    return min(atomicLoad(&state[COUNTS + (round & 1u) * params.queries + q]), queries[q].w);
}

fn set_count(q: u32, round: u32, count: u32) {
    atomicStore(&state[COUNTS + (round & 1u) * params.queries + q], count);
}

// The slot of a query's candidate after a round.
fn slot_of(query: Query, round: u32, i: u32) -> u32 {
    return (round & 1u) * params.half + query.start + i;
}

// The round after which a query is done.
fn last_round(query: Query) -> u32 {
    return select(query.terms - 1u, 1u, params.number == 1u);
}

// What the posting at a position adds to a score.
fn share_at(t: Term, position: u32, doc: u32) -> u32 {
    return shares_of(t, position & ~3u, vec4<u32>(doc))[position & 3u];
}

// All results, side by side.
const ALL: u32 = 0u;
// Those that `choose` has chosen, side by side in no order.
const CHOSEN: u32 = 1u;
// All, each query's where its candidates were.
const IN_PLACE: u32 = 2u;

// Scores have 30 bits.
const CLASS_SHIFT: u32 = 20u;

// Where in `state` the results of a query in a class of scores are counted.
fn class_of(q: u32, c: u32) -> u32 {
    return COUNTS + QUERY_WORDS * params.queries + q * CLASSES + c;
}

// Where in `state` is where the next result of a query goes.
fn place_of(q: u32) -> u32 {
    return COUNTS + 2u * params.queries + q;
}

// Results from a score on are wanted, and so many they are.
fn set_chosen(q: u32, score: u32, count: u32) {
    atomicStore(&state[COUNTS + 3u * params.queries + q], score);
    atomicStore(&state[COUNTS + 4u * params.queries + q], count);
}

fn least_score(q: u32) -> u32 {
    return atomicLoad(&state[COUNTS + 3u * params.queries + q]);
}

fn chosen(q: u32) -> u32 {
    return atomicLoad(&state[COUNTS + 4u * params.queries + q]);
}

var<workgroup> team_totals: array<u32, TEAMS>;

// The number of a thread in its workgroup: as teams count, so that neighbours are in one team.
fn number_of(me: Me) -> u32 {
    return me.team * 32u + me.lane;
}

// The sum of x over the threads before this one, and over all; all threads of the workgroup call it.
fn scan(x: u32, me: Me) -> vec2<u32> {
    let before = team_sum_before(x, me);
    if me.lane == 31u {
        team_totals[me.team] = before + x;
    }
    workgroupBarrier();
    var sums = vec2<u32>(before, 0u);
    for (var k = 0u; k < TEAMS; k++) {
        let total = team_totals[k];
        sums += vec2<u32>(select(0u, total, k < me.team), total);
    }
    workgroupBarrier();
    return sums;
}

// The greatest x of the threads before this one, and of those and this one.
fn scan_max(x: u32, me: Me) -> vec2<u32> {
    let greatest = team_max_up_to(x, me);
    let neighbour = team_read(greatest, me.lane + 31u, me);
    if me.lane == 31u {
        team_totals[me.team] = greatest;
    }
    workgroupBarrier();
    var before = select(0u, neighbour, me.lane > 0u);
    for (var k = 0u; k < TEAMS; k++) {
        before = max(before, select(0u, team_totals[k], k < me.team));
    }
    workgroupBarrier();
    return vec2<u32>(before, max(before, x));
}

// Every kernel is its
//     fn work(number: u32, own: u32, me: Me)
// what a workgroup does, by its number among those of the pass: most have a job each. `own` is the thread's number in it.
@compute @workgroup_size(THREADS)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) grid: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
    //TEAM_BUILTINS
) {
    //TEAM
    let number = group.y * grid.x + group.x;
    if number < params.jobs {
        work(number, number_of(me), me);
    }
}
