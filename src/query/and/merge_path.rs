//! Parts of equal size of both lists, merged in workgroup memory; or a search over skip entries.

use super::{AndMethod, GpuAnd};
use crate::codec::{Domain, Param};
use crate::gpu::{Assembler, wgsl};
use crate::query::gpu::recipe::{GpuIntersect, PartSize, Pass, Recipe, Unit};

/// Candidates and postings of a part: eight for each thread.
const WEIGHT: u32 = 1024;

const RATIO: Param = Param {
    name: "ratio",
    about: "lists up to this many times as long as the candidates are merged; skip entries of longer lists are searched",
    domain: Domain::Whole { from: 0, to: 1 << 20, step: 1 },
    default: "128",
};

/// `merge-path`.
pub static MERGE_PATH: AndMethod = AndMethod {
    name: "merge-path",
    short: "merge-path",
    about: "cuts the candidates and the next list into equal parts along their merge path and merges these; searches the skip entries of much longer lists",
    paper: "Liu et al.: Griffin (PPoPP 2018), section 3.1.2; Green, McColl, Bader: GPU merge path (ICS 2012)",
    cpu: None,
    gpu: Some(GpuAnd::Candidates(GpuIntersect {
        params: &[RATIO],
        make: |settings, codec| {
            let block_len = codec.block_len() as u32;
            let ratio = settings.get(RATIO.name);
            // those that start in a part, and the one before
            let part_blocks = WEIGHT.div_ceil(block_len) + 1;
            let pass = |name, text, unit| Pass { name, text, unit, numbers: [0; 2] };
            let constants = [("WEIGHT", WEIGHT), ("PART_BLOCKS", part_blocks), ("RATIO", ratio)];
            Ok(Recipe {
                passes: vec![
                    pass("cuts", wgsl!("and/merge_path_cuts"), Unit::PartThreads),
                    pass("merge", wgsl!("and/merge_path_merge"), Unit::Parts),
                    pass("search", wgsl!("and/merge_path_search"), Unit::Slots(1)),
                ],
                assembler: Assembler::new().constants(&constants),
                parts: Some(PartSize { weight: WEIGHT, block_len, ratio }),
                ..Recipe::default()
            })
        },
    })),
};
