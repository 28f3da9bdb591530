//#import params
//#import inflate/bits

// What a member inflates to, written in whole words: there are no smaller stores.
//
// Lanes decode up to 32 *tokens* at a time, and then make the words of their text. A token is a literal, or a copy of
// earlier text: length << 16 | literal, or distance - 1. Sources in the text of the same tokens are followed back to
// where they come from, so that no lane waits for another one.

var<storage, read_write> text: array<u32>;
// What the host reads: the ends of all members, and behind them all that `text` has. It may lie behind the bus. So it
// is never read here, and gets whole lines, since the bus takes as long for a part of one.
var<storage, read_write> results: array<u32>;

const LINE_WORDS: u32 = 32u;

// The member's first word in `text`.
var<private> text_at: u32;
// Bytes of text so far.
var<private> produced: u32;
// The bytes behind the last whole word of them. The word is written when it is whole: so no lane writes a word that
// others read.
var<private> carry: u32;
// So many words of text are in `results`.
var<private> handed_over: u32;

var<workgroup> tokens: array<u32, LANES>;
// Where their texts begin, behind the text so far.
var<workgroup> starts: array<u32, LANES>;
// The next `carry`.
var<workgroup> tail: u32;

struct Run {
    bytes: u32,
    count: u32,
}

// The number of the token whose text has byte p.
fn token_with(p: u32) -> u32 {
    var j = select(0u, 16u, starts[16] <= p);
    j += select(0u, 8u, starts[j + 8u] <= p);
    j += select(0u, 4u, starts[j + 4u] <= p);
    j += select(0u, 2u, starts[j + 2u] <= p);
    j += select(0u, 1u, starts[j + 1u] <= p);
    return j;
}

// A word of the text so far; only its bytes there count.
fn text_word(w: u32) -> u32 {
    if w < (produced >> 2u) {
        return text[text_at + w];
    }
    return carry;
}

// Bytes of the tokens' text from byte p on whose sources stand one behind the other: 1 to `most`.
fn run_at(p: u32, most: u32) -> Run {
    var j = token_with(p);
    var token = tokens[j];
    var inside = p - starts[j];
    var count = min(most, (token >> 16u) - inside);
    // how far the source lies before the text of the tokens; 0: within it
    var before = 0u;
    while before == 0u && (token >> 16u) != 1u {
        let distance = (token & 0xffffu) + 1u;
        // a copy that reaches into itself repeats its beginning; what a run copies lies before this token
        if inside >= distance {
            inside = inside % distance;
        }
        let source = starts[j] + inside;
        if source < distance {
            before = distance - source;
            count = min(count, before);
        } else {
            j = token_with(source - distance);
            token = tokens[j];
            inside = source - distance - starts[j];
            count = min(count, (token >> 16u) - inside);
        }
    }
    var bytes = token;
    if before != 0u {
        let byte = produced - before;
        bytes = four_bytes(text_word(byte >> 2u), text_word((byte >> 2u) + 1u), byte & 3u);
    }
    return Run(bytes & (0xffffffffu >> (32u - 8u * count)), count);
}

// Writes the text of all lanes' tokens, `total` bytes; `start` is where this lane's begins. Lanes without a token have
// `total` there.
fn write_tokens(lane: u32, token: u32, start: u32, total: u32) {
    tokens[lane] = token;
    starts[lane] = start;
    workgroupBarrier();
    let first = produced >> 2u;
    let end = produced + total;
    for (var w = first + lane; w <= (end >> 2u); w += LANES) {
        var byte = select(0u, produced & 3u, w == first);
        var word = select(0u, carry, w == first);
        let stop = min(4u, end - 4u * w);
        while byte < stop {
            let run = run_at(4u * w + byte - produced, stop - byte);
            word |= run.bytes << (8u * byte);
            byte += run.count;
        }
        put_word(w, word, end);
    }
    advance_to(lane, end);
}

// Writes `size` bytes of `packed`, from byte `begin` on.
fn write_stored(lane: u32, begin: u32, size: u32) {
    workgroupBarrier();
    let first = produced >> 2u;
    let end = produced + size;
    for (var w = first + lane; w <= (end >> 2u); w += LANES) {
        let byte = select(0u, produced & 3u, w == first);
        var word = select(0u, carry, w == first);
        let stop = min(4u, end - 4u * w);
        if byte < stop {
            let bytes = packed_bytes(begin + (4u * w + byte - produced));
            word |= (bytes & (0xffffffffu >> (32u - 8u * (stop - byte)))) << (8u * byte);
        }
        put_word(w, word, end);
    }
    advance_to(lane, end);
}

// Writes a word, or keeps it if it is not whole yet.
fn put_word(w: u32, word: u32, end: u32) {
    if w == (end >> 2u) {
        tail = word;
    } else {
        text[text_at + w] = word;
    }
}

// Puts words of text before `end` into `results`.
fn hand_over(lane: u32, end: u32) {
    for (var w = handed_over + lane; w < end; w += LANES) {
        results[params.members + text_at + w] = text[text_at + w];
    }
    handed_over = max(handed_over, end);
}

// Lets all lanes see the text up to byte `end`.
fn advance_to(lane: u32, end: u32) {
    storageBarrier();
    workgroupBarrier();
    produced = end;
    carry = tail;
    let first = params.members + text_at;
    let whole = (first + (produced >> 2u)) & ~(LINE_WORDS - 1u);
    if whole > first + handed_over {
        hand_over(lane, whole - first);
    }
}

// Hands over what is left, with the last word, which may not be whole.
fn write_rest(lane: u32) {
    hand_over(lane, produced >> 2u);
    if lane == 0u && (produced & 3u) != 0u {
        results[params.members + text_at + (produced >> 2u)] = carry;
    }
}
