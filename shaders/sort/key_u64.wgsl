// A key as one 64-bit integer.
alias Key = u64;

// Sorts after every real key.
const LAST: Key = 0xfffffffffffffffflu;

fn greater(a: Key, b: Key) -> bool {
    return a > b;
}

// All ones if `yes`, else all zeros.
fn mask(yes: bool) -> Key {
    return select(0lu, 0xfffffffffffffffflu, yes);
}

fn low(key: Key) -> u32 {
    return u32(key);
}

fn high(key: Key) -> u32 {
    return u32(key >> 32u);
}

fn join(low: u32, high: u32) -> Key {
    return (u64(high) << 32u) | u64(low);
}

// The lowest 32 bits of a key from `shift` on.
fn bits_from(key: Key, shift: u32) -> u32 {
    return u32(key >> shift);
}

// Halfway between two keys, rounded down.
fn halfway(a: Key, b: Key) -> Key {
    return (a & b) + ((a ^ b) >> 1u);
}

// The key that is less by 1.
fn previous(key: Key) -> Key {
    return key - 1lu;
}

// The key that is greater by 1.
fn next(key: Key) -> Key {
    return key + 1lu;
}
