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
