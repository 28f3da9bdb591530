//! A thread a docID, within the safe range of the line of a segment.

use super::{AndMethod, GpuAnd};
use crate::codec::{Domain, Param};
use crate::gpu::wgsl;
use crate::query::gpu::recipe::{ANYWHERE, GpuIntersect, HEADERS, Table, elements};
use crate::query::gpu::safe_range::SafeRange;

const SEGMENTS: Param = Param {
    name: "segments",
    about: "how many segments a list is divided into",
    domain: Domain::Whole { from: 2, to: 1024, step: 1 },
    default: "16",
};

/// `local-range`.
pub static LOCAL_RANGE: AndMethod = AndMethod {
    name: "local-range",
    short: "local-range",
    about: "as lr, but with a line for each segment of a list; segments are equal ranges of docIDs",
    paper: "Ao et al.: Efficient parallel lists intersection and index compression (PVLDB 4(8), 2011), section 4.3 and appendix C",
    cpu: None,
    gpu: Some(GpuAnd::Candidates(GpuIntersect {
        params: &[SEGMENTS, HEADERS],
        make: |settings, codec| {
            let segments = settings.get(SEGMENTS.name);
            let mut recipe = elements(settings, codec, wgsl!("and/local_range"), ANYWHERE);
            recipe.assembler = recipe.assembler.constants(&[("SEGMENTS", segments)]);
            recipe.table = Some(Box::new(move |list| {
                let mut docs = Vec::new();
                list.decode_all(&mut docs)?;
                Ok(table(&docs, segments))
            }));
            Ok(recipe)
        },
    })),
};

/// The lines of a list's segments: (factor, L, R, first position) each.
fn table(docs: &[u32], segments: u32) -> Table {
    let last = docs.last().copied().unwrap_or(0);
    // the least width that gives no more segments than that
    let shift = (0..31).find(|shift| last >> shift < segments).unwrap_or(31);
    let mut words = Vec::new();
    let mut start = 0;
    for segment in 0..segments {
        let inside = docs[start..].iter().take_while(|&&doc| doc >> shift == segment).count();
        let base = segment.checked_shl(shift).unwrap_or(0);
        words.extend(SafeRange::of(&docs[start..start + inside], base).numbers());
        words.push(start as u32);
        start += inside;
    }
    Table { numbers: [0, shift, 0], words }
}
