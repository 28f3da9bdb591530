//#import codec/lrc_block

// lrc: one line for the list, all slots of one width and with one least deviation.

fn lined(block: Block) -> Lined {
    if is_list_of_one_block(block) {
        return own_lined(block);
    }
    let line = list_line(block.list + 1u);
    let at = block.at + select(0u, 3u, block.index == 0u);
    var slots = slots_of_width(0u, line.width);
    if EXCEPTIONS != 0u {
        slots = segment_read(at, 0u, block.len);
    }
    return Lined(at, slots, word(block.list), false, 0u, line, block.index * BLOCK);
}
