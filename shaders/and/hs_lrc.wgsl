//#import and/halves
//#import and/around_line

// The codec's hash bucket of a docID, and in a block the safe range of the bucket's line, which is read once.

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

fn find_in_block(t: Term, doc: u32, number: u32, first: u32, end: u32) -> u32 {
    if t.blocks == 1u {
        let at = search(t, doc, first, end, false);
        return select(NONE, at, doc_at(t, at) == doc);
    }
    let head = head_of(t.list);
    let parts = parts_of(block_of(t, number), head);
    // all positions from first on are the bucket's
    let part = part_of(head, parts, min(doc >> head.shift, head.count - 1u));
    let inner = around_line(doc - part.base, part.slope, bits_of_slots(parts.slots));
    let start = number * BLOCK;
    // in damaged lists a bucket may start behind the block
    let skipped = min(part.start, BLOCK);
    var low = max(first - start, skipped + inner.x);
    var high = min(end - start, skipped + inner.y);
    if low >= high {
        return NONE;
    }
    while high - low > 1u {
        let middle = (low + high) >> 1u;
        if part_docid(part, middle, segment_number(parts.at, parts.slots, middle)) <= doc {
            low = middle;
        } else {
            high = middle;
        }
    }
    let found = part_docid(part, low, segment_number(parts.at, parts.slots, low));
    return select(NONE, start + low, found == doc);
}
