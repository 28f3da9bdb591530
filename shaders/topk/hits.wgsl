//#import places
//#import params
//#import queries
//#import jobs

// Shared by all ways to choose the best hits of a query. The hits of a query are cut into tiles of TILE hits.
//
// The better hit has the greater score or, of two equal scores, the earlier place in the input. No document stands
// twice among the hits of a query, and none is 2^32 - 1.

// `head` words of anything, then counts. The number of hits of query q is at counts[first + q * stride]
var<storage, read> counts: array<u32>;
// (docID, score); a kernel may leave anything there
var<storage, read_write> hits: array<vec2<u32>>;
// a method's own
var<storage, read_write> scratch: array<vec2<u32>>;
// a method's own
var<storage, read_write> tallies: array<atomic<u32>>;
// a query: number of its hits (if that is more than its room, some are missing), number of the best ones, then these,
// best first, with room for `k`; behind all queries the head of `counts`
var<storage, read_write> best: array<u32>;

fn better(a: vec2<u32>, b: vec2<u32>) -> bool {
    return a.y > b.y || (a.y == b.y && place_of(a.x) < place_of(b.x));
}

// The number of hits of a query to choose from.
fn hits_of(q: u32) -> u32 {
    return min(counts[params.first + q * params.stride], query_of(q).room);
}

// Where the best hits of a query go.
fn best_of(q: u32) -> u32 {
    return q * (2u + 2u * params.k) + 2u;
}

fn put(at: u32, i: u32, hit: vec2<u32>) {
    best[at + 2u * i] = hit.x;
    best[at + 2u * i + 1u] = hit.y;
}

// Everything but the hits themselves; one workgroup a query calls it.
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
