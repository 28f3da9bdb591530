//! A workgroup a query.

use super::{ANYWHERE, GpuIntersect, HALVES, HEADERS, Intersector, On, Pass, Recipe, Unit, decoded, finder, headers};
use crate::query::gpu::kernels::THREADS;

/// `wu`.
pub static WU: Intersector = Intersector {
    name: "wu",
    about: "a workgroup a query, list after list: a search by halves, a scan of what was found, compaction",
    paper: "Wu et al.: A batched GPU algorithm for set intersection (ISPAN 2009), section III",
    on: On::Gpu(GpuIntersect {
        params: &[HEADERS],
        make: |settings, codec| {
            let rule = [include_str!("../../../../shaders/intersect/binary.wgsl"), HALVES].concat();
            let text = finder(&codec.shader(), &rule, ANYWHERE) + include_str!("../../../../shaders/intersect/wu.wgsl");
            Ok(Recipe {
                passes: vec![Pass {
                    name: "queries",
                    text,
                    unit: Unit::Queries,
                    numbers: [0; 2],
                    workgroup_words: 2 * THREADS + decoded(codec),
                }],
                constants: vec![("HEADERS", headers(settings, codec).into())],
                alone: true,
                ..Recipe::default()
            })
        },
    }),
};
