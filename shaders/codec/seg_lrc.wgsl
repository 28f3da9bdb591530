//#import codec/lrc_block

// seg-lrc: a line per block.

fn lined(block: Block) -> Lined {
    return own_lined(block);
}
