//#import topk/hits

// All hits of a query in order, digit by digit from the least one on; the first k are the best. Each pass keeps the
// order of the pass before. A pass over a digit that all hits of a query share moves nothing.
//
// `tallies` has a word a query: 1 if the hits are in `scratch`, plus 2 if the digit of this pass is the same for all.
// Behind these words are the counters of each query: [digit][tile]. First they say how many hits of the tile have the
// digit, then where those go.

// Digit of a pass (`number`). The first PLACE_PASSES go through the place of the document, the others through the
// score, greater ones first.
fn digit_of(hit: vec2<u32>) -> u32 {
    if params.number < PLACE_PASSES {
        return (place_of(hit.x) >> (DIGIT_BITS * params.number)) & (DIGITS - 1u);
    }
    return (~hit.y >> (DIGIT_BITS * (params.number - PLACE_PASSES))) & (DIGITS - 1u);
}

// 1 if the hits of a query are in `scratch` before the offsets of this pass.
fn moved_to(q: u32) -> u32 {
    if params.number == 0u {
        return 0u;
    }
    let word = atomicLoad(&tallies[q]);
    // the pass before has moved them unless they share its digit
    return select(1u - (word & 1u), word & 1u, word > 1u);
}

fn hit_at(base: u32, moved: u32, i: u32) -> vec2<u32> {
    if moved == 1u {
        return scratch[base + i];
    }
    return hits[base + i];
}

// Where the counters of a query begin, and from one digit to the next.
fn counters_of(q: u32) -> vec2<u32> {
    let tiles = (hits_of(q) + TILE - 1u) / TILE;
    return vec2<u32>(params.queries + query_of(q).first * DIGITS, tiles);
}
