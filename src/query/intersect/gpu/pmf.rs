//! Parallel Merge Find, level by level.

use super::{GpuIntersect, HALVES, Intersector, KEEP, On, Pass, Recipe, Unit};
use crate::codec::{Domain, Param};

/// Segments that a level cuts each segment of the level before into. The paper gives no number; of this many, a warp has each
/// one's in one load.
const FAN_OUT: u32 = 32;

const LEVELS: Param = Param {
    name: "levels",
    about: "recursive levels of splitting the candidates; 0: a search over all blocks for each of them",
    domain: Domain::Whole { from: 0, to: 4, step: 1 },
    default: "3",
};

/// `pmf`.
pub static PMF: Intersector = Intersector {
    name: "pmf",
    about: "segment heads of the candidates, level by level, against the first docIDs of the next list's blocks; decodes those with candidates",
    paper: "Ding et al.: Using graphics processors for high performance IR query processing (WWW 2009), sections 7 and 8.1",
    on: On::Gpu(GpuIntersect {
        params: &[LEVELS],
        make: |settings, codec| {
            let common = HALVES.to_owned() + include_str!("../../../../shaders/intersect/pmf.wgsl");
            let level = common.clone() + include_str!("../../../../shaders/intersect/pmf_level.wgsl");
            let steps = (1..=settings.get(LEVELS.name)).rev().map(|level| FAN_OUT.pow(level));
            let mut passes = Vec::new();
            let mut before = 0;
            for step in steps {
                passes.push(Pass {
                    name: "level",
                    text: level.clone(),
                    unit: Unit::Slots(step),
                    numbers: [step, before],
                    workgroup_words: 0,
                });
                before = step;
            }
            let decoded = include_str!("../../../../shaders/intersect/decoded.wgsl");
            let find = [&common, decoded, KEEP, include_str!("../../../../shaders/intersect/pmf_find.wgsl")].concat();
            passes.push(Pass {
                name: "find",
                text: find,
                unit: Unit::Slots(1),
                numbers: [1, before],
                workgroup_words: super::decoded(codec),
            });
            Ok(Recipe { passes, ..Recipe::default() })
        },
    }),
};
