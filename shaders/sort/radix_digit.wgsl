//#import key
//#import params

// Shared by the kernels of the radix sort. The keys are cut into spans of whole tiles, one workgroup a
// span; a tile is what a workgroup ranks at a time.

fn digit(key: Key) -> u32 {
    return bits_from(key, params.shift) & (RADIX - 1u);
}
