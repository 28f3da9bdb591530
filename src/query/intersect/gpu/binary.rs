//! A thread a docID, by halves.

use super::{ANYWHERE, GpuIntersect, HALVES, HEADERS, Intersector, On, elements, headers};

/// `gpu-binary`.
pub static BINARY: Intersector = Intersector {
    name: "gpu-binary",
    about: "a thread a docID of the shortest list, which looks it up in the other lists by halves",
    paper: "Ao et al.: Efficient parallel lists intersection and index compression (PVLDB 4(8), 2011), sections 4.1 and 4.2",
    on: On::Gpu(GpuIntersect {
        params: &[HEADERS],
        make: |settings, codec| {
            let rule = [include_str!("../../../../shaders/intersect/binary.wgsl"), HALVES].concat();
            Ok(elements(codec, headers(settings, codec), &rule, ANYWHERE))
        },
    }),
};
