// The hash bucket of a docID, as the codec has it, and in a block the safe range of the bucket's line.

fn range_of(t: Term, row: u32, doc: u32) -> vec2<u32> {
    let head = head_of(t.list);
    let bucket = doc >> head.shift;
    if bucket >= head.count {
        return vec2<u32>(0u, 0u);
    }
    var end = t.df;
    if bucket + 1u < head.count {
        end = bucket_start(head, bucket + 1u);
    }
    return vec2<u32>(bucket_start(head, bucket), end);
}

fn range_in_block(t: Term, doc: u32, number: u32, low: u32, high: u32) -> vec2<u32> {
    let whole = vec2<u32>(low, high);
    if t.blocks == 1u {
        return whole;
    }
    let head = head_of(t.list);
    let parts = parts_of(block_of(t, number), head);
    let part = part_of(head, parts, min(doc >> head.shift, head.count - 1u));
    if part.start >= BLOCK {
        return whole;
    }
    let inner = around_line(doc - part.base, part.slope, bits_of_slots(parts.slots));
    let start = number * BLOCK + part.start;
    return vec2<u32>(max(low, start + inner.x), min(high, start + inner.y));
}
