//! A thread a docID, by halves.

use super::{AndMethod, GpuAnd};
use crate::gpu::wgsl;
use crate::query::gpu::recipe::{ANYWHERE, GpuIntersect, HEADERS, elements};

/// `gpu-binary`.
pub static GPU_BINARY: AndMethod = AndMethod {
    name: "gpu-binary",
    short: "gpu-binary",
    about: "a thread a docID of the shortest list, which looks it up in the other lists by halves",
    paper: "Ao et al.: Efficient parallel lists intersection and index compression (PVLDB 4(8), 2011), sections 4.1 and 4.2",
    cpu: None,
    gpu: Some(GpuAnd::Candidates(GpuIntersect {
        params: &[HEADERS],
        make: |settings, codec| Ok(elements(settings, codec, wgsl!("and/gpu_binary"), ANYWHERE)),
    })),
};
