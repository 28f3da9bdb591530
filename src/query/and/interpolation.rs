//! A thread a docID, by interpolation.

use super::{AndMethod, GpuAnd};
use crate::gpu::wgsl;
use crate::query::gpu::recipe::{ANYWHERE, GpuIntersect, HEADERS, elements};

/// `interpolation`.
pub static INTERPOLATION: AndMethod = AndMethod {
    name: "interpolation",
    short: "interpolation",
    about: "as gpu-binary, but each probe is where the docID would be if docIDs lay on a line; by halves after 64 probes",
    paper: "Ao et al.: Efficient parallel lists intersection and index compression (PVLDB 4(8), 2011), section 4.3; Perl, Itai, Avni: Interpolation search (CACM 21(7), 1978)",
    cpu: None,
    gpu: Some(GpuAnd::Candidates(GpuIntersect {
        params: &[HEADERS],
        make: |settings, codec| Ok(elements(settings, codec, wgsl!("and/interpolation"), ANYWHERE)),
    })),
};
