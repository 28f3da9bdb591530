//! A workgroup a query.

use super::{AndMethod, GpuAnd};
use crate::gpu::wgsl;
use crate::query::gpu::recipe::{ANYWHERE, GpuIntersect, HEADERS, Pass, Recipe, Unit, finder};

/// `wu`.
pub static WU: AndMethod = AndMethod {
    name: "wu",
    short: "wu",
    about: "a workgroup a query, list after list: a search by halves, a scan of what was found, compaction",
    paper: "Wu et al.: A batched GPU algorithm for set intersection (I-SPAN 2009), section III",
    cpu: None,
    gpu: Some(GpuAnd::Candidates(GpuIntersect {
        params: &[HEADERS],
        make: |settings, codec| {
            Ok(Recipe {
                passes: vec![Pass { name: "queries", text: wgsl!("and/wu"), unit: Unit::Queries, numbers: [0; 2] }],
                assembler: finder(settings, codec, wgsl!("and/gpu_binary"), ANYWHERE),
                alone: true,
                ..Recipe::default()
            })
        },
    })),
};
