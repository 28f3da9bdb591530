// The exceptions of segments, put at their numbers' places: a thread an exception, after appendix D of Ao et al.

// Puts the overflow of each exception into `scratch`, at the place of the number.
fn segment_patches(at: u32, s: Segment, me: Me) {
    // A thread clears only its own words, so that a second segment may follow at once.
    //#for ITEMS
    segment_clear(me.base + 128u * @u + 4u * me.lane);
    //#end
    team_barrier();
    for (var j = me.lane; j < min(s.en, 128u * ITEMS); j += 32u) {
        let index = field(at, s.indexes + j * s.ib, s.ib);
        let high = field(at, s.highs + j * s.hb, s.hb);
        scratch[me.base + min(index, 128u * ITEMS - 1u)] = high << (s.b & 31u);
    }
    team_barrier();
}

fn segment_clear(i: u32) {
    scratch[i] = 0u;
    scratch[i + 1u] = 0u;
    scratch[i + 2u] = 0u;
    scratch[i + 3u] = 0u;
}

// The addends for the lows of the numbers i .. i + 3.
fn segment_patch(i: u32, me: Me) -> vec4<u32> {
    let from_here = me.base + i;
    return vec4<u32>(
        scratch[from_here], scratch[from_here + 1u], scratch[from_here + 2u], scratch[from_here + 3u],
    );
}
