//#import or/ranges/state
//#import params

// Which ranges a wave takes: bounds from `least` on, in classes below `high`.
struct Wave {
    least: u32,
    high: u32,
}

// The whole workgroup calls it.
fn wave_of(q: u32, at: u32, thread: u32) -> Wave {
    let query = query_of(q);
    let least = max(query.least, atomicLoad(&state[at + STATE_THRESHOLD]));
    var low = 0u;
    var high = NO_CUT;
    if params.wanted > 0u {
        low = highest_bucket(at + STATE_BOUNDS, BOUND_BUCKETS, params.wanted, thread);
        if thread == 0u {
            atomicStore(&state[at + STATE_CUTS + params.wave], low);
            atomicMax(&state[at + STATE_THRESHOLD], query.least);
        }
    } else if params.last == 0u {
        low = atomicLoad(&state[at + STATE_CUTS + params.wave]);
    }
    if params.wave > 0u {
        high = atomicLoad(&state[at + STATE_CUTS + params.wave - 1u]);
    }
    return Wave(max(max(least >> query.bound_shift, 1u), low << BOUND_BUCKET), high);
}

fn takes(wave: Wave, bound: u32) -> bool {
    return bound >= wave.least && bound >> BOUND_BUCKET < wave.high;
}
