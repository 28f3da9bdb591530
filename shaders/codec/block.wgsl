//#import memory
//#import scratch
//#import team

// The interface of a codec. `Memory` prints word(at) and words4(at), which read one word and four neighbouring words of
// the memory of lists.
//
// A codec's file defines
//     fn decode_block(block: Block, me: Me) -> Docs
// which a team of 32 threads calls together to decode a block. Element j of a thread's result is the docIDs at the
// positions 128 j + 4 lane .. 128 j + 4 lane + 3 of the block; beyond block.len it may be anything. And, if the code
// allows it,
//     fn docid_at(block: Block, i: u32) -> u32
// the docID at position i < block.len, which a thread calls alone.
//
// Constants: BLOCK, docIDs of a whole block; ITEMS = BLOCK / 128 rounded up; TEAMS, teams of a workgroup; SCRATCH,
// words of workgroup memory of a team, if the codec asked for some: scratch[me.base + i], i < SCRATCH.
//
// Teams of a workgroup meet at every barrier, each with a block of its own. All threads of the workgroup must call the
// team_* functions alike, so nothing around them may depend on the block. A row of threads without a block of its own
// gets a copy of another one.
//
// Words may hold anything. word() never reads outside the buffer; a codec masks its indexes into workgroup memory, and
// bounds its loops.

struct Block {
    // first word of the list
    list: u32,
    // first word of the block
    at: u32,
    // its first docID
    first: u32,
    // how many docIDs it has, 1 to BLOCK
    len: u32,
    // the number of the block in its list
    index: u32,
}

struct Me {
    // 0 to 31
    lane: u32,
    // number of the team in its workgroup
    team: u32,
    // where the team's part of `scratch` starts
    base: u32,
}

alias Docs = array<vec4<u32>, ITEMS>;

// The `width` (0 to 32) bits from bit `bit` of the words that start at word `at`.
fn field(at: u32, bit: u32, width: u32) -> u32 {
    let i = at + (bit >> 5u);
    let shift = bit & 31u;
    // in two steps, since a shift by 32 is none
    let both = (word(i) >> shift) | ((word(i + 1u) << (31u - shift)) << 1u);
    return extractBits(both, 0u, width);
}

// Four neighbouring fields of `width` (0 to 32) bits, the first of them from bit `bit` on.
fn fields(at: u32, bit: u32, width: u32) -> vec4<u32> {
    if width > 16u {
        return vec4<u32>(
            field(at, bit, width),
            field(at, bit + width, width),
            field(at, bit + 2u * width, width),
            field(at, bit + 3u * width, width),
        );
    }
    // three words have them all: the first two fields are in `near`, the others in `rest`
    let i = at + (bit >> 5u);
    let shift = bit & 31u;
    let middle = word(i + 1u);
    let near = (word(i) >> shift) | ((middle << (31u - shift)) << 1u);
    let far = (middle >> shift) | ((word(i + 2u) << (31u - shift)) << 1u);
    // a width of 0 may shift by anything
    let rest = ((near >> width) >> width) | (far << ((32u - 2u * width) & 31u));
    return vec4<u32>(
        extractBits(near, 0u, width),
        extractBits(near, width, width),
        extractBits(rest, 0u, width),
        extractBits(rest, width, width),
    );
}

// Inclusive prefix sums of v's elements.
fn running(v: vec4<u32>) -> vec4<u32> {
    let a = v.x + v.y;
    let b = v.z + v.w;
    return vec4<u32>(v.x, a, a + v.z, a + b);
}

// For a codec of gaps: the docIDs at positions 4 lane .. 4 lane + 3 of a block of 128. `steps` gives each docID's
// distance from the one before; the step of position 0 does not count.
fn docs_of_steps(first: u32, steps: vec4<u32>, me: Me) -> vec4<u32> {
    let counted = select(steps, vec4<u32>(0u, steps.yzw), me.lane == 0u);
    let sums = running(counted);
    return first + team_sum_before(sums.w, me) + sums;
}
