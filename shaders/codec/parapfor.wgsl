//#import codec/parapfor_segment
//#import codec/gaps

// parapfor: a block is a segment of gaps; see parapfor_segment.wgsl.

fn decode_block(block: Block, me: Me) -> Docs {
    // A block of one docID has no words: what is read for it is another's, and not used.
    let s = segment_read(block.at, 0u, block.len - 1u);
    let gaps = segment_numbers(block.at, s, me);
    return docs_of_gaps(block.first, gaps, me);
}
