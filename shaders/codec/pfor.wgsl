//#import codec/gaps

// pfor: slots of b bits, exceptions in a linked list, their values behind the slots.

// Element `i` & 127 of 128 bytes, of which each thread has four.
fn hop(bytes: u32, i: u32, me: Me) -> u32 {
    return extractBits(team_read(bytes, i >> 2u, me), 8u * (i & 3u), 8u);
}

// Where two hops lead from the four places whose hops are `bytes`.
fn hop_twice(bytes: u32, me: Me) -> u32 {
    let a = hop(bytes, bytes & 127u, me);
    let b = hop(bytes, (bytes >> 8u) & 127u, me);
    let c = hop(bytes, (bytes >> 16u) & 127u, me);
    let d = hop(bytes, (bytes >> 24u) & 127u, me);
    return a | (b << 8u) | (c << 16u) | (d << 24u);
}

fn decode_block(block: Block, me: Me) -> Docs {
    let m = block.len - 1u;
    let places = 32u - countLeadingZeros(m);
    let head = word(block.at);
    let b = head & 31u;
    let first = extractBits(head, 5u, places);
    let any = first < m;
    let count = select(0u, min(extractBits(head, 5u + places, places), m), any);
    let width = extractBits(head, 5u + 2u * places, 5u) + 1u;
    let slots_at = select(5u + places, 10u + 2u * places, any);
    let values_at = slots_at + m * b;

    let i = 4u * me.lane;
    let slots = vec4<u32>(
        field(block.at, slots_at + b * i, b),
        field(block.at, slots_at + b * (i + 1u), b),
        field(block.at, slots_at + b * (i + 2u), b),
        field(block.at, slots_at + b * (i + 3u), b),
    );
    // Where a hop leads from each place; place 127, which no number has, leads to itself.
    let places_of = vec4<u32>(i, i + 1u, i + 2u, i + 3u);
    let hops = min(places_of + min(slots, vec4<u32>(127u)) + vec4<u32>(1u), vec4<u32>(127u));
    let by1 = hops.x | (hops.y << 8u) | (hops.z << 16u) | (hops.w << 24u);
    let by2 = hop_twice(by1, me);
    // A thread has the exceptions of the ranks 4 lane to 4 lane + 3: lane in its binary digits says which hops lead to
    // the first of them.
    var place = first & 127u;
    var by = by2;
    for (var digit = 1u; digit < 32u; digit *= 2u) {
        by = hop_twice(by, me);
        place = select(place, hop(by, place, me), (me.lane & digit) != 0u);
    }
    let place1 = hop(by1, place, me);
    let place2 = hop(by2, place, me);
    let place3 = hop(by1, place2, me);

    let at = me.base + i;
    scratch[at] = slots.x;
    scratch[at + 1u] = slots.y;
    scratch[at + 2u] = slots.z;
    scratch[at + 3u] = slots.w;
    team_barrier();
    if i < count {
        scratch[me.base + place] = field(block.at, values_at + width * i, width);
    }
    if i + 1u < count {
        scratch[me.base + place1] = field(block.at, values_at + width * (i + 1u), width);
    }
    if i + 2u < count {
        scratch[me.base + place2] = field(block.at, values_at + width * (i + 2u), width);
    }
    if i + 3u < count {
        scratch[me.base + place3] = field(block.at, values_at + width * (i + 3u), width);
    }
    team_barrier();
    var gaps: Docs;
    gaps[0] = vec4<u32>(scratch[at], scratch[at + 1u], scratch[at + 2u], scratch[at + 3u]);
    return docs_of_gaps(block.first, gaps, me);
}
