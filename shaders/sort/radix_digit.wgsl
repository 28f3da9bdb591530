//#import params

// Shared by the kernels of the radix sort. The keys are cut into spans of whole tiles, one workgroup a
// span; a tile is what a workgroup ranks at a time. A key is its low and its high word.

fn digit(key: vec2<u32>) -> u32 {
    if params.shift >= 32u {
        return (key.y >> (params.shift - 32u)) & (RADIX - 1u);
    }
    // in two steps, since a shift by 32 is none
    return ((key.x >> params.shift) | ((key.y << (31u - params.shift)) << 1u)) & (RADIX - 1u);
}
