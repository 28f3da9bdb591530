//! Parallel Merge Find, level by level: over the first docIDs of blocks, or over all docIDs.

use super::{AndMethod, GpuAnd};
use crate::codec::{Domain, Param, Settings};
use crate::gpu::{Assembler, Text, wgsl};
use crate::query::gpu::recipe::{GpuIntersect, Pass, Recipe, Unit, not_for};

/// Segments that a level cuts each segment of the level before into. The paper gives no number; a warp loads this many
/// at once.
const FAN_OUT: u32 = 32;

const LEVELS: Param = Param {
    name: "levels",
    about: "recursive levels of splitting the candidates; 0: a search over all blocks, or all docIDs, for each of them",
    domain: Domain::Whole { from: 0, to: 4, step: 1 },
    default: "3",
};

/// `pmf`.
pub static PMF: AndMethod = AndMethod {
    name: "pmf",
    short: "pmf",
    about: "segment heads of the candidates, level by level, against the first docIDs of the next list's blocks; decodes the blocks with candidates",
    paper: "Ding et al.: Using graphics processors for high performance IR query processing (WWW 2009), sections 7 and 8.1",
    cpu: None,
    gpu: Some(GpuAnd::Candidates(GpuIntersect {
        params: &[LEVELS],
        make: |settings, _| Ok(recipe(settings, wgsl!("and/pmf_blocks"), wgsl!("and/pmf_find"))),
    })),
};

/// `pmf-elements`.
pub static PMF_ELEMENTS: AndMethod = AndMethod {
    name: "pmf-elements",
    short: "pmf-elements",
    about: "for the codec raw: segment heads of the candidates, level by level, against all docIDs of the next list",
    paper: "Ding et al.: Using graphics processors for high performance IR query processing (WWW 2009), section 7 and figure 6",
    cpu: None,
    gpu: Some(GpuAnd::Candidates(GpuIntersect {
        params: &[LEVELS],
        make: |settings, codec| match codec.name() {
            "raw" => Ok(recipe(settings, wgsl!("and/pmf_elements"), wgsl!("and/pmf_find_element"))),
            _ => Err(not_for("pmf-elements", codec, "searches uncompressed lists, those of raw")),
        },
    })),
};

/// The recipe for lists whose keys are those of `keys`; `find` is the last level.
fn recipe(settings: &Settings, keys: Text, find: Text) -> Recipe {
    let pass = |name, text, step, before| Pass { name, text, unit: Unit::Slots(step), numbers: [step, before] };
    let mut passes = Vec::new();
    let mut before = 0;
    for step in (1..=settings.get(LEVELS.name)).rev().map(|level| FAN_OUT.pow(level)) {
        passes.push(pass("level", wgsl!("and/pmf_level"), step, before));
        before = step;
    }
    passes.push(pass("find", find, 1, before));
    Recipe { passes, assembler: Assembler::new().provide("pmf_keys", [keys]), ..Recipe::default() }
}
