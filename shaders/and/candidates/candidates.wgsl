//#import shared/list
//#import shared/classes
//#import scores
//#import params
//#import queries
//#import jobs
//#import share

// The shared data of all kernels of an intersection: the queries of a batch, the terms of each in the order of their
// lists' lengths, and the candidates: the postings of the first list that are in all lists so far.
//
// A query's candidates have `room` slots from slot `start` on, a multiple of THREADS. There are two halves of `half`
// slots: a round reads from one and writes to the other.
//
// `state` has HEAD_WORDS counters, then QUERY_WORDS words a query, the first words of all queries before their second
// words. Behind them CLASSES counters a query.

var<storage, read> norms: array<f32>;
// a method's tables for lists, made when these came to the device
var<storage, read> tables: array<u32>;
var<storage, read_write> candidates: array<u32>;
var<storage, read_write> scores: array<u32>;
// 1 for candidates that stay, a slot each
var<storage, read_write> flags: array<u32>;
// a method's own: a word a slot, two words a part
var<storage, read_write> heads: array<u32>;
// candidates that stay, of each THREADS slots; then of all slots of the query before them
var<storage, read_write> sums: array<u32>;
var<storage, read_write> state: array<atomic<u32>>;
var<storage, read_write> results: array<u32>;

// A term's place in `tables`, and two numbers that its method keeps with the term.
fn table_of(row: u32) -> vec3<u32> {
    return term_of(row).kept;
}

// Candidates of a query before (round - 1) or after a round.
fn count_of(q: u32, round: u32) -> u32 {
    return min(atomicLoad(&state[HEAD_WORDS + (QUERY_COUNTS + (round & 1u)) * params.queries + q]), query_of(q).room);
}

fn set_count(q: u32, round: u32, count: u32) {
    atomicStore(&state[HEAD_WORDS + (QUERY_COUNTS + (round & 1u)) * params.queries + q], count);
}

// The slot of a query's candidate after a round.
fn slot_of(query: Query, round: u32, i: u32) -> u32 {
    return (round & 1u) * params.half + query.start + i;
}

// The round after which a query is done.
fn last_round(query: Query) -> u32 {
    return select(query.terms - 1u, 1u, params.number == 1u);
}

// What a term of negative weight would add, it takes away. Scores have a bias, so that none is negative.
fn signed(t: Term, shares: vec4<u32>) -> vec4<u32> {
    return select(shares, vec4<u32>(0u) - shares, t.table == 1u);
}

// The part of the posting at a position in a score.
fn share_at(t: Term, position: u32, doc: u32) -> u32 {
    return signed(t, shares_of(t, position & ~3u, vec4<u32>(doc)))[position & 3u];
}

// The place in `state` that counts the results of a query in a class of scores.
fn class_of(q: u32, c: u32) -> u32 {
    return HEAD_WORDS + QUERY_WORDS * params.queries + q * CLASSES + c;
}

// The place in `state` of a query's next free place for a result.
fn place_of(q: u32) -> u32 {
    return HEAD_WORDS + QUERY_PLACE * params.queries + q;
}

// Sets the least score of the wanted results, and their number.
fn set_chosen(q: u32, score: u32, count: u32) {
    atomicStore(&state[HEAD_WORDS + QUERY_LEAST * params.queries + q], score);
    atomicStore(&state[HEAD_WORDS + QUERY_WANTED * params.queries + q], count);
}

fn least_score(q: u32) -> u32 {
    return atomicLoad(&state[HEAD_WORDS + QUERY_LEAST * params.queries + q]);
}

fn chosen(q: u32) -> u32 {
    return atomicLoad(&state[HEAD_WORDS + QUERY_WANTED * params.queries + q]);
}

var<workgroup> team_totals: array<u32, TEAMS>;

// The number of a thread in its workgroup: as teams count, so that neighbours are in one team.
fn number_of(me: Me) -> u32 {
    return me.team * 32u + me.lane;
}

// The sum of x over the threads before this one, and over all; all threads of the workgroup call it. They may have gone
// apart before.
fn scan(x: u32, me: Me) -> vec2<u32> {
    workgroupBarrier();
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
    workgroupBarrier();
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
// the work of a workgroup, by its number among those of the pass: most have a job each. `own` is the thread's number in
// it. `share` is
//     fn take(group: u32, groups: u32, own: u32, me: Me)
// all the work of a workgroup of so many.
@compute @workgroup_size(THREADS)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) grid: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
    //#slot team_builtins
) {
    //#slot me
    take(group.y * grid.x + group.x, grid.x * grid.y, number_of(me), me);
}
