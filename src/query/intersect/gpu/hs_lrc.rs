//! A thread a docID, within the hash bucket and the bucket's line that a list is coded by.

use super::{GpuIntersect, HALVES, Intersector, On, elements, not_for};

/// What finds a docID in a block.
const IN_BLOCK: &str = concat!(
    include_str!("../../../../shaders/intersect/around_line.wgsl"),
    include_str!("../../../../shaders/intersect/hs_lrc.wgsl")
);

/// `hs-lrc`.
pub static HS_LRC: Intersector = Intersector {
    name: "hs-lrc",
    about: "for the codec hs-lrc: the hash bucket of a docID, the blocks that it lies in, and the safe range of the bucket's line",
    paper: "Ao et al.: Efficient parallel lists intersection and index compression (PVLDB 4(8), 2011), section 5.3",
    on: On::Gpu(GpuIntersect {
        params: &[],
        make: |_, codec| {
            if codec.name() != "hs-lrc" {
                return Err(not_for("hs-lrc", codec, "uses the hash buckets of hs-lrc"));
            }
            let rule = [HALVES];
            Ok(elements(codec, true, &rule.concat(), IN_BLOCK))
        },
    }),
};
