// Arrays of numbers in words of 28 bits and a selector, Simple-9 or Simple-16.
//
// Constants: NUMBERS_NO_TOP, the first of NUMBERS_TOPS words that stand for no number. They say how often NUMBERS_BASE
// is added to the single number of the next word. number_starts(bits) has a bit for each place where a slot of the word
// starts.
//#slot number_starts

// Puts the numbers of 96 words at places below `n`, which is at most SCRATCH, into `scratch`. The array starts `bit`
// bits behind the word `at` and has at most `words` words. The 96 start with its word `row`, whose first number has the
// place `done`. Returns the place of the first number behind them.
fn numbers_of_rows(at: u32, bit: u32, words: u32, row: u32, done: u32, n: u32, me: Me) -> u32 {
    let end = select(0u, words, done < n);
    //#for 3
    let word@ = row + 32u * @u + me.lane;
    let here@ = bit + 32u * word@;
    var bits@ = 0u;
    var starts@ = 0u;
    if word@ < end {
        bits@ = field(at, here@, 32u);
        starts@ = select(number_starts(bits@), 0u, bits@ - NUMBERS_NO_TOP < NUMBERS_TOPS);
    }
    //#end
    // Three sums in one: of 32 words, each of at most 28 numbers.
    let counts = countOneBits(starts0) | (countOneBits(starts1) << 10u) | (countOneBits(starts2) << 20u);
    let before = team_sum_before(counts, me);
    let all = team_read(before + counts, 31u, me);
    let place0 = done;
    let place1 = place0 + (all & 1023u);
    let place2 = place1 + ((all >> 10u) & 1023u);
    //#for 3
    numbers_of_word(at, here@, bit, bits@, starts@, place@ + ((before >> (10u * @u)) & 1023u), n, me);
    //#end
    return place2 + (all >> 20u);
}

fn numbers_of_word(at: u32, here: u32, bit: u32, bits: u32, starts: u32, place: u32, n: u32, me: Me) {
    var left = starts;
    var i = place;
    if starts == 1u && i < n {
        var number = bits & 0x0fffffffu;
        if here > bit {
            let top = field(at, here - 32u, 32u) - NUMBERS_NO_TOP;
            number += select(0u, top * NUMBERS_BASE, top < NUMBERS_TOPS);
        }
        scratch[me.base + i] = number;
        left = 0u;
    }
    // Each turn takes a bit away.
    while left != 0u && i < n {
        let start = firstTrailingBit(left);
        left &= left - 1u;
        let end = min(firstTrailingBit(left), 28u);
        scratch[me.base + i] = extractBits(bits, start, end - start);
        i += 1u;
    }
}
