// A key of 32 bits.
alias Key = u32;

// Sorts after every real key.
const LAST: Key = 0xffffffffu;

fn greater(a: Key, b: Key) -> bool {
    return a > b;
}

// All ones if `yes`, else all zeros.
fn mask(yes: bool) -> Key {
    return select(0u, 0xffffffffu, yes);
}

fn low(key: Key) -> u32 {
    return key;
}

// KEY_WORDS is 1: nobody keeps this.
fn high(key: Key) -> u32 {
    return 0u;
}

fn join(low: u32, high: u32) -> Key {
    return low;
}

// The bits of a key from `shift` on.
fn bits_from(key: Key, shift: u32) -> u32 {
    return key >> shift;
}

// Halfway between two keys, rounded down.
fn halfway(a: Key, b: Key) -> Key {
    return (a & b) + ((a ^ b) >> 1u);
}

// The key that is less by 1.
fn previous(key: Key) -> Key {
    return key - 1u;
}

// The key that is greater by 1.
fn next(key: Key) -> Key {
    return key + 1u;
}
