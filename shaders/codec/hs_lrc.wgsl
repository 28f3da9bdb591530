//#import codec/lrc_line

// hs-lrc: a line per hash bucket, a width per block.

struct Head {
    // low bits of a docID that do not count for its bucket
    shift: u32,
    // how many buckets there are
    count: u32,
    // of the starts of buckets
    line: ListLine,
    // word of the buckets' entries, and bits of one
    entries: u32,
    entry_bits: u32,
    // slot[0] of the starts
    low: u32,
}

fn head_of(list: u32) -> Head {
    let packed = word(list);
    let line = list_line(list + 1u);
    let entries = list + 3u;
    return Head(packed & 31u, max(packed >> 5u, 1u), line, entries, line.width + 28u, field(entries, 0u, line.width));
}

// The position of the list at which bucket h starts.
fn bucket_start(head: Head, h: u32) -> u32 {
    return list_height(head.line, h) + field(head.entries, h * head.entry_bits, head.line.width) - head.low;
}

// The last bucket from h on that starts at most at a position, if h does. There are less than 2^27 buckets, so
// the steps end whatever the starts are.
fn bucket_at(head: Head, h: u32, position: u32) -> u32 {
    var at = h;
    var step = 1u;
    while at + step < head.count && bucket_start(head, at + step) <= position {
        at += step;
        step *= 2u;
    }
    while step > 1u {
        step /= 2u;
        if at + step < head.count && bucket_start(head, at + step) <= position {
            at += step;
        }
    }
    return at;
}

// The shared part of a block's positions.
struct Parts {
    // position of the list where it starts
    start: u32,
    // bucket of its first docID
    bucket: u32,
    // its slots, from word `at` on
    at: u32,
    slots: Segment,
    // the shared part of that bucket's docIDs
    base: u32,
}

fn parts_of(block: Block, head: Head) -> Parts {
    let entries_words = (head.count * head.entry_bits + 31u) / 32u;
    let table = head.entries + entries_words;
    let head_words = 3u + entries_words + table_words(table);
    let at = block.at + select(0u, head_words, block.index == 0u);
    let slots = slots_with_table(at, table, block);
    let bucket = min(block.first >> head.shift, head.count - 1u);
    return Parts(block.index * BLOCK, bucket, at, slots, block.first - segment_number(at, slots, 0u));
}

// The shared part of a bucket and a block.
struct Part {
    bucket: u32,
    // where its line starts: height, and position in the block
    base: u32,
    start: u32,
    slope: u32,
    // the position in the block where the next bucket starts, if there is one
    end: u32,
}

fn part_of(head: Head, parts: Parts, bucket: u32) -> Part {
    let code = field(head.entries, bucket * head.entry_bits + head.line.width, 28u);
    var base = parts.base;
    var start = 0u;
    if bucket != parts.bucket {
        // -2048 to 2047 units above the bucket's least docID
        let units = extractBits(bitcast<i32>(code), 0u, 12u);
        base = (bucket << head.shift) + (bitcast<u32>(units) << (max(head.shift, 11u) - 11u));
        start = bucket_start(head, bucket) - parts.start;
    }
    var end = 0xffffffffu;
    if bucket + 1u < head.count {
        end = bucket_start(head, bucket + 1u) - parts.start;
    }
    return Part(bucket, base, start, code >> 12u, end);
}

fn part_docid(part: Part, i: u32, slot: u32) -> u32 {
    let j = i - part.start;
    return part.base + j + height(part.slope, j) + slot;
}

fn docid_at(block: Block, i: u32) -> u32 {
    if is_list_of_one_block(block) {
        let lined = own_lined(block);
        return lined_docid(block, lined, i, segment_number(lined.at, lined.slots, i));
    }
    let head = head_of(block.list);
    let parts = parts_of(block, head);
    let part = part_of(head, parts, bucket_at(head, parts.bucket, parts.start + i));
    return part_docid(part, i, segment_number(parts.at, parts.slots, i));
}

// The docIDs at positions i .. i + 3.
fn part_docids(head: Head, parts: Parts, i: u32, slots: vec4<u32>) -> vec4<u32> {
    var part = part_of(head, parts, bucket_at(head, parts.bucket, parts.start + i));
    var docs: vec4<u32>;
    for (var k = 0u; k < 4u; k++) {
        if i + k >= part.end {
            // so the next bucket starts at most here
            part = part_of(head, parts, bucket_at(head, part.bucket + 1u, parts.start + i + k));
        }
        docs[k] = part_docid(part, i + k, slots[k]);
    }
    return docs;
}

fn decode_block(block: Block, me: Me) -> Docs {
    let short = is_list_of_one_block(block);
    var lined: Lined;
    var head: Head;
    var parts: Parts;
    if short {
        lined = own_lined(block);
        parts.at = lined.at;
        parts.slots = lined.slots;
    } else {
        head = head_of(block.list);
        parts = parts_of(block, head);
    }
    // the team together, whatever its block is
    var docs = segment_numbers(parts.at, parts.slots, me);
    if short {
        docs[0] = lined_docids(block, lined, 4u * me.lane, docs[0]);
    } else {
        docs[0] = part_docids(head, parts, 4u * me.lane, docs[0]);
    }
    return docs;
}
