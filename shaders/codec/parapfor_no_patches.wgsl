// Segments without exceptions.

fn segment_patches(at: u32, s: Segment, me: Me) {
}

fn segment_patch(i: u32, me: Me) -> vec4<u32> {
    return vec4<u32>();
}
