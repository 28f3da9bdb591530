//! Parts of equal size of both lists, merged in workgroup memory; or a search over skip entries.

use super::{GpuIntersect, HALVES, Intersector, KEEP, On, PartSize, Pass, Recipe, Unit};
use crate::codec::{Domain, Param};

/// Candidates and postings of a part: eight for each thread.
const WEIGHT: u32 = 1024;

const RATIO: Param = Param {
    name: "ratio",
    about: "how many times as long as the candidates a list may be to be merged; skip entries of longer ones are searched",
    domain: Domain::Whole { from: 0, to: 1 << 20, step: 1 },
    default: "128",
};

/// `merge-path`.
pub static MERGE_PATH: Intersector = Intersector {
    name: "merge-path",
    about: "cuts the candidates and the next list into equal parts along their merge path and merges these; searches the skip entries of much longer lists",
    paper: "Liu et al.: Griffin (PPoPP 2018), section 3.1.2; Green, McColl, Bader: GPU merge path (ICS 2012)",
    on: On::Gpu(GpuIntersect {
        params: &[RATIO],
        make: |settings, codec| {
            let block_len = codec.block_len() as u32;
            let ratio = settings.get(RATIO.name);
            // those that start in a part, and the one before
            let part_blocks = WEIGHT.div_ceil(block_len) + 1;
            let path = include_str!("../../../../shaders/intersect/merge_path.wgsl");
            let cuts = path.to_owned() + include_str!("../../../../shaders/intersect/merge_path_cuts.wgsl");
            let merge = [path, KEEP, include_str!("../../../../shaders/intersect/merge_path_merge.wgsl")].concat();
            let search = [
                path,
                HALVES,
                KEEP,
                include_str!("../../../../shaders/intersect/decoded.wgsl"),
                include_str!("../../../../shaders/intersect/merge_path_search.wgsl"),
            ]
            .concat();
            let pass = |name, text, unit, workgroup_words| Pass { name, text, unit, numbers: [0; 2], workgroup_words };
            Ok(Recipe {
                passes: vec![
                    pass("cuts", cuts, Unit::PartThreads, 0),
                    pass("merge", merge, Unit::Parts, WEIGHT + part_blocks * block_len),
                    pass("search", search, Unit::Slots(1), super::decoded(codec)),
                ],
                constants: vec![("WEIGHT", WEIGHT), ("PART_BLOCKS", part_blocks), ("RATIO", ratio)],
                parts: Some(PartSize { weight: WEIGHT, block_len, ratio }),
                ..Recipe::default()
            })
        },
    }),
};
