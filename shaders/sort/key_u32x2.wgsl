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

// The lowest 32 bits of a key from `shift` on.
fn bits_from(key: Key, shift: u32) -> u32 {
    if shift >= 32u {
        return key.y >> (shift - 32u);
    }
    // in two steps, since a shift by 32 is none
    return (key.x >> shift) | ((key.y << (31u - shift)) << 1u);
}

// Halfway between two keys, rounded down.
fn halfway(a: Key, b: Key) -> Key {
    let both = a & b;
    let either = a ^ b;
    let half = vec2<u32>((either.x >> 1u) | (either.y << 31u), either.y >> 1u);
    let low = both.x + half.x;
    return vec2<u32>(low, both.y + half.y + select(0u, 1u, low < half.x));
}

// The key that is less by 1.
fn previous(key: Key) -> Key {
    return vec2<u32>(key.x - 1u, key.y - select(0u, 1u, key.x == 0u));
}

// The key that is greater by 1.
fn next(key: Key) -> Key {
    let low = key.x + 1u;
    return vec2<u32>(low, key.y + select(0u, 1u, low == 0u));
}
