//#import codec/gaps
//#import arrays

// pfor-recursive: src/codec/pfor_recursive.rs adds a function array_D for each depth D: 0 reads the gaps, 1 their
// offsets and overflows, and so on; each calls the one below.

fn decode_block(block: Block, me: Me) -> Docs {
    let gaps = array_0(block.at, 0u, block.len - 1u, me);
    return docs_of_gaps(block.first, gaps.numbers, me);
}

// Bits of a number.
fn bits_of(x: u32) -> u32 {
    return 32u - countLeadingZeros(x);
}

// A thread clears only its own words, so that one array may follow another at once.
fn clear_patches(i: u32) {
    scratch[i] = 0u;
    scratch[i + 1u] = 0u;
    scratch[i + 2u] = 0u;
    scratch[i + 3u] = 0u;
}

fn read_patches(i: u32) -> vec4<u32> {
    return vec4<u32>(scratch[i], scratch[i + 1u], scratch[i + 2u], scratch[i + 3u]);
}

// Exceptions k .. k + 3 of en: `places` of their numbers, of which `last` is the last.
fn put_patches(k: u32, en: u32, places: vec4<u32>, overflows: vec4<u32>, last: u32, me: Me) {
    let at = me.base + min(places, vec4<u32>(last));
    let patches = overflows + vec4<u32>(1u);
    if k < en {
        scratch[at.x] = patches.x;
    }
    if k + 1u < en {
        scratch[at.y] = patches.y;
    }
    if k + 2u < en {
        scratch[at.z] = patches.z;
    }
    if k + 3u < en {
        scratch[at.w] = patches.w;
    }
}
