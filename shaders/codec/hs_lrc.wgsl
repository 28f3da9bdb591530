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
    let entries = list + 4u;
    return Head(packed & 31u, max(packed >> 5u, 1u), line, entries, line.width + 28u, field(entries, 0u, line.width));
}

// The position of the list where bucket h starts.
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

// What the positions of a block have in common.
struct Slots {
    // position of the list where it starts
    start: u32,
    // word of its slots, and bits of one
    at: u32,
    width: u32,
    // bucket of its first docID
    bucket: u32,
}

fn slots_of(block: Block, head: Head) -> Slots {
    let entries_words = (head.count * head.entry_bits + 31u) / 32u;
    let widths = head.entries + entries_words;
    let width = width_of(field(widths, 5u * block.index, 5u));
    let head_words = 4u + entries_words + (5u * word(block.list + 3u) + 31u) / 32u;
    let at = block.at + select(0u, head_words, block.index == 0u);
    return Slots(block.index * BLOCK, at, width, min(block.first >> head.shift, head.count - 1u));
}

// What a bucket and a block have in common.
struct Part {
    bucket: u32,
    // where its line starts: height, and position in the block
    base: u32,
    start: u32,
    slope: u32,
    // the position in the block where the next bucket starts, if there is one
    end: u32,
}

fn part_of(block: Block, head: Head, slots: Slots, bucket: u32) -> Part {
    let code = field(head.entries, bucket * head.entry_bits + head.line.width, 28u);
    var base = block.first - field(slots.at, 0u, slots.width);
    var start = 0u;
    if bucket != slots.bucket {
        // -2048 to 2047 units above the bucket's least docID
        let units = extractBits(bitcast<i32>(code), 0u, 12u);
        base = (bucket << head.shift) + (bitcast<u32>(units) << (max(head.shift, 11u) - 11u));
        start = bucket_start(head, bucket) - slots.start;
    }
    var end = 0xffffffffu;
    if bucket + 1u < head.count {
        end = bucket_start(head, bucket + 1u) - slots.start;
    }
    return Part(bucket, base, start, code >> 12u, end);
}

fn part_docid(slots: Slots, part: Part, i: u32) -> u32 {
    let j = i - part.start;
    return part.base + j + height(part.slope, j) + field(slots.at, i * slots.width, slots.width);
}

fn docid_at(block: Block, i: u32) -> u32 {
    if is_list_of_one_block(block) {
        return segment_docid(block, segment(block), i);
    }
    let head = head_of(block.list);
    let slots = slots_of(block, head);
    let part = part_of(block, head, slots, bucket_at(head, slots.bucket, slots.start + i));
    return part_docid(slots, part, i);
}

fn decode_block(block: Block, me: Me) -> Docs {
    var docs: Docs;
    let first = 4u * me.lane;
    if is_list_of_one_block(block) {
        docs[0] = segment_docids(block, first);
        return docs;
    }
    let head = head_of(block.list);
    let slots = slots_of(block, head);
    var part = part_of(block, head, slots, bucket_at(head, slots.bucket, slots.start + first));
    var found: vec4<u32>;
    for (var k = 0u; k < 4u; k++) {
        let i = first + k;
        if i >= part.end {
            part = part_of(block, head, slots, bucket_at(head, part.bucket, slots.start + i));
        }
        found[k] = part_docid(slots, part, i);
    }
    docs[0] = found;
    return docs;
}
