// A query's terms and their lists.
//
// Constants: HEADER, words before a list's first block; DOCS, documents of the index; SEARCH, rounds of `locate`.
// The kernel declares terms: array<vec4<u32>>, three a term, and norms: array<f32>, BM25's K of each document.

const NONE: u32 = 0xffffffffu;
// How a list's frequencies are kept: one number for all postings, a block, a directory of blocks.
const TF_CONSTANT: u32 = 0u;
const TF_BLOCK: u32 = 1u;

struct Term {
    // address of the list's first word
    list: u32,
    // address of its skip entries; of no meaning if there is one block
    skips: u32,
    blocks: u32,
    df: u32,
    // first docID
    first: u32,
    // address of its frequencies, or their value
    tf: u32,
    kind: u32,
    // address of its range maxima, or NONE
    table: u32,
    // what an impact of 1 adds to a score
    weight: f32,
    // what no posting of the list exceeds
    most: f32,
}

fn term_of(row: u32) -> Term {
    let a = terms[3u * row];
    let b = terms[3u * row + 1u];
    let c = terms[3u * row + 2u];
    return Term(a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w, bitcast<f32>(c.x), bitcast<f32>(c.y));
}

// First docID of a block.
fn first_of(t: Term, block: u32) -> u32 {
    if t.blocks == 1u {
        return t.first;
    }
    return word(t.skips + 3u * block);
}

fn block_of(t: Term, block: u32) -> Block {
    let len = min(t.df - block * BLOCK, BLOCK);
    if t.blocks == 1u {
        return Block(t.list, t.list + HEADER, t.first, len, 0u);
    }
    let skip = t.skips + 3u * block;
    return Block(t.list, t.list + word(skip + 1u), word(skip), len, block);
}

// The last block whose first docID is at most `doc`, or 0. A team searches together, 31 probes a round; all teams of a
// workgroup must call it.
fn locate(t: Term, doc: u32, me: Me) -> u32 {
    return locate_in(t, doc, 0u, t.blocks, SEARCH, me);
}

// The same where it is known to be one of `size` blocks from `first` on, in so many rounds at most.
fn locate_in(t: Term, doc: u32, first: u32, blocks: u32, rounds: u32, me: Me) -> u32 {
    var low = first;
    var size = blocks;
    for (var round = 0u; round < rounds; round++) {
        // a team that is alone in its workgroup need not go on for others
        if TEAMS == 1u && size <= 1u {
            break;
        }
        let step = (size + 31u) >> 5u;
        let probe = (me.lane + 1u) * step;
        var below = 0u;
        if probe < size {
            below = select(0u, 1u, first_of(t, low + probe) <= doc);
        }
        let passed = team_sum(below, me) * step;
        low += passed;
        size = min(size - passed, step);
    }
    return low;
}

// The same for the first docID of a range, with the help of the list's table if it has one.
fn locate_range(t: Term, range: u32, me: Me) -> u32 {
    if t.table == NONE {
        return locate(t, range << SHIFT, me);
    }
    let entry = t.table + PADDED / 4u + range / DIRECTORY;
    let first = min(word(entry), t.blocks - 1u);
    let last = min(word(entry + 1u), t.blocks - 1u);
    return locate_in(t, range << SHIFT, first, last - min(first, last) + 1u, SEARCH, me);
}

// The docIDs of a block; what is not less than DOCS is damage or beyond the block.
fn docs_of(block: Block, me: Me) -> Docs {
    var docs = decode_block(block, me);
    // a list of one posting has no words
    docs[0].x = select(docs[0].x, block.first, me.lane == 0u);
    return docs;
}

// The frequencies at four positions of a list, from `position` on, a multiple of 4.
fn tfs_of(t: Term, position: u32) -> vec4<u32> {
    if t.kind == TF_CONSTANT {
        return vec4<u32>(t.tf);
    }
    let number = position >> 7u;
    var at = t.tf;
    if t.kind != TF_BLOCK {
        at += word(t.tf + number);
    }
    let head = word(at);
    let width = min(head & 63u, 32u);
    let exceptions = min((head >> 6u) & 255u, 128u);
    let over = min((head >> 14u) & 63u, 32u);
    let i = position & 127u;
    var tfs = fields(at, 20u + i * width, width);
    if exceptions > 0u {
        let places = 20u + min(t.df - number * 128u, 128u) * width;
        var low = 0u;
        var high = exceptions;
        while low < high {
            let middle = (low + high) >> 1u;
            if field(at, places + 7u * middle, 7u) < i { low = middle + 1u; } else { high = middle; }
        }
        for (var k = low; k < exceptions; k++) {
            let place = field(at, places + 7u * k, 7u);
            if place >= i + 4u {
                break;
            }
            tfs[(place - i) & 3u] |= field(at, places + 7u * exceptions + k * over, over) << (width & 31u);
        }
    }
    return tfs + 1u;
}

// tf / (tf + K), from 0 to 1.
fn impact_of(tf: u32, doc: u32) -> f32 {
    let count = f32(tf);
    return count / (count + norms[doc]);
}

// What a posting adds to a score.
fn share_of(t: Term, tf: u32, doc: u32) -> u32 {
    return u32(t.weight * impact_of(tf, doc) + 0.5);
}

// An impact as a byte, 1 to 255, that stands for no less.
fn byte_of(tf: u32, doc: u32) -> u32 {
    return clamp(u32(ceil(impact_of(tf, doc) * 255.001)), 1u, 255u);
}

// What a posting whose impact is that of the byte adds to a score at most. In long documents an impact may be far below a
// 255th; the bound of the whole list then keeps sums of bounds from running over.
fn share_bound(t: Term, byte: u32) -> u32 {
    return u32(ceil(min(t.weight * (f32(byte) * 0.0039215689), t.most))) + 1u;
}
