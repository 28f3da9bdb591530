// para-ef: the high part is cut into 32 pieces. A thread counts the ones of its piece and puts their positions where
// the threads that need them will look.

const HEAD = 14u;

// Where in `scratch` the one before docID j goes: four threads apart, no two of a team's reads meet in a bank.
fn place(j: u32) -> u32 {
    return j + (j >> 5u);
}

fn decode_block(block: Block, me: Me) -> Docs {
    // Only the head is needed; together the threads' words bring most blocks nearby in the meantime.
    let head = team_read(word(block.at + me.lane), 0u, me);
    let b = head & 31u;
    let h = extractBits(head, 5u, 9u);

    // h is at most 381 from an encoder, and 511 anyway: at most 16 bits a thread
    let piece = (h + 31u) >> 5u;
    let start = min(piece * me.lane, h);
    var ones = field(block.at, HEAD + start, min(piece, h - start));
    let i = 4u * me.lane;
    // from the field before docID i on; lane 0 has none, and may seem to start in the word before the block
    let lows = fields(block.at - 1u, 32u + HEAD + h + i * b - b, b);

    // The sum also keeps this team from writing positions while some of its threads still read those of another block.
    let before = team_sum_before(countOneBits(ones), me);
    // the one numbered j - 1 stands before docID j
    var j = before + 1u;
    while ones != 0u {
        scratch[me.base + place(j & 127u)] = start + firstTrailingBit(ones);
        ones &= ones - 1u;
        j += 1u;
    }
    team_barrier();
    let at = me.base + place(i);
    let ends = vec4<u32>(scratch[at], scratch[at + 1u], scratch[at + 2u], scratch[at + 3u]);

    let number = vec4<u32>(i) + vec4<u32>(0u, 1u, 2u, 3u);
    let found = block.first + number + (((ends + 1u - number) << vec4<u32>(b)) | lows);
    var docs: Docs;
    docs[0] = vec4<u32>(select(found.x, block.first, me.lane == 0u), found.yzw);
    return docs;
}

// The position of the one numbered `i` among the bits of `bits`, which has that many.
fn select_one(bits: u32, i: u32) -> u32 {
    var left = i;
    var at = 0u;
    for (var width = 16u; width > 0u; width >>= 1u) {
        let count = countOneBits(extractBits(bits, at, width));
        let beyond = left >= count;
        left -= select(0u, count, beyond);
        at += select(0u, width, beyond);
    }
    return at;
}

fn docid_at(block: Block, i: u32) -> u32 {
    if i == 0u {
        return block.first;
    }
    let head = word(block.at);
    let b = head & 31u;
    let h = extractBits(head, 5u, 9u);
    // the words of the high part, the first without its header
    var bits = head & ~((1u << HEAD) - 1u);
    var left = i - 1u;
    var w = 0u;
    for (; w < 16u; w += 1u) {
        let count = countOneBits(bits);
        if left < count {
            break;
        }
        left -= count;
        bits = word(block.at + w + 1u);
    }
    let high = 32u * w + select_one(bits, left) - HEAD - (i - 1u);
    return block.first + i + ((high << b) | field(block.at, HEAD + h + (i - 1u) * b, b));
}
