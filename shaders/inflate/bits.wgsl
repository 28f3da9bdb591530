// The bits of a DEFLATE stream, the least significant of a byte first.
//
// All lanes of a workgroup read the same bits of the same stream, so that nobody has to hand them on. A lane has three
// words at hand; the third is fetched 32 bits before it is needed.

// Streams of many members, and 1 KiB behind the last: no lane reads farther behind the end of its stream.
var<storage, read> packed: array<u32>;

// The number of the word `low`.
var<private> at_word: u32;
// So many bits of `low` are done with, 0 to 31.
var<private> shift: u32;
var<private> low: u32;
var<private> high: u32;
var<private> ahead: u32;

// Goes on at this byte of `packed`.
fn go_to(byte: u32) {
    at_word = byte >> 2u;
    shift = (byte & 3u) * 8u;
    low = packed[at_word];
    high = packed[at_word + 1u];
    ahead = packed[at_word + 2u];
}

// The first byte of `packed` of which no bit was taken.
fn position() -> u32 {
    return 4u * at_word + ((shift + 7u) >> 3u);
}

// The next 32 bits.
fn peek() -> u32 {
    // in two steps: a shift by 32 is none
    return (low >> shift) | ((high << (31u - shift)) << 1u);
}

// Takes n bits, at most 31.
fn drop(n: u32) {
    shift += n;
    if shift >= 32u {
        shift -= 32u;
        at_word += 1u;
        low = high;
        high = ahead;
        ahead = packed[at_word + 2u];
    }
}

// The next n bits as a number, taken; at most 31.
fn take(n: u32) -> u32 {
    let value = peek() & ((1u << n) - 1u);
    drop(n);
    return value;
}

// Four bytes of `packed` from this one on.
fn packed_bytes(byte: u32) -> u32 {
    return four_bytes(packed[byte >> 2u], packed[(byte >> 2u) + 1u], byte & 3u);
}

// The four bytes of two words from byte `skip` of the first on.
fn four_bytes(first: u32, second: u32, skip: u32) -> u32 {
    return (first >> (8u * skip)) | ((second << (31u - 8u * skip)) << 1u);
}
