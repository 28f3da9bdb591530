//! A thread a docID, within the hash bucket and the bucket's line of the list's codec.

use super::{AndMethod, GpuAnd};
use crate::gpu::wgsl;
use crate::query::gpu::recipe::{GpuIntersect, elements, not_for};

/// `hs-lrc`.
pub static HS_LRC: AndMethod = AndMethod {
    name: "hs-lrc",
    short: "hs-lrc",
    about: "for the codec hs-lrc: the hash bucket of a docID, the blocks that it lies in, and the safe range of the bucket's line",
    paper: "Ao et al.: Efficient parallel lists intersection and index compression (PVLDB 4(8), 2011), section 5.3",
    cpu: None,
    gpu: Some(GpuAnd::Candidates(GpuIntersect {
        params: &[],
        make: |settings, codec| {
            if codec.name() != "hs-lrc" {
                return Err(not_for("hs-lrc", codec, "uses the hash buckets of hs-lrc"));
            }
            Ok(elements(settings, codec, wgsl!("and/hs_lrc"), wgsl!("and/hs_lrc")))
        },
    })),
};
