//#import params
//#import members
//#import inflate/bits
//#import inflate/codes
//#import inflate/text

// Inflates gzip members, a workgroup of 32 lanes each. All lanes decode the same symbols, lane k keeps token k of 32;
// then the lanes make the text of the tokens.
//
// Whatever a stream holds, a workgroup stays in the bounds of its member's text and comes to an end: every symbol takes
// a bit of the stream at least, and the number of blocks is limited. What is no stream fails. So does what is rare, as
// a code without codewords for some bits: it is for the CPU.

// One of FAULT_*.
var<private> fault: u32;
// The member's stream ends before this byte of `packed`.
var<private> stream_end: u32;
// The text ends there.
var<private> text_size: u32;

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) grid: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let number = group.y * grid.x + group.x;
    if number >= params.members {
        return;
    }
    let member = member_of(number);
    stream_end = member.at + member.bytes;
    text_at = member.to;
    text_size = member.size;
    go_to(member.at);
    fault = 0u;
    produced = 0u;
    carry = 0u;
    handed_over = 0u;
    var is_last = false;
    var blocks = BLOCKS + member.bytes / BLOCK_BYTES;
    while !is_last && fault == 0u {
        is_last = take(1u) == 1u;
        let kind = take(2u);
        if kind == 0u {
            stored_block(lane);
        } else if kind == 3u {
            fault = FAULT_BLOCK;
        } else {
            if kind == 1u {
                fixed_codes(lane);
            } else {
                dynamic_codes(lane);
            }
            coded_block(lane);
        }
        if blocks == 0u {
            fault = FAULT_BLOCK;
        }
        blocks -= min(blocks, 1u);
    }
    let bytes = position() - member.at;
    if fault == 0u && bytes > member.bytes {
        fault = FAULT_INPUT;
    }
    if fault == 0u && produced != text_size {
        fault = FAULT_OUTPUT;
    }
    if fault == 0u {
        write_rest(lane);
    }
    if lane == 0u {
        // bytes of the member's stream, or what is wrong
        results[number] = select(bytes, FAILED | fault, fault != 0u);
    }
}

// Bytes as they are, behind their number and its complement.
fn stored_block(lane: u32) {
    go_to(position());
    let begin = position() + 4u;
    let size = peek() & 0xffffu;
    if (size ^ (peek() >> 16u)) != 0xffffu {
        fault = FAULT_BLOCK;
    } else if begin + size > stream_end {
        fault = FAULT_INPUT;
    } else if produced + size > text_size {
        fault = FAULT_OUTPUT;
    } else {
        write_stored(lane, begin, size);
        go_to(begin + size);
    }
}

// The codes that every decoder knows.
fn fixed_codes(lane: u32) {
    for (var w = lane; w < 40u; w += LANES) {
        var eight = 0x88888888u;
        if w >= 18u {
            eight = 0x99999999u;
        }
        if w >= 32u {
            eight = 0x77777777u;
        }
        if w == 35u {
            eight = 0x88888888u;
        }
        if w >= 36u {
            eight = 0x55555555u;
        }
        lengths[w] = eight;
    }
    workgroupBarrier();
    make_codes(lane, 288u, 32u, false);
    fill_literal_table(lane, LITERAL_BITS);
    fill_distance_table(lane);
    workgroupBarrier();
}

// The symbol whose code length comes at this place, 0 to 18.
fn symbol_in_order(place: u32) -> u32 {
    // five bits each: 16 17 18 0 8 7, 9 6 10 5 11 4, 12 3 13 2 14 1, 15
    let row = place / 6u;
    let six = select(select(select(15u, 0x02e1346cu, row == 2u), 0x08b2a8c9u, row == 1u), 0x0e804a30u, row == 0u);
    return (six >> (5u * (place % 6u))) & 31u;
}

