//#import or/ranges/state
//#import params

// Which ranges a wave takes: bounds from `least` on, in classes below `high`.
struct Wave {
    least: u32,
    high: u32,
}

fn wave_of(q: u32, at: u32) -> Wave {
    let threshold = max(atomicLoad(&state[at + STATE_THRESHOLD]) >> query_of(q).bound_shift, 1u);
    var low = 0u;
    var high = NO_CUT;
    if params.last == 0u {
        low = atomicLoad(&state[at + STATE_CUTS + params.wave]);
    }
    if params.wave > 0u {
        high = atomicLoad(&state[at + STATE_CUTS + params.wave - 1u]);
    }
    return Wave(max(threshold, low << BOUND_BUCKET), high);
}

fn takes(wave: Wave, bound: u32) -> bool {
    return bound >= wave.least && bound >> BOUND_BUCKET < wave.high;
}
