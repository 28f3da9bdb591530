//#import shared/scan
//#import places
//#import params

// Shared by all ways to choose the best hits of a query. A workgroup a query.
//
// The better hit has the greater score or, of two equal scores, the earlier place in the input. No document stands
// twice among the hits of a query, and none is 2^32 - 1.

// `head` words of anything, then counts. The number of hits of query q is at counts[first + q * stride]. If the queries
// have different room, they begin at counts[starts + q], a multiple of THREADS
var<storage, read> counts: array<u32>;
// (docID, score), `room` a query or from their begin; a kernel may leave anything there
var<storage, read_write> hits: array<vec2<u32>>;
// `scratch` pairs a query, or for THREADS hits
var<storage, read_write> scratch: array<vec2<u32>>;
// a query: number of its hits (if that is more than `room`, some are missing), number of the best ones, then these,
// best first, with room for `k`; behind all queries the head of `counts`
var<storage, read_write> best: array<u32>;

fn better(a: vec2<u32>, b: vec2<u32>) -> bool {
    return a.y > b.y || (a.y == b.y && place_of(a.x) < place_of(b.x));
}

// The number of hits of a query to choose from.
fn hits_of(q: u32) -> u32 {
    return min(counts[params.first + q * params.stride], params.room);
}

// Where the hits of a query begin.
fn start_of(q: u32) -> u32 {
    if params.starts == SAME_ROOM {
        return q * params.room;
    }
    return counts[params.starts + q];
}

// Where its scratch memory begins.
fn scratch_of(q: u32) -> u32 {
    return select(start_of(q) / THREADS, q, params.starts == SAME_ROOM) * params.scratch;
}

// Where the best hits of a query go.
fn best_of(q: u32) -> u32 {
    return q * (2u + 2u * params.k) + 2u;
}

fn put(at: u32, i: u32, hit: vec2<u32>) {
    best[at + 2u * i] = hit.x;
    best[at + 2u * i + 1u] = hit.y;
}

// Everything but the hits themselves.
fn put_counts(q: u32, thread: u32) {
    if thread == 0u {
        best[best_of(q) - 2u] = counts[params.first + q * params.stride];
        best[best_of(q) - 1u] = min(hits_of(q), params.k);
    }
    if q == 0u {
        for (var i = thread; i < params.head; i += THREADS) {
            best[best_of(params.queries) - 2u + i] = counts[i];
        }
    }
}
