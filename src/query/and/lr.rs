//! A thread a docID, within the safe range of a line.

use super::{AndMethod, GpuAnd};
use crate::gpu::wgsl;
use crate::query::gpu::recipe::{ANYWHERE, GpuIntersect, HEADERS, Recipe, elements};
use crate::query::gpu::safe_range::SafeRange;

/// `lr`.
pub static LR: AndMethod = AndMethod {
    name: "lr",
    short: "lr",
    about: "as gpu-binary, but only where a docID can be, by the list's regression line and the greatest deviations from it",
    paper: "Ao et al.: Efficient parallel lists intersection and index compression (PVLDB 4(8), 2011), section 4.3",
    cpu: None,
    gpu: Some(GpuAnd::Candidates(GpuIntersect {
        params: &[HEADERS],
        make: |settings, codec| {
            Ok(Recipe {
                table: Some(Box::new(|list| {
                    let mut docs = Vec::new();
                    list.decode_all(&mut docs)?;
                    Ok(SafeRange::of(&docs, 0).table())
                })),
                ..elements(settings, codec, wgsl!("and/lr"), ANYWHERE)
            })
        },
    })),
};