// Codes whose lengths the stream has.
fn dynamic_codes(lane: u32) {
    let symbols = take(5u) + 257u;
    let distances = take(5u) + 1u;
    let given = take(4u) + 4u;
    clear_lengths(lane);
    for (var place = 0u; place < given; place++) {
        let length = take(3u);
        let symbol = symbol_in_order(place);
        if lane == 0u {
            lengths[symbol >> 3u] |= length << (4u * (symbol & 7u));
        }
    }
    workgroupBarrier();
    make_codes(lane, 19u, 0u, true);
    if !is_complete(0u) {
        fault = FAULT_CODE;
    }
    fill_literal_table(lane, 7u);
    clear_lengths(lane);
    read_lengths(lane, symbols + distances);
    workgroupBarrier();
    make_codes(lane, symbols, distances, false);
    if !is_complete(0u) || !(is_complete(DISTANCES) || has_one_at_most(DISTANCES)) {
        fault = FAULT_CODE;
    }
    fill_literal_table(lane, LITERAL_BITS);
    fill_distance_table(lane);
    workgroupBarrier();
    if fault == 0u && position() > stream_end {
        fault = FAULT_INPUT;
    }
}

fn clear_lengths(lane: u32) {
    workgroupBarrier();
    for (var w = lane; w < 44u; w += LANES) {
        lengths[w] = 0u;
    }
    workgroupBarrier();
}

// Reads so many lengths of codewords.
fn read_lengths(lane: u32, count: u32) {
    var done = 0u;
    var previous = 0u;
    while done < count && fault == 0u {
        let number = peek() & 127u;
        let entry = half_of(literal_table[number >> 1u], number);
        drop(entry & 15u);
        let symbol = entry >> 8u;
        var repeats = 1u;
        var length = symbol;
        if symbol == 16u {
            repeats = 3u + take(2u);
            length = previous;
        } else if symbol == 17u {
            repeats = 3u + take(3u);
            length = 0u;
        } else if symbol == 18u {
            repeats = 11u + take(7u);
            length = 0u;
        }
        // no codeword, nothing to repeat, or more than there are
        if entry == 0u || (symbol == 16u && done == 0u) || done + repeats > count {
            fault = FAULT_CODE;
        } else if lane == 0u && length != 0u {
            // six repeats at most, so two words
            let these = (length * 0x11111111u) & ((1u << (4u * repeats)) - 1u);
            let w = done >> 3u;
            let at = 4u * (done & 7u);
            lengths[w] |= these << at;
            lengths[w + 1u] |= (these >> (31u - at)) >> 1u;
        }
        previous = length;
        done += repeats;
    }
}

// Literals and copies up to the end of a block.
fn coded_block(lane: u32) {
    var is_open = fault == 0u;
    while is_open {
        // how many tokens, and the length of their text
        var count = 0u;
        var total = 0u;
        var token = 0u;
        var start = 0u;
        var goes_on = true;
        while goes_on {
            let entry = next_literal();
            let kind = (entry >> 4u) & 15u;
            var next = 0u;
            if kind == LITERAL {
                drop(entry & 15u);
                next = 0x10000u | (entry >> 8u);
            } else if kind < LITERAL {
                next = copy_token(entry, produced + total);
            } else if kind == END_OF_BLOCK {
                drop(entry & 15u);
                is_open = false;
            } else {
                fault = FAULT_CODE;
            }
            if lane == count {
                token = next;
                start = total;
            }
            total += next >> 16u;
            count += min(next, 1u);
            goes_on = next != 0u && count < LANES;
        }
        if lane >= count {
            start = total;
        }
        if fault == 0u && position() > stream_end {
            fault = FAULT_INPUT;
        }
        if fault == 0u && produced + total > text_size {
            fault = FAULT_OUTPUT;
        }
        if fault == 0u {
            write_tokens(lane, token, start, total);
        } else {
            is_open = false;
        }
    }
}

// The token of a copy whose length has this entry; 0 if it is none. So much text lies before it.
fn copy_token(entry: u32, reach: u32) -> u32 {
    let length_bits = peek() >> (entry & 15u);
    let extra = (entry >> 4u) & 15u;
    let length = 3u + (entry >> 8u) + (length_bits & ((1u << extra) - 1u));
    drop((entry & 15u) + extra);
    let source = next_distance();
    let distance_bits = peek() >> (source & 15u);
    let more = (source >> 4u) & 15u;
    let before = ((source >> 8u) << more) + (distance_bits & ((1u << more) - 1u));
    drop((source & 15u) + more);
    if more > 13u {
        fault = FAULT_CODE;
        return 0u;
    }
    if before >= reach {
        fault = FAULT_DISTANCE;
        return 0u;
    }
    return (length << 16u) | before;
}
