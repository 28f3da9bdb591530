// A key as its low and its high word, for adapters without 64-bit integers.
alias Key = vec2<u32>;

// Sorts after every real key.
const LAST: Key = vec2<u32>(0xffffffffu, 0xffffffffu);

fn greater(a: Key, b: Key) -> bool {
    // not && and ||, which branch
    return (a.y > b.y) | ((a.y == b.y) & (a.x > b.x));
}

// All ones if `yes`, else all zeros.
fn mask(yes: bool) -> Key {
    return vec2<u32>(select(0u, 0xffffffffu, yes));
}

fn low(key: Key) -> u32 {
    return key.x;
}

fn high(key: Key) -> u32 {
    return key.y;
}

fn join(low: u32, high: u32) -> Key {
    return vec2<u32>(low, high);
}
