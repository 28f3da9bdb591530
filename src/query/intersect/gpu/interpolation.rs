//! A thread a docID, by interpolation.

use super::{ANYWHERE, GpuIntersect, HEADERS, Intersector, On, elements, headers};

/// `interpolation`.
pub static INTERPOLATION: Intersector = Intersector {
    name: "interpolation",
    about: "as gpu-binary, but each probe is where the docID would be if docIDs lay on a line; by halves after 64 probes",
    paper: "Ao et al.: Efficient parallel lists intersection and index compression (PVLDB 4(8), 2011), section 4.3; Perl, Itai, Avni: Interpolation search (CACM 21(7), 1978)",
    on: On::Gpu(GpuIntersect {
        params: &[HEADERS],
        make: |settings, codec| {
            let rule = [
                include_str!("../../../../shaders/intersect/binary.wgsl"),
                include_str!("../../../../shaders/intersect/interpolation.wgsl"),
            ];
            Ok(elements(codec, headers(settings, codec), &rule.concat(), ANYWHERE))
        },
    }),
};
