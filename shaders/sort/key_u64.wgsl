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
