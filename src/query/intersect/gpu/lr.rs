//! A thread a docID, within the safe range of a line.

use super::safe_range::SafeRange;
use super::{ANYWHERE, GpuIntersect, HALVES, HEADERS, Intersector, On, Recipe, SAFE_RANGE, elements, headers};

/// `lr`.
pub static LR: Intersector = Intersector {
    name: "lr",
    about: "as gpu-binary, but only where a docID can be, by the list's regression line and the greatest deviations from it",
    paper: "Ao et al.: Efficient parallel lists intersection and index compression (PVLDB 4(8), 2011), section 4.3",
    on: On::Gpu(GpuIntersect {
        params: &[HEADERS],
        make: |settings, codec| {
            let rule = [SAFE_RANGE, include_str!("../../../../shaders/intersect/lr.wgsl"), HALVES];
            Ok(Recipe {
                table: Some(Box::new(|list| {
                    let mut docs = Vec::new();
                    list.decode_all(&mut docs)?;
                    Ok(SafeRange::of(&docs, 0).table())
                })),
                ..elements(codec, headers(settings, codec), &rule.concat(), ANYWHERE)
            })
        },
    }),
};
