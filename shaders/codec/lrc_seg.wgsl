//#import codec/lrc_block

// lrc-seg: one line for the list; each block has its own width and least deviation.

fn lined(block: Block) -> Lined {
    if is_list_of_one_block(block) {
        return own_lined(block);
    }
    let line = list_line(block.list + 1u);
    let start = block.index * BLOCK;
    let table = block.list + 3u;
    let at = block.at + select(0u, 3u + table_words(table), block.index == 0u);
    let slots = slots_with_table(at, table, block);
    let base = block.first - list_height(line, start) - segment_number(at, slots, 0u);
    return Lined(at, slots, base, false, 0u, line, start);
}
